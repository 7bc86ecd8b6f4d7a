#!/usr/bin/env python3
"""Times the counterpart of `roformer bench attention`: one attention layer with its projections and
rotated q and k, forward and backward, with PyTorch's scaled_dot_product_attention and with linear
attention as performer-pytorch computes it (its formulas written out here: elu+1 or FAVOR+ features,
causal sums in chunks of 128 whose states are written out). Needs torch in a separate environment.

usage: attention_lengths.py [--lengths 512,1024,2048,4096 --width 768 --heads 12 --repeats 5
                             --threads 2 --longest 60 --device cpu --bidirectional]

Alternate the two programs on an otherwise idle machine and quote the ratio of training_ms.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as functional
from favor import favor, feature_count, orthogonal_matrix, rotated

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--lengths", default="512,1024,2048,4096")
for name, default in dict(width=768, heads=12, repeats=5, threads=2).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--longest", type=float, default=60, help="seconds of a pass")
parser.add_argument("--device", default="cpu")
parser.add_argument("--bidirectional", action="store_true", help="every token sees all")
options = parser.parse_args()
torch.manual_seed(0)
torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as roformer does; without it some steps take twice as long

HEAD = options.width // options.heads
MATRIX = orthogonal_matrix(feature_count(HEAD), HEAD).to(options.device)
CHUNK = 128


def linear(query, key, value):
    """Causal: the states of a chunk are the running sums of k v', written out one a key."""
    if options.bidirectional:
        denominator = (query * key.sum(-2, True)).sum(-1, True)
        return query @ (key.transpose(-2, -1) @ value) / denominator
    parts, state, sums = [], 0, 0
    for q, k, v in zip(*(x.split(CHUNK, -2) for x in (query, key, value))):
        states = state + (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(-3)
        keys = sums + k.cumsum(-2)
        parts.append((q.unsqueeze(-2) @ states).squeeze(-2) / ((q * keys).sum(-1, True) + 1e-6))
        state, sums = states[:, :, -1:], keys[:, :, -1:]
    return torch.cat(parts, -2)


def softmax(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=not options.bidirectional)


KERNELS = {
    "softmax": lambda q, k, v: softmax(rotated(q), rotated(k), v),
    "elu": lambda q, k, v: linear(functional.elu(rotated(q)) + 1, functional.elu(rotated(k)) + 1, v),
    "favor": lambda q, k, v: linear(favor(rotated(q), MATRIX, True), favor(rotated(k), MATRIX, False), v),
}
projection = torch.nn.Linear(options.width, 3 * options.width).to(options.device)
output = torch.nn.Linear(options.width, options.width).to(options.device)


def layer(x, kernel):
    parts = projection(x).view(1, -1, 3, options.heads, HEAD).permute(2, 0, 3, 1, 4)
    return output(KERNELS[kernel](*parts).transpose(1, 2).reshape(1, -1, options.width))


def timed(x, kernel, slopes=None):
    start = time.perf_counter()
    if slopes is None:
        with torch.no_grad():
            layer(x, kernel)
    else:
        layer(x, kernel).backward(slopes)
    if options.device != "cpu":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


def median(times):
    return round(sorted(times)[len(times) // 2], 2)


last = {}  # kernel: (length, ms)
for length in sorted(int(text) for text in options.lengths.split(",")):
    for kernel in KERNELS:
        if kernel in last:
            times = length / last[kernel][0]
            growth = times * times if kernel == "softmax" else times
            if last[kernel][1] * growth > options.longest * 1e3:
                continue
        x = torch.randn(1, length, options.width, device=options.device, requires_grad=True)
        slopes = torch.randn_like(x)
        pairs = [(timed(x, kernel), timed(x, kernel, slopes)) for _ in range(options.repeats + 1)][1:]
        last[kernel] = length, median([both for _, both in pairs])
        print(json.dumps(dict(length=length, kernel=kernel, causal=not options.bidirectional,
                              forward_ms=median([once for once, _ in pairs]),
                              training_ms=last[kernel][1])), flush=True)
