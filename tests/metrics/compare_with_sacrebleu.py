#!/usr/bin/env python3
"""Holds `roformer score` against the `sacrebleu` package (PyPI) on random texts with every option of
BLEU, chrF and TER: empty lines, one-word lines, several references, scripts without spaces, entities,
numbers with points, odd spaces and line separators. Prints what differs by more than 1e-8; exit code
1 where something does. It needs the package, and so is no part of the normal tests.

  compare_with_sacrebleu.py ROFORMER [--trials N] [--seed S]"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from sacrebleu.metrics import BLEU, CHRF, TER

PARTS = list("abcdeXYZ  .,;:!?-'\"()0123456789&<>/%$`~|{}[]\\^_@#*+=") + [
    "&quot;", "&amp;", "&lt;", "&gt;", "<skipped>", "1.5", "3,000", "a-b", "10-", "U.S.", "\t",
    "\u00a0", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\u3000", "\u200b", "\ufeff", "\u00ad",
    "\u202f", "\u0301", "\u20ac", "\u00e9", "\u00c4", "\u00df", "\ufb01", "\u4f60", "\u597d",
    "\u3002", "\uff0c", "\uff21", "\uff11", "\ud55c", "\u3042", "\u30a2", "\uff71", "\u3005",
    "\U0001d518", "\U0001f600", "\u0130", "\u0131", "\u01c5", "\u0663", "\u00b2", "\u00bd"]
WORDS = ["the", "house", "Haus", "der", "ist", "und", "a", "of", "1990", "x", "El-Ni\u00f1o", "don't"]


def line(generator):
    return "".join(generator.choice(PARTS) if generator.random() < 0.5
                   else f" {generator.choice(WORDS)} "
                   for _ in range(generator.choice([0, 1, 2, 3, 8, 20])))


def changed(text, generator):
    words = text.split(" ")
    for _ in range(generator.randint(0, 3)):
        if not words:
            break
        place, other = generator.randrange(len(words)), generator.randrange(len(words))
        kind = generator.choice(["drop", "insert", "swap", "replace"])
        if kind == "drop":
            words.pop(place)
        elif kind == "insert":
            words.insert(place, generator.choice(WORDS))
        elif kind == "swap":
            words[place], words[other] = words[other], words[place]
        else:
            words[place] = generator.choice(PARTS)
    return " ".join(words)


def drawn_metrics(generator):
    """The flags of the program, and the package's metrics that they mean."""
    flags = []

    def flag(name, probability=0.3):
        on = generator.random() < probability
        flags.extend([name] * on)
        return on

    def choice(name, values):
        flags.extend([name, str(value := generator.choice(values))])
        return value

    bleu = BLEU(tokenize=choice("--tokenize", ["13a", "intl", "char", "none", "zh"]),
                smooth_method=choice("--smooth-method", ["exp", "floor", "add-k", "none"]),
                lowercase=flag("--lowercase"))
    chrf = CHRF(word_order=choice("--chrf-word-order", [0, 2]),
                whitespace=flag("--chrf-whitespace"), lowercase=flag("--chrf-lowercase"),
                eps_smoothing=flag("--chrf-eps-smoothing"))
    ter = TER(case_sensitive=flag("--ter-case-sensitive"), normalized=flag("--ter-normalized"),
              no_punct=flag("--ter-no-punct"), asian_support=flag("--ter-asian-support"))
    return flags, [bleu, chrf, ter]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roformer")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for trial in range(options.trials):
            lines = [line(generator) for _ in range(generator.choice([1, 2, 3, 10, 30]))]
            systems = [[changed(one, generator) for one in lines], lines]
            for _ in range(generator.choice([0, 0, 1, 2])):
                systems.append([changed(one, generator) for one in lines])
            files = []
            for number, system in enumerate(systems):
                files.append(folder / str(number))
                files[-1].write_bytes("".join(one + "\n" for one in system).encode())
            flags, metrics = drawn_metrics(generator)
            command = [options.roformer, "score", *map(str, files), "--metrics", "bleu,chrf,ter",
                       "--format", "json", "--width", "10", *flags]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            # As the package's command reads its files.
            hypotheses, *references = [[one.rstrip() for one in system] for system in systems]
            for ours, metric in zip(json.loads(output), metrics):
                wanted = metric.corpus_score(hypotheses, references).score
                if abs(ours["score"] - wanted) > 1e-8:
                    different += 1
                    print(f"trial {trial}: {ours['name']} {ours['score']}, wanted {wanted}:",
                          " ".join(flags), ascii(systems))
    print(f"{3 * options.trials:,} scores, {different:,} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
