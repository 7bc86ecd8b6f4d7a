#!/usr/bin/env python3
"""Times the counterpart of `roformer bench mlm`: one pretraining step (forward, backward, clipping,
AdamW) in PyTorch on random tokens.

  --peer roformer   Hugging Face's RoFormerForMaskedLM (its head is computed at every position)
  --peer bert       Hugging Face's BertForMaskedLM, with scaled_dot_product_attention
  --peer plain      the same arithmetic as `roformer bench mlm` in plain PyTorch: fused attention,
                    rotary positions, the head and what follows the last attention at the masked
                    positions only
  --peer x-transformers   its Encoder (pre-norm, fused attention, ff with GELU) with --position rope,
                    alibi, t5, learned or none; the head at the masked positions only

Needs torch, and transformers for the first two or x-transformers, in a separate environment.

usage: mlm_step.py --peer plain [--position rope --layers 4 --hidden 256 --heads 4 --ffn 1024 --vocab 16000 --batch 32
                                 --length 128 --steps 8 --threads 2 --dtype bfloat16 --compile --device cuda]

Alternate the two programs on an otherwise idle machine and quote the ratio of step_ms.
"""
import argparse
import json
import resource
import time

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--peer", choices=("roformer", "bert", "plain", "x-transformers"), default="plain")
parser.add_argument("--position", choices=("rope", "alibi", "t5", "learned", "none"), default="rope",
                    help="of x-transformers; the others have their own")
for name, default in dict(layers=4, hidden=256, heads=4, ffn=1024, vocab=16000, batch=32, length=128,
                          steps=8, threads=2).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="bfloat16: autocast")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
options = parser.parse_args()
DROPOUT, MASKED, IGNORED = 0.1, 0.15, -100


def rotation(length, width):
    """Cosines and sines [length, width] of Su 2021, halves side by side."""
    angles = torch.outer(torch.arange(length), 10000 ** (-torch.arange(0, width, 2) / width))
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x, cosines, sines):
    left, right = x.chunk(2, dim=-1)
    return x * cosines + torch.cat([-right, left], dim=-1) * sines


class Layer(nn.Module):
    """Post-norm encoder layer with rotary self-attention."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(options.hidden, 3 * options.hidden)
        self.out = nn.Linear(options.hidden, options.hidden)
        self.norm, self.last_norm = nn.LayerNorm(options.hidden), nn.LayerNorm(options.hidden)
        self.up, self.down = nn.Linear(options.hidden, options.ffn), nn.Linear(options.ffn, options.hidden)

    def forward(self, x, cosines, sines, rows=None):
        """rows: of the flat batch, the only ones that are wanted; nothing else is computed after the attention."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, options.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cosines, sines).to(v.dtype), rotate(k, cosines, sines).to(v.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        if rows is not None:
            mixed, x = mixed.view(-1, width)[rows], x.view(-1, width)[rows]
        x = self.norm(x + F.dropout(self.out(mixed), DROPOUT))
        return self.last_norm(x + F.dropout(self.down(F.gelu(self.up(x))), DROPOUT))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(options.vocab, options.hidden)
        self.norm = nn.LayerNorm(options.hidden)
        self.layers = nn.ModuleList(Layer() for _ in range(options.layers))
        self.transform, self.head_norm = nn.Linear(options.hidden, options.hidden), nn.LayerNorm(options.hidden)
        self.bias = nn.Parameter(torch.zeros(options.vocab))
        for buffer, value in zip(("cosines", "sines"), rotation(options.length, options.hidden // options.heads)):
            self.register_buffer(buffer, value)

    def forward(self, ids, places, targets):
        x = F.dropout(self.norm(self.tokens(ids)), DROPOUT)
        for layer in self.layers[:-1]:
            x = layer(x, self.cosines, self.sines)
        x = self.layers[-1](x, self.cosines, self.sines, rows=places)
        x = self.head_norm(F.gelu(self.transform(x)))
        return F.cross_entropy(F.linear(x, self.tokens.weight, self.bias).float(), targets)


class XTransformers(nn.Module):
    """As its documentation has it: the positional scheme is an argument of the stack."""

    def __init__(self):
        super().__init__()
        from x_transformers import Encoder, TransformerWrapper
        scheme = {
            "rope": dict(rotary_pos_emb=True, rotary_emb_dim=options.hidden // options.heads),
            "alibi": dict(alibi_pos_bias=True, alibi_num_heads=options.heads),
            "t5": dict(rel_pos_bias=True, rel_pos_num_buckets=32, rel_pos_max_distance=128),
        }.get(options.position, {})
        self.model = TransformerWrapper(
            num_tokens=options.vocab, max_seq_len=options.length, emb_dropout=DROPOUT, tie_embedding=True,
            use_abs_pos_emb=options.position == "learned",
            attn_layers=Encoder(dim=options.hidden, depth=options.layers, heads=options.heads,
                                attn_dim_head=options.hidden // options.heads,
                                ff_mult=options.ffn / options.hidden, ff_dropout=DROPOUT,
                                attn_flash=options.position != "t5",  # which it refuses
                                **scheme))

    def forward(self, ids, places, targets):
        x = self.model(ids, return_embeddings=True).flatten(0, 1)[places]
        return F.cross_entropy(self.model.to_logits(x).float(), targets)


def make_model():
    if options.peer == "plain":
        return Plain()
    if options.peer == "x-transformers":
        return XTransformers()
    import transformers
    sizes = dict(vocab_size=options.vocab, hidden_size=options.hidden, num_hidden_layers=options.layers,
                 num_attention_heads=options.heads, intermediate_size=options.ffn,
                 max_position_embeddings=512, hidden_dropout_prob=DROPOUT, attention_probs_dropout_prob=0.0)
    if options.peer == "bert":
        return transformers.BertForMaskedLM(transformers.BertConfig(**sizes))
    return transformers.RoFormerForMaskedLM(
        transformers.RoFormerConfig(embedding_size=options.hidden, **sizes))


torch.manual_seed(0)
torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)  # as roformer does; without it some steps take twice as long
model = make_model().train().to(options.device)
forward = torch.compile(model) if options.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
masked = round(options.batch * options.length * MASKED)  # the same number in every step


def step():
    ids = torch.randint(5, options.vocab, (options.batch, options.length), device=options.device)
    places = torch.randperm(ids.numel(), device=options.device)[:masked]
    targets = ids.view(-1)[places]
    with torch.autocast(options.device, torch.bfloat16, enabled=options.dtype == "bfloat16"):
        if options.peer in ("plain", "x-transformers"):
            loss = forward(ids, places, targets)
        else:
            labels = torch.full_like(ids, IGNORED)
            labels.view(-1)[places] = targets
            loss = forward(input_ids=ids, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def wait():
    if options.device == "cuda":
        torch.cuda.synchronize()


for _ in range(3):
    step()
wait()
times = []
for _ in range(options.steps):
    start = time.perf_counter()
    step()
    wait()
    times.append(time.perf_counter() - start)
times.sort()
median = times[len(times) // 2]
scheme = {"position": options.position} if options.peer == "x-transformers" else {}
print(json.dumps(dict(
    peer=options.peer, **scheme, parameters=sum(p.numel() for p in model.parameters()),
    tokens=options.batch * options.length, targets=masked, step_ms=round(median * 1e3, 2),
    best_ms=round(times[0] * 1e3, 2),
    max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
