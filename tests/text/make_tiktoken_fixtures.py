#!/usr/bin/env python3
"""Writes tiktoken_cases.json: a small list of ranks in tiktoken's form, and the ids that `tiktoken`
itself gives hard texts with the patterns of its encodings.

    pip install tiktoken==0.14.0 && python3 make_tiktoken_fixtures.py
"""
import base64
import json
import pathlib
import re

import tiktoken
from tiktoken_ext import openai_public

HERE = pathlib.Path(__file__).resolve().parent
TEXTS = [
    "", " ", "  ", "   a", "a   ", "\t\n\r\n  \n x", "Hello, world!", "it's IT'S we'Re \u017f'\u017f 's's", "the windows of the lower house", "    return 1\n\n\n    pass\n",
    "1234567 12 3", "aaaaaaa aa aaaaa aaaaaaaaaaaaaaaaaaaaaaa", "aabaaabaaaab", "abab ababab", "\u5317\u4eac\u5927\u5b66 \u3042", "\u0661\u0662\u0663\u2167\u00bd", "e\u0301te\u0301 \u00e9t\u00e9", "\U0001f468\u200d\U0001f469 \u2764\ufe0f",
    "\u00a0x\u3000y\u2009z", "CamelCaseWord HTTPServer \u01c5x /path/to\n/x", "<|endoftext|>", "x" * 100, "can\u2019t 'll 'LL", "a\x00b\x7f", "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd", "end  \n", "$5+3=8...\r\n",
]


def ranks():
    """The 256 bytes, then pieces of a small trained vocabulary and runs with several ways to join."""
    vocabulary = json.loads((HERE / "byte_level.json").read_text())["model"]["vocab"]
    letters = {}
    substitute = 0x100
    for byte in range(256):
        printable = 0x21 <= byte <= 0x7e or 0xa1 <= byte <= 0xac or byte >= 0xae
        letters[chr(byte if printable else substitute)] = byte
        substitute += not printable
    pieces = [bytes([byte]) for byte in range(256)]
    for piece, _ in sorted(vocabulary.items(), key=lambda entry: entry[1])[256:700]:
        if all(letter in letters for letter in piece):
            pieces.append(bytes(letters[letter] for letter in piece))
    pieces += [b"aaa", b"aa", b"aaaaa", b"  ", b"   ", b"     ", b"xx", b"xxx", b"xxxx"]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def main():
    table = ranks()
    public = {}
    load = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_, **__: {}
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        public[name] = getattr(openai_public, name)()["pat_str"]
    openai_public.load_tiktoken_bpe = load
    encodings = {}
    for name, pattern in public.items():
        encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=table, special_tokens={})
        encodings[name] = [{"text": text, "ids": encoding.encode_ordinary(text)} for text in TEXTS]
    lines = "".join(f"{base64.b64encode(piece).decode()} {rank}\n" for piece, rank in table.items())
    document = json.dumps({"ranks": lines, "encodings": encodings}, ensure_ascii=False)
    pathlib.Path("tiktoken_cases.json").write_text(re.sub(r'(\{"text")', r"\n\1", document) + "\n")


main()
