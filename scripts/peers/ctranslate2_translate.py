#!/usr/bin/env python3
"""Times the counterpart of `roformer bench decoding`: CTranslate2 translating the same lines with the
same weights, a folder of `roformer export` or of Opus-MT. Needs ctranslate2, transformers, sentencepiece
and torch in a separate environment.

usage: ctranslate2_translate.py FOLDER LINES.txt [--lines 500 --beam 4 --threads 2 --batch-tokens 2048
                                                  --compute float32|int8|bfloat16 --output TEXT]
       roformer bench decoding RUN --input LINES.txt --lines 500 --decoding.beam 4
           --decoding.length_penalty average --decoding.alpha 1 --decoding.stopping full
           --decoding.longest_factor 0 --decoding.longest_extra 256 --threads 2

FOLDER is converted once, into FOLDER.ct2. CTranslate2's converter takes every Marian folder for one
whose last token is <pad> and whose decoder begins with zeros, as Opus-MT's do. A folder that names
another first token keeps it here. Its threads are workers that each take a batch, which is much faster
here than sharing each product among them (--workers 1). Alternate the two programs on an otherwise idle
machine and quote the ratio of sentences_per_s.
"""
import argparse
import json
from pathlib import Path

import decoding_times

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("folder")
parser.add_argument("text", help="a sentence a line")
parser.add_argument("--workers", type=int, help="batches at once; each has THREADS / WORKERS threads")
parser.add_argument("--longest", type=int, default=256)
parser.add_argument("--compute", default="float32")
options = decoding_times.options_of(parser)
workers = options.workers or options.threads

import ctranslate2
from ctranslate2.converters import transformers as converters
from transformers import MarianTokenizer

folder = Path(options.folder)
config = json.loads((folder / "config.json").read_text())
tokenizer = MarianTokenizer.from_pretrained(folder)
begins_with_zeros = (config["decoder_start_token_id"] == config["pad_token_id"] == config["vocab_size"] - 1)


class KeepsItsBegin(converters.BartLoader):
    """As the Marian loader, but the decoder begins with the row of its begin token."""

    @property
    def architecture_name(self):
        return "MarianMTModel"

    def get_model_spec(self, model):
        model.config.normalize_before = False
        model.config.normalize_embedding = False
        return super().get_model_spec(model)

    def set_config(self, config, model, tokenizer):
        config.eos_token = tokenizer.eos_token
        config.unk_token = tokenizer.unk_token
        config.decoder_start_token = tokenizer.convert_ids_to_tokens(model.config.decoder_start_token_id)


converted = folder.with_name(folder.name + ".ct2")
if not converted.is_dir():
    if not begins_with_zeros:
        converters._MODEL_LOADERS["MarianConfig"] = KeepsItsBegin()
    converters.TransformersConverter(str(folder)).convert(str(converted))

lines = decoding_times.lines_of(options)
never = [[piece] for piece in tokenizer.convert_ids_to_tokens(
    [config["decoder_start_token_id"], config["pad_token_id"]])] if not begins_with_zeros else None
translator = ctranslate2.Translator(str(converted), device="cpu", compute_type=options.compute,
                                    intra_threads=options.threads // workers, inter_threads=workers)


def translate():
    pieces = [tokenizer.convert_ids_to_tokens(tokenizer(line)["input_ids"]) for line in lines]
    found = translator.translate_batch(
        pieces, beam_size=options.beam, length_penalty=1, max_batch_size=options.batch_tokens,
        batch_type="tokens", max_decoding_length=options.longest, suppress_sequences=never,
        disable_unk=True)
    return [result.hypotheses[0] for result in found]


decoding_times.measure(translate, tokenizer.convert_tokens_to_string, options,
                       version=ctranslate2.__version__, compute=translator.compute_type, workers=workers)
