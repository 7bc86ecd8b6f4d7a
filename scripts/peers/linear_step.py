#!/usr/bin/env python3
"""Times the counterpart of `roformer bench mlm` with a file of causal_lm and linear attention: one training
step (forward, backward, clipping, AdamW) of a causal byte model with FAVOR+ and RoPE before the features.

  --peer performer-pytorch   its PerformerLM, which sums states one a token (pip install performer-pytorch)
  --peer plain               the same model in plain PyTorch: chunks of tokens by matrix products, and the
                             state before each chunk

usage: linear_step.py [--peer plain --layers 4 --hidden 128 --heads 4 --batch 8 --length 512 --steps 8
                       --threads 2 --chunk 128 --compile]
       roformer bench mlm --config configs/causal_lm/enwik8-small.yaml --model.vocabulary 256
           --attention.linear_rotation before --training.precision fp32 --json --steps 8

Alternate the two programs on an otherwise idle machine and quote the ratio of step_ms.
"""
import argparse
import json
import resource
import time

import torch
from favor import favor, feature_count, orthogonal_matrix, rotated
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--peer", choices=("performer-pytorch", "plain"), default="plain")
for name, default in dict(layers=4, hidden=128, heads=4, batch=8, length=512, steps=8, threads=2, chunk=128).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()
VOCABULARY, HEAD = 256, options.hidden // options.heads


def causal(q, k, v):
    """Each token's sums over the tokens before it and itself: those of its chunk, and the state before it."""
    q, k, v = (x.unflatten(-2, (-1, options.chunk)) for x in (q, k, v))
    v = torch.cat([v, torch.ones_like(v[..., :1])], -1)  # the last column gives the denominator
    states = k.transpose(-2, -1) @ v
    before = states.cumsum(-3) - states
    sums = (q @ k.transpose(-2, -1)).tril() @ v + q @ before
    return (sums[..., :-1] / (sums[..., -1:] + 1e-6)).flatten(-3, -2)


class Layer(nn.Module):
    """Pre-norm, FAVOR+ of rotated queries and keys."""

    def __init__(self):
        super().__init__()
        width = options.hidden
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("matrix", orthogonal_matrix(feature_count(HEAD), HEAD))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, options.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = causal(favor(rotated(q), self.matrix, True), favor(rotated(k), self.matrix, False), v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.last_norm(x)), approximate="tanh"))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, options.hidden)
        self.layers = nn.Sequential(*(Layer() for _ in range(options.layers)))
        self.norm = nn.LayerNorm(options.hidden)

    def forward(self, ids):
        return F.linear(self.norm(self.layers(self.tokens(ids))), self.tokens.weight)


def make_model():
    if options.peer == "plain":
        return Plain()
    from performer_pytorch import PerformerLM
    return PerformerLM(num_tokens=VOCABULARY, max_seq_len=options.length, dim=options.hidden, depth=options.layers,
                       heads=options.heads, dim_head=HEAD, causal=True, nb_features=feature_count(HEAD),
                       tie_embed=True, rotary_position_emb=True)


torch.manual_seed(0)
torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as roformer does
model = make_model().train()
forward = torch.compile(model) if options.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)


def step():
    ids = torch.randint(0, VOCABULARY, (options.batch, options.length + 1))
    logits = forward(ids[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for _ in range(3):
    step()
times = []
for _ in range(options.steps):
    begun = time.perf_counter()
    step()
    times.append((time.perf_counter() - begun) * 1e3)
print(json.dumps({"peer": options.peer, "compile": options.compile, "step_ms": sorted(times)[len(times) // 2],
                  "max_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
