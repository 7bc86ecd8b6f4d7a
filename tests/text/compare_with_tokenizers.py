#!/usr/bin/env python3
"""Holds the program's WordPiece, or its byte-level BPE, against the `tokenizers` package (PyPI) on
random text: every script of Unicode, accents alone and composed, controls, odd spaces, long words,
words of the vocabulary with a letter changed. Prints the first lines that differ; exit code 1 where
one does. It needs the package, and so is no part of the normal tests.

  compare_with_tokenizers.py ROFORMER VOCABULARY [--lines N] [--seed S] [--cased]
      [--accents keep|strip] [--chinese-in-words] [--added TOKEN ...] [--special]

VOCABULARY is a vocab.txt of WordPiece, or a tokenizer.json. --accents, --chinese-in-words and --added
are for a vocab.txt; --special compares `tokenizer encode --special` with the package's own way."""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

# Where text of the vocabulary's languages lies, and what is hard for a tokenizer.
RANGES = [
    (0x20, 0x7e), (0xa0, 0x24f), (0x250, 0x36f), (0x370, 0x52f), (0x530, 0x6ff), (0x900, 0xdff),
    (0xe00, 0xfff), (0x1000, 0x1fff), (0x2000, 0x206f), (0x2070, 0x2bff), (0x3000, 0x30ff),
    (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xac00, 0xd7af), (0xf900, 0xfaff), (0xfe00, 0xffef),
    (0x10000, 0x1ffff), (0x20000, 0x2ffff), (0xe0000, 0xe01ff)]
ODD = ["\t", "\u00a0", "\u200b", "\u200d", "\ufeff", "\u3000", "\u2028", "\x85", "\x07",
       "\x7f", "\ufffd", "\u00ad", "\u0130", "\u0131", "\u1e9e", "\u03a3", "\ufb01", "e\u0301",
       "a\u0308\u0323", "\u0301", "##", "[MASK]", "[UNK]", "'", "``", "--", "1,000.50"]


def character(generator):
    while True:
        first, last = generator.choice(RANGES)
        found = chr(generator.randint(first, last))
        if unicodedata.category(found) not in ("Cn", "Cs"):
            return found


def word(generator, vocabulary):
    kind = generator.random()
    if kind < 0.5:
        letters = list(generator.choice(vocabulary).removeprefix("##"))
        if generator.random() < 0.5:
            place = generator.randrange(len(letters) + 1)
            letters[place:place] = generator.choice(
                [character(generator), "", letters[0].upper() if letters else "", "-"])
        return "".join(letters)
    if kind < 0.7:
        return generator.choice(ODD)
    if kind < 0.72:
        return generator.choice(vocabulary)[:4] * generator.randint(20, 60)
    return "".join(character(generator) for _ in range(generator.randint(1, 6)))


def line(generator, vocabulary):
    words = [word(generator, vocabulary) for _ in range(generator.randint(0, 12))]
    glue = generator.choice([" ", " ", "", "  ", "\t"])
    return glue.join(words).replace("\n", " ").replace("\r", " ")


ROLES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def rules_of(options):
    strip = not options.cased if options.accents is None else options.accents == "strip"
    return {"lowercase": not options.cased, "strip_accents": strip,
            "handle_chinese_chars": not options.chinese_in_words}


# The program's file of a WordPiece that is more than its vocabulary.
def write_model(options, tokenizer, file):
    rules = rules_of(options)
    json.dump({"format": "roformer wordpiece", "version": 1, "lower_case": rules["lowercase"],
               "strip_accents": rules["strip_accents"], "chinese_characters": rules["handle_chinese_chars"],
               "added_tokens": [{"id": tokenizer.token_to_id(token), "content": token, "normalized": True}
                                for token in options.added],
               "vocabulary": options.vocabulary.read_text(encoding="utf-8")}, file)
    file.flush()


def reference(options):
    vocabulary_file = options.vocabulary
    if vocabulary_file.suffix == ".json":
        tokenizer = Tokenizer.from_file(str(vocabulary_file))
        # Without --special the program takes no special token from text, which the package does.
        special = tokenizer.get_added_tokens_decoder()
        ids = [number for number in sorted(tokenizer.get_vocab().values()) if number not in special]
        return tokenizer, [text for number in ids if (text := tokenizer.decode([number]))]
    pieces = vocabulary_file.read_text(encoding="utf-8").split("\n")
    ids = {piece.rstrip(): number for number, piece in enumerate(pieces) if piece.rstrip()}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**rules_of(options))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens([AddedToken(token, normalized=True) for token in options.added])
    if options.special:
        tokenizer.add_special_tokens([AddedToken(role, special=True, normalized=False) for role in ROLES if role in ids])
    return tokenizer, list(ids) + options.added * (len(ids) // 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roformer")
    parser.add_argument("vocabulary", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--accents", choices=["keep", "strip"])
    parser.add_argument("--chinese-in-words", action="store_true")
    parser.add_argument("--added", nargs="+", default=[])
    parser.add_argument("--special", action="store_true")
    parser.add_argument("--shown", type=int, default=10, help="lines that differ")
    options = parser.parse_args()
    tokenizer, vocabulary = reference(options)
    generator = random.Random(options.seed)
    lines = [line(generator, vocabulary) for _ in range(options.lines)]
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as text, \
         tempfile.NamedTemporaryFile("w", suffix=".json") as model:
        text.writelines(one + "\n" for one in lines)
        text.seek(0)
        command = [options.roformer, "tokenizer", "encode"]
        if options.vocabulary.suffix == ".json":
            command += ["--tokenizer", str(options.vocabulary)]
        elif options.added or options.accents or options.chinese_in_words:
            write_model(options, tokenizer, model)
            command += ["--tokenizer", model.name]
        else:
            command += ["--wordpiece", str(options.vocabulary)] + ["--cased"] * options.cased
        output = subprocess.run(command + ["--special"] * options.special, stdin=text, check=True,
                                stdout=subprocess.PIPE, text=True).stdout
    ours = [[int(number) for number in one.split()] for one in output.split("\n")[:-1]]
    assert len(ours) == len(lines), f"{len(ours)} lines of output for {len(lines)}"
    different = 0
    for one, got, wanted in zip(lines, ours, tokenizer.encode_batch(lines,
                                                                    add_special_tokens=False)):
        if got == wanted.ids:
            continue
        different += 1
        if different <= options.shown:
            print(ascii(one))
            print("  roformer  ", [tokenizer.id_to_token(number) for number in got])
            print("  tokenizers", wanted.tokens)
    print(f"{len(lines):,} lines, {sum(map(len, ours)):,} pieces, {different:,} lines differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
