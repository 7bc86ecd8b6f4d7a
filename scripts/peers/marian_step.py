#!/usr/bin/env python3
"""Times the counterpart of `roformer bench translation`: training steps (forward, backward, clipping,
AdamW) of Hugging Face's MarianMTModel, eager, on the same pairs of lengths, each step's pairs padded
to its longest (they are sorted by length). Needs torch and transformers in a separate environment.

usage: roformer bench translation --config configs/bench/translation-base.yaml --lengths > lengths.json
       marian_step.py lengths.json [--layers 6 --hidden 512 --heads 8 --ffn 2048 --vocab 32000
                                    --rounds 3 --threads 2 --dtype bfloat16 --device cuda --compile]

Alternate the two programs on an otherwise idle machine and quote the ratio of target_tokens_per_s.
"""
import argparse
import json
import resource
import time
from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("lengths", help="what `roformer bench translation --lengths` printed")
for name, default in dict(layers=6, hidden=512, heads=8, ffn=2048, vocab=32000, rounds=3,
                          threads=2).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="bfloat16: autocast")
parser.add_argument("--device", default="cpu")
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as roformer does; without it some steps take twice as long
model = MarianMTModel(MarianConfig(
    vocab_size=options.vocab, d_model=options.hidden, encoder_layers=options.layers,
    decoder_layers=options.layers, encoder_attention_heads=options.heads,
    decoder_attention_heads=options.heads, encoder_ffn_dim=options.ffn, decoder_ffn_dim=options.ffn,
    max_position_embeddings=256, dropout=0.1, attention_dropout=0.0, activation_dropout=0.0,
    activation_function="relu", scale_embedding=True, pad_token_id=0, eos_token_id=1,
    decoder_start_token_id=0, forced_eos_token_id=1)).to(options.device).train()
forward = torch.compile(model) if options.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)


def padded(lengths, fill):
    rows = torch.full((len(lengths), max(lengths)), fill)
    for row, length in enumerate(lengths):
        rows[row, :length] = torch.randint(2, options.vocab, (length,))
    return rows


def batch_of(pairs):
    sources, targets = zip(*pairs)
    ids, labels = padded(sources, 0), padded(targets, -100)
    decoder = labels.clamp(min=0).roll(1, 1)
    decoder[:, 0] = 0
    return [tensor.to(options.device) for tensor in (ids, (ids > 0).long(), decoder, labels)]


def step(ids, mask, decoder, labels):
    with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.dtype == "bfloat16"):
        logits = forward(input_ids=ids, attention_mask=mask, decoder_input_ids=decoder,
                         use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(),
                                                 ignore_index=-100, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


buckets = json.loads(Path(options.lengths).read_text())
batches = [batch_of(pairs) for pairs in buckets]
rounds = []
for number in range(1 + options.rounds):
    start = time.perf_counter()
    for batch in batches:
        step(*batch).item()
    if number > 0:
        rounds.append((time.perf_counter() - start) / len(batches))
rounds.sort()
median = rounds[len(rounds) // 2]
tokens = sum(target for pairs in buckets for _, target in pairs) / len(buckets)
places = sum(batch[3].numel() for batch in batches) / len(buckets)
print(json.dumps(dict(
    dtype=options.dtype, compiled=options.compile, parameters=sum(p.numel() for p in model.parameters()),
    target_tokens=round(tokens), target_places=round(places), step_ms=round(median * 1e3, 1),
    best_ms=round(rounds[0] * 1e3, 1), target_tokens_per_s=round(tokens / median, 1),
    max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
