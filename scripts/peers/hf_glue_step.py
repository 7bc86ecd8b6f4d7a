#!/usr/bin/env python3
"""Times the counterpart of `roformer bench glue`: one fine-tuning step (forward, backward, clipping,
AdamW) of Hugging Face's RoFormerForSequenceClassification with dynamic padding on the same lengths,
or with --predict its inference of 16 batches, sorted by length as `roformer bench predict` sorts them
(--unsorted: as they come). Needs torch and transformers in a separate environment.

usage: hf_glue_step.py [--layers 4 --hidden 256 --heads 4 --ffn 1024 --vocab 16000 --batch 32
                        --steps 10 --threads 2 --dropout 0.1 --attention-dropout 0.0 --predict --unsorted]

Alternate the two programs on an otherwise idle machine and quote the ratio of examples_per_s.
"""
import argparse
import json
import resource
import time

import torch
from transformers import RoFormerConfig, RoFormerForSequenceClassification

# As sst2_lengths in src/bench/random_training.cpp.
LENGTHS = [3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9, 10, 11, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22,
           24, 26, 29, 34, 42]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
for name, default in dict(layers=4, hidden=256, heads=4, ffn=1024, vocab=16000, batch=32, steps=10,
                          threads=2).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--attention-dropout", type=float, default=0.0)
parser.add_argument("--predict", action="store_true", help="inference instead of a training step")
parser.add_argument("--unsorted", action="store_true", help="of --predict: every batch has all lengths")
options = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as roformer does; without it some steps take twice as long
model = RoFormerForSequenceClassification(RoFormerConfig(
    vocab_size=options.vocab, embedding_size=options.hidden, hidden_size=options.hidden,
    num_hidden_layers=options.layers, num_attention_heads=options.heads,
    intermediate_size=options.ffn, max_position_embeddings=512, num_labels=2,
    hidden_dropout_prob=options.dropout, attention_probs_dropout_prob=options.attention_dropout))
model.train(not options.predict)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01, fused=True)
PREDICTED_BATCHES = 16  # as kPredictedBatches there
lengths = [LENGTHS[i % len(LENGTHS)] for i in range(options.batch * (PREDICTED_BATCHES if options.predict else 1))]
if not options.unsorted:
    lengths.sort()
batches = [lengths[i:i + options.batch] for i in range(0, len(lengths), options.batch)]
masks = [(torch.arange(max(batch))[None] < torch.tensor(batch)[:, None]).long() for batch in batches]
labels = torch.ones(options.batch, dtype=torch.long)


def random_ids(mask):
    return torch.randint(5, options.vocab, mask.shape) * mask


def step():
    if options.predict:
        with torch.inference_mode():
            return sum(model(input_ids=random_ids(mask), attention_mask=mask).logits.sum() for mask in masks)
    mask = masks[0]
    ids = random_ids(mask)
    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


for _ in range(3):
    step()
times = []
for _ in range(options.steps):
    start = time.perf_counter()
    step()
    times.append(time.perf_counter() - start)
times.sort()
median = times[len(times) // 2]
print(json.dumps(dict(
    predict=options.predict, parameters=sum(p.numel() for p in model.parameters()),
    tokens=sum(lengths), places=sum(mask.numel() for mask in masks), step_ms=round(median * 1e3, 2),
    best_ms=round(times[0] * 1e3, 2), examples_per_s=round(len(lengths) / median, 1),
    max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
