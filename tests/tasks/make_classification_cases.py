"""Figures of classifiers by scikit-learn, for classification_figures_test.cpp:

python tests/tasks/make_classification_cases.py > tests/tasks/classification_cases.json

scikit-learn 1.7 or later."""

import json
import warnings

import numpy
from sklearn import metrics

random = numpy.random.default_rng(5)
warnings.filterwarnings("ignore")


def rounded(rows):
    return [[round(float(value), 3) for value in row] for row in rows]


def single(examples, classes, used):
    labels = random.integers(0, used, examples)
    logits = numpy.array(rounded(random.normal(size=(examples, classes)) + 1.5 * numpy.eye(classes)[labels]))
    predictions = logits.argmax(1)
    shares = numpy.exp(logits) / numpy.exp(logits).sum(1, keepdims=True)
    present = sorted(set(labels))
    if classes == 2:
        auc = metrics.roc_auc_score(labels, shares[:, 1]) if len(present) == 2 else None
    else:
        areas = [metrics.roc_auc_score(labels == c, shares[:, c]) for c in present]
        auc = float(numpy.mean(areas))
    report = metrics.classification_report(
        labels, predictions, labels=range(classes), output_dict=True, zero_division=0)
    counts = numpy.bincount(labels, minlength=classes)
    weights = [examples / (classes * int(n)) if n else 1.0 for n in counts]
    return {
        "kind": "single",
        "outputs": logits.tolist(),
        "labels": labels.tolist(),
        "figures": {
            "accuracy": metrics.accuracy_score(labels, predictions),
            "macro_f1": metrics.f1_score(labels, predictions, average="macro", zero_division=0),
            "micro_f1": metrics.f1_score(labels, predictions, average="micro", zero_division=0),
            "matthews": metrics.matthews_corrcoef(labels, predictions),
            "auc": auc,
            "loss": metrics.log_loss(labels, shares, labels=range(classes)),
        },
        "classes": [[report[str(c)][name] for name in ("precision", "recall", "f1-score", "support")]
                    for c in range(classes)],
        "confusion": metrics.confusion_matrix(labels, predictions, labels=range(classes)).tolist(),
        "weights": weights,
    }


def multi(examples, classes):
    table = (random.random((examples, classes)) < 0.35).astype(int)
    logits = numpy.array(rounded(random.normal(size=(examples, classes)) + 2.0 * (table - 0.5)))
    shares = 1 / (1 + numpy.exp(-logits))
    predictions = (shares >= 0.5).astype(int)
    loss = -(table * numpy.log(shares) + (1 - table) * numpy.log(1 - shares)).mean()
    return {
        "kind": "multi",
        "outputs": logits.tolist(),
        "labels": [numpy.flatnonzero(row).tolist() for row in table],
        "figures": {
            "accuracy": metrics.accuracy_score(table, predictions),
            "macro_f1": metrics.f1_score(table, predictions, average="macro", zero_division=0),
            "micro_f1": metrics.f1_score(table, predictions, average="micro", zero_division=0),
            "auc": metrics.roc_auc_score(table, shares, average="macro"),
            "loss": float(loss),
        },
    }


def plain(value):
    return value if value is None or isinstance(value, (str, list, dict)) else float(value)


cases = [single(40, 2, 2), single(60, 4, 4), single(30, 5, 3), single(25, 2, 1), single(200, 12, 12),
         multi(50, 4), multi(80, 7)]
for case in cases:
    case["figures"] = {name: plain(value) for name, value in case["figures"].items()}
print(json.dumps(cases))
