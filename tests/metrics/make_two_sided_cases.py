#!/usr/bin/env python3
"""Makes two_sided_cases.json: invented translations at different distances from a baseline, with
p-values of paired approximate randomisation (10,000 trials) for BLEU, chrF and TER: sacreBLEU's,
which leaves out draws that equal the observed difference, and the same with these counted.

Run: python make_two_sided_cases.py > two_sided_cases.json
with sacrebleu 2.6.0 and numpy 2 installed.
"""
import json
import random
import sys

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

assert sacrebleu.__version__ == "2.6.0"
TRIALS = 10000
dice = random.Random(7)
WORDS = ("der die das ein eine Haus Häuser Mann Frau geht sieht groß schnell am im über unter nicht heute "
         "Berlin und oder aber weil Straße läuft kam war ist").split()


def worsen(line, changes):
    words = line.split()
    for _ in range(changes):
        where = dice.randrange(len(words))
        if dice.random() < 0.5:
            words[where] = dice.choice(WORDS)
        else:
            words.insert(where, words.pop(dice.randrange(len(words))))
    return " ".join(words)


references = [" ".join(dice.choice(WORDS) for _ in range(dice.randint(5, 15))) + "." for _ in range(50)]
baseline = [worsen(line, 4) for line in references]
# The baseline itself, then another translation of some sentences with so many changes instead of four.
systems = [baseline]
for share, changes in ((0.1, 3), (0.5, 4), (0.8, 3), (0.8, 5), (1, 2)):
    systems.append([worsen(line, changes) if dice.random() < share else base
                    for line, base in zip(references, baseline)])


def with_ties(metric, system):
    """The same test from sacreBLEU's statistics, with draws that equal the observed difference counted."""
    rows = [numpy.array([[float(value) for value in row]
                         for row in metric._extract_corpus_statistics(texts, [references])])
            for texts in (baseline, system)]
    score = lambda sums: metric._compute_score_from_stats(list(sums)).score
    def difference(swapped):
        return abs(score((rows[0] * ~swapped + rows[1] * swapped).sum(0)) -
                   score((rows[0] * swapped + rows[1] * ~swapped).sum(0)))
    observed = difference(numpy.zeros((len(references), 1), bool)) - 1e-9
    draws = numpy.random.default_rng(1).integers(2, size=(TRIALS, len(references), 1), dtype=bool)
    return (1 + sum(difference(swapped) >= observed for swapped in draws)) / (1 + TRIALS)


cases = []
for name, metric in (("bleu", BLEU), ("chrf", CHRF), ("ter", TER)):
    named = [("baseline", baseline), *((str(i), system) for i, system in enumerate(systems))]
    _, scores = PairedTest(named, {name: metric()}, [references], test_type="ar", n_samples=TRIALS)()
    (_, results), = [(key, values) for key, values in scores.items() if key != "System"]
    for i, system in enumerate(systems):
        cases.append({"metric": name, "settings": {}, "system": i, "sacrebleu": results[i + 1].p_value,
                      "with_ties": with_ties(metric(), system)})
json.dump({"trials": TRIALS, "references": references, "baseline": baseline, "systems": systems, "cases": cases},
          sys.stdout, ensure_ascii=False, separators=(",", ":"))
print()
