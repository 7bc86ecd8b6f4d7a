"""Writes sampling_cases.json: the distributions that Hugging Face's logits processors (temperature,
then top-k, then top-p) make of random logits. Needs torch and transformers."""
import json
import pathlib

import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

generator = torch.Generator().manual_seed(1)
cases = []
for temperature, top_k, top_p in [
    (1.0, 0, 1.0), (0.5, 0, 1.0), (2.0, 0, 1.0), (1.0, 3, 1.0), (1.0, 0, 0.9), (0.7, 5, 0.8),
    (1.3, 10, 0.5), (1.0, 1, 1.0), (1.0, 0, 0.01), (1.0, 50, 0.95),
]:
    logits = torch.randn(1, 12, generator=generator) * 3
    scores = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k > 0:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    cases.append({
        "temperature": temperature, "top_k": top_k, "top_p": top_p,
        "logits": logits[0].tolist(),
        "probabilities": torch.softmax(scores.double(), -1)[0].tolist(),
    })
path = pathlib.Path(__file__).with_name("sampling_cases.json")
path.write_text(json.dumps(cases, indent=1) + "\n")
