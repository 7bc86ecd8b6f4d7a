"""Makes entity_cases.json: random tag sequences, many of them broken, and what seqeval computes from
them: its default mode for BIO (also for IOB1 and tags without a type), its strict mode for BIOES.

Run: python make_entity_cases.py > entity_cases.json (seqeval 1.2.2).
"""
import json
import math
import random
import warnings

from seqeval.metrics import classification_report
from seqeval.scheme import IOBES

warnings.filterwarnings("ignore")  # about figures without entities, which are 0
TYPES = ["PER", "LOC", "A-B"]


def sequence(marks, types, length, outside):
    tags = []
    for _ in range(length):
        mark = random.choice(marks)
        kind = random.choice(types)
        tags.append("O" if random.random() < outside else mark + ("-" + kind if kind else ""))
    return tags


def entities(scheme, types, length):
    """A sequence without a broken entity."""
    tags = []
    while len(tags) < length:
        if random.random() < 0.5:
            tags.append("O")
            continue
        kind, size = random.choice(types), random.randint(1, 4)
        if scheme == "bioes":
            marks = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
        else:
            marks = "B" + "I" * (size - 1)
        tags += [mark + "-" + kind for mark in marks]
    return tags


def changed(tags, marks, types, share):
    return [sequence(marks, types, 1, 0.3)[0] if random.random() < share else tag for tag in tags]


def case(scheme, sentences, broken):
    marks = "BI" if scheme == "bio" else "BIES"
    types = random.choice([TYPES, TYPES[:1], [""]]) if broken else TYPES
    labelled, predicted = [], []
    for _ in range(sentences):
        length = random.randint(1, 9)
        truth = sequence(marks, types, length, 0.4) if broken else entities(scheme, types, length)
        labelled.append(truth)
        predicted.append(changed(truth, marks, types, random.choice([0, 0.2, 1])))
    strict = dict(mode="strict", scheme=IOBES) if scheme == "bioes" else {}
    report = classification_report(labelled, predicted, output_dict=True, **strict)
    return dict(scheme=scheme, labelled=labelled, predicted=predicted, report=numbers(report))


def numbers(report):
    """Plain numbers. The means over no types, which are NaN, are 0 here."""
    return {name: {key: 0 if math.isnan(value) else float(value) for key, value in row.items()}
            for name, row in report.items()}


def main():
    random.seed(5)
    cases = [case(scheme, sentences, broken) for scheme in ("bio", "bioes")
             for broken in (False, True) for sentences in [1] * 20 + [4] * 10 + [12] * 3]
    # The default mode reads every mark, so tags of one scheme in another's file too.
    for _ in range(20):
        truth = [sequence("BIES", TYPES, 12, 0.3) for _ in range(2)]
        found = [changed(tags, "BIES", TYPES, 0.3) for tags in truth]
        report = classification_report(truth, found, output_dict=True)
        cases.append(dict(scheme="bio", labelled=truth, predicted=found, report=numbers(report)))
    print(json.dumps(cases, separators=(",", ":")))


if __name__ == "__main__":
    main()
