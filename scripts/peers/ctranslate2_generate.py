#!/usr/bin/env python3
"""Times the counterpart of `roformer bench decoding` for causal models: CTranslate2 continuing the same
prompts greedily with the same weights, a folder of transformers' LlamaForCausalLM whose prompts are ids.
Needs ctranslate2, transformers and torch in a separate environment.

usage: ctranslate2_generate.py FOLDER PROMPTS.txt --make        # random weights and prompts, 134 million parameters
       ctranslate2_generate.py FOLDER PROMPTS.txt [--lines 8 --tokens 64 --threads 2 --workers 1
                                                   --compute float32|int8 --output IDS.txt]
       roformer import FOLDER --run NAME
       roformer bench decoding runs/NAME --input PROMPTS.txt --lines 8 --tokens 64 --threads 2 [--int8]

FOLDER is converted once, into FOLDER.ct2. The time of the prompt is that of one token more; that of the
continuation is what all tokens take beyond it. Threads share each product, or --workers N batches, which
divide the prompts among them.
"""
import argparse
import json
import random
import resource
import statistics
import time
from pathlib import Path

import decoding_times

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("folder")
parser.add_argument("text", help="a prompt of ids a line, all of one length")
for name, default in dict(lines=0, tokens=64, threads=2, workers=1, repeats=3).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--compute", default="float32")
parser.add_argument("--output", help="file for the continuations")
parser.add_argument("--make", action="store_true", help="write FOLDER and PROMPTS.txt and end")
options = parser.parse_args()
folder = Path(options.folder)


def make():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
        num_attention_heads=12, max_position_embeddings=2048, rms_norm_eps=1e-5)).save_pretrained(folder)
    numbers = random.Random(1)
    lines = [" ".join(str(numbers.randrange(10, 32000)) for _ in range(128)) for _ in range(8)]
    Path(options.text).write_text("\n".join(lines) + "\n", encoding="utf-8")


def convert(to):
    from ctranslate2.converters import transformers as converters

    class Ids(converters.LlamaLoader):
        """Names each token by its id, as there is no tokenizer."""

        def get_vocabulary(self, model, tokenizer):
            return [str(number) for number in range(model.config.vocab_size)]

        def set_config(self, config, model, tokenizer):
            config.unk_token, config.bos_token, config.eos_token = "0", "1", "2"
            config.layer_norm_epsilon = model.config.rms_norm_eps

    class WithoutTokenizer(converters.TransformersConverter):
        def load_tokenizer(self, *names, **arguments):
            return None

    converters._MODEL_LOADERS["LlamaConfig"] = Ids()
    WithoutTokenizer(str(folder)).convert(str(to))


if options.make:
    make()
    raise SystemExit
converted = folder.with_name(folder.name + ".ct2")
if not converted.is_dir():
    convert(converted)

import ctranslate2

prompts = [line.split() for line in decoding_times.lines_of(options)]
generator = ctranslate2.Generator(str(converted), device="cpu", compute_type=options.compute,
                                  intra_threads=options.threads // options.workers,
                                  inter_threads=options.workers)


def seconds_of(tokens):
    """Seconds for that many tokens after each prompt, and the tokens; the end's is never chosen."""
    start = time.perf_counter()
    found = generator.generate_batch(
        prompts, max_length=tokens, min_length=tokens, sampling_topk=1, include_prompt_in_result=False,
        max_batch_size=-(-len(prompts) // options.workers))
    return time.perf_counter() - start, [result.sequences_ids[0] for result in found]


seconds_of(2)
first, rest = [], []
for _ in range(options.repeats):
    first.append(seconds_of(1)[0])
    seconds, ids = seconds_of(options.tokens)
    rest.append(seconds - first[-1])
if options.output:
    Path(options.output).write_text("".join(" ".join(map(str, row)) + "\n" for row in ids), encoding="utf-8")
prompt, continuation = statistics.median(first), statistics.median(rest)
print(json.dumps(dict(
    version=ctranslate2.__version__, compute=generator.compute_type, workers=options.workers,
    prompts=len(prompts), prompt_tokens=len(prompts[0]), tokens=options.tokens,
    prompt_seconds=round(prompt, 4), continuation_seconds=round(continuation, 4),
    prompt_tokens_per_s=round(len(prompts) * len(prompts[0]) / prompt, 2),
    continuation_tokens_per_s=round(len(prompts) * (options.tokens - 1) / continuation, 2),
    max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
