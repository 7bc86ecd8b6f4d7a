#!/usr/bin/env python3
"""Writes subword_cases.json: what the package subword-nmt (0.3.8) makes of sentences with codes of
version 0.2 that it learned from them, and with codes of version 0.1, with and without a threshold.

    pip install subword-nmt==0.3.8 && python3 make_subword_fixtures.py > subword_cases.json
"""
import collections
import io
import json

from subword_nmt.apply_bpe import BPE, read_vocabulary
from subword_nmt.learn_bpe import learn_bpe

TRAINING = """
the lower house lowered the newest widest windows while the wind was low
der niedrige Winter war der kälteste Winter , und die Fenster waren geöffnet
neue Häuser haben breite Fenster , neuere Häuser haben breitere Fenster
the winner of the winter games went to the newest window of the house
größer , größte , am größten ; schöner , schönste , am schönsten
old , older , oldest ; cold , colder , coldest ; new , newer , newest
Donaudampfschifffahrt , Dampfschiff , Schifffahrt , Schiffe fahren
&apos; it &apos;s a window &apos; , said the owner of the lowest house .
""".strip().split("\n")

# Codes of version 0.1: the end of a word is a separate symbol. One merge is there twice.
CODES_01 = """e r
e n
er </w>
t h
th e
the </w>
i n
w in
en </w>
d er</w>
e s
es t
est </w>
l o
lo w
n e
ne w
a a
win d
wind o
windo w
window </w>
s </w>
a </w>
e r
new er</w>
f f
"""

SENTENCES = TRAINING + [
    "", " ", "  the   low  window ", "the", "a", "é", "aaaa aaaaa aaaaaa", "lowerest unknownword",
    "the\twindow", "the\u00a0window", "größerste 😀 窗户 窗", "@@ low@@ @ the@@",
    "Schifffahrtsgesellschaft", "ffff fffff", "[UNK] <unk> </w> low</w>", "NEWEST ÄÖÜ ß",
    "word" * 30,
]


def segment(codes, vocabulary, threshold):
    words = read_vocabulary(io.StringIO(vocabulary), threshold) if vocabulary else None
    bpe = BPE(io.StringIO(codes), vocab=words)
    return [bpe.segment(sentence).split(" ") for sentence in SENTENCES]


def count(codes):
    """As `subword-nmt get-vocab` on the segmented training text."""
    counter = collections.Counter()
    bpe = BPE(io.StringIO(codes))
    for line in TRAINING:
        counter.update(bpe.segment(line).split(" "))
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{piece} {number}\n" for piece, number in ordered)


def cases():
    learned = io.StringIO()
    learn_bpe(io.StringIO("\n".join(TRAINING) + "\n"), learned, 120)
    for codes in (learned.getvalue(), CODES_01):
        vocabulary = count(codes)
        for threshold in (0, 2, 5):
            yield {
                "codes": codes,
                "vocabulary": vocabulary,
                "threshold": threshold,
                "pieces": [[piece for piece in line if piece] for line in
                           segment(codes, vocabulary, threshold)],
            }


print(json.dumps({"sentences": SENTENCES, "cases": list(cases())}, ensure_ascii=False, indent=0))
