#!/usr/bin/env python3
"""Tokenises JSON Lines as Hugging Face's examples do, beside `roformer data prepare`: datasets.load_dataset, then
map with a tokenizer.json in batches of 1,000 texts in --processes processes; the ids are in Arrow files afterwards.
Needs datasets and tokenizers in a separate environment.

usage: datasets_map.py TEXT.jsonl TOKENIZER.json [--processes 2]

Prints a line of JSON: documents, tokens, wall_s and cpu_s (with the worker processes), most memory of one process (MiB).
"""
import argparse
import json
import os
import resource
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism

import datasets
from tokenizers import Tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("tokenizer")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(options.tokenizer)

    def encode(batch):
        return {"ids": [one.ids for one in tokenizer.encode_batch(batch["text"])]}

    begun = time.time()
    with tempfile.TemporaryDirectory() as cache:
        data = datasets.load_dataset("json", data_files=options.text, split="train", cache_dir=cache)
        data = data.map(encode, batched=True, num_proc=options.processes, remove_columns=data.column_names)
        wall = time.time() - begun
        # Before the tokens are counted, which a training would not do.
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        tokens = sum(len(ids) for ids in data["ids"])
    print(json.dumps({"documents": len(data), "tokens": tokens, "wall_s": round(wall, 1),
                      "cpu_s": round(sum(u.ru_utime + u.ru_stime for u in usages), 1),
                      "max_rss_mib": max(u.ru_maxrss for u in usages) // 1024}))


main()
