#!/usr/bin/env python3
"""Times the counterpart of `roformer bench decoding`: Marian itself (its CPU build, in pymarian) decoding
the same lines with the same weights, a folder of `roformer export`. Needs pymarian, numpy, safetensors
and sentencepiece in a separate environment.

usage: pymarian_translate.py FOLDER --beginless COPY
       pymarian_translate.py COPY LINES.txt [--lines 500 --beam 4 --threads 2 --batch-tokens 2048
                                             --output TEXT]
       roformer bench decoding RUN --input LINES.txt ...    # as beside ctranslate2_translate.py

Marian's decoder begins with zeros. The first form writes a copy of FOLDER whose begin token has a row of
zeros, for both programs: `roformer import COPY --run RUN` is what to measure beside the second form,
which turns the copy into Marian's model once (COPY.npz). One thing stays unequal: the exponents of
Marian's sinusoids end at 1, those of MarianMT in transformers one step before it, so that
translations differ (47 of 100 by a translator of width 256 after 1,000 steps). Marian's threads are
workers that each take a batch. Alternate the two programs on an otherwise idle machine and quote the
ratio of target_tokens_per_s.
"""
import argparse
import json
import os
import shutil
import sys
from pathlib import Path

import decoding_times

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("folder")
parser.add_argument("text", nargs="?", help="a sentence a line")
parser.add_argument("--beginless", help="write a copy of the folder to here, and leave")
options = decoding_times.options_of(parser)
if not options.beginless and not options.text:
    parser.error("LINES.txt is missing")

import numpy
from safetensors.numpy import load_file, save_file

folder = Path(options.folder)
config = json.loads((folder / "config.json").read_text())
begin, end, width = config["decoder_start_token_id"], config["eos_token_id"], config["d_model"]

if options.beginless:
    copy = Path(options.beginless)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("manifest.json"))
    weights = load_file(folder / "model.safetensors")
    weights["model.shared.weight"] = weights["model.shared.weight"].copy()
    weights["model.shared.weight"][begin] = 0
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    sys.exit()

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # a worker is a thread
import sentencepiece
from pymarian import Translator

vocabulary = json.loads((folder / "vocab.json").read_text())
unknown = json.loads((folder / "tokenizer_config.json").read_text())["unk_token"]
pieces = sorted(vocabulary, key=vocabulary.get)
pieces[end], pieces[vocabulary[unknown]] = "</s>", "<unk>"  # as Marian calls them
model = folder.with_name(folder.name + ".npz")
words = folder.with_name(folder.name + ".vocabulary.yml")


def convert():
    """The names of Marian's transformer; its matrices are [in, out], its vectors [1, out]."""
    theirs = load_file(folder / "model.safetensors")
    theirs = {name.removeprefix("model."): tensor for name, tensor in theirs.items()}
    if theirs["shared.weight"][begin].any():
        sys.exit(f"{folder}: the begin token has a row; see --beginless")
    ours = {"Wemb": theirs["shared.weight"], "decoder_ff_logit_out_b": theirs["final_logits_bias"].copy()}
    for never in (begin, config["pad_token_id"], vocabulary[unknown]):
        ours["decoder_ff_logit_out_b"][0, never] = -1e9

    def matrix(to, name, weight="W", bias="b", suffix=""):
        ours[f"{to}_{weight}{suffix}"] = theirs[name + ".weight"].T
        ours[f"{to}_{bias}{suffix}"] = theirs[name + ".bias"][None]

    def norm(to, name):
        ours[to + "_ln_scale"], ours[to + "_ln_bias"] = theirs[name + ".weight"][None], theirs[name + ".bias"][None]

    for stack in ("encoder", "decoder"):
        for layer in range(config[stack + "_layers"]):
            name, to = f"{stack}.layers.{layer}.", f"{stack}_l{layer + 1}"
            parts = {"self": "self_attn"} | ({"context": "encoder_attn"} if stack == "decoder" else {})
            for part, attention in parts.items():
                for suffix in "qkv":
                    matrix(f"{to}_{part}", f"{name}{attention}.{suffix}_proj", suffix=suffix)
                matrix(f"{to}_{part}", f"{name}{attention}.out_proj", suffix="o")
                norm(f"{to}_{part}_Wo", f"{name}{attention}_layer_norm")
            for number in "12":
                matrix(f"{to}_ffn", f"{name}fc{number}", suffix=number)
            norm(f"{to}_ffn_ffn", name + "final_layer_norm")
    settings = {
        "type": "transformer", "version": "v1.12.42", "dim-vocabs": [len(pieces)] * 2, "dim-emb": width,
        "enc-depth": config["encoder_layers"], "dec-depth": config["decoder_layers"],
        "transformer-heads": config["encoder_attention_heads"],
        "transformer-dim-ffn": config["encoder_ffn_dim"],
        "transformer-ffn-activation": config["activation_function"],
        "transformer-ffn-depth": 2, "transformer-decoder-autoreg": "self-attention",
        "transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "tied-embeddings-all": True, "input-types": []}
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    ours["special:model.yml"] = numpy.frombuffer(text.encode() + b"\0", dtype=numpy.int8)
    numpy.savez(model, **{name: numpy.ascontiguousarray(tensor) for name, tensor in ours.items()})
    words.write_text("".join(f"{json.dumps(piece, ensure_ascii=False)}: {row}\n" for row, piece in enumerate(pieces)),
                     encoding="utf-8")


if not model.is_file():
    convert()

# Marian would split text by a SentencePiece model in its own order of ids; it gets pieces instead.
splitter = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
lines = decoding_times.lines_of(options)
translator = Translator(
    f"--models {model} --vocabs {words} {words} --beam-size {options.beam} --normalize 1 "
    f"--cpu-threads {options.threads} --mini-batch 1000 --mini-batch-words {options.batch_tokens} "
    f"--maxi-batch 1000 --maxi-batch-sort src --max-length 1000 --max-length-factor 3 --workspace 512 "
    "--quiet --quiet-translation"
    + (" --skip-cost" if options.beam == 1 else ""))


def translate():
    found = translator.translate([" ".join(splitter.encode(line, out_type=str)) for line in lines])
    return [pieces.split() for pieces in found]


decoding_times.measure(translate, lambda pieces: "".join(pieces).replace("\u2581", " ").strip(), options)
