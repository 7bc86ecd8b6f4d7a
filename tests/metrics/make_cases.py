"""Makes cases.json: inputs with the values of scikit-learn, scipy and numpy beside them.

Run: python make_cases.py > cases.json (any recent scikit-learn and scipy). A value that those give
as NaN, or warn about as undefined, is null: there the program says 0.0 and "degenerate".
"""
import json
import math
import sys
import warnings

import numpy as np
from scipy import stats
from sklearn import metrics

random = np.random.default_rng(20240521)


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def quietly(function, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return number(function(*arguments, **named))
        except (Warning, ValueError):
            return None


def classification(name, predictions, labels):
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    case = {"name": name, "predictions": predictions.tolist(), "labels": labels.tolist()}
    case["accuracy"] = quietly(metrics.accuracy_score, labels, predictions)
    one_class = len(set(labels.tolist())) < 2 or len(set(predictions.tolist())) < 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case["matthews"] = None if one_class else number(metrics.matthews_corrcoef(labels, predictions))
        if set(labels.tolist()) | set(predictions.tolist()) <= {0, 1}:
            never = 1 not in predictions
            case["f1"] = None if never else number(metrics.f1_score(labels, predictions))
    return case


def correlation(name, predictions, targets):
    predictions, targets = np.asarray(predictions, float), np.asarray(targets, float)
    usable = len(targets) > 1 and np.ptp(predictions) > 0 and np.ptp(targets) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "name": name,
            "predictions": predictions.tolist(),
            "targets": targets.tolist(),
            "pearson": number(stats.pearsonr(predictions, targets)[0]) if usable else None,
            "spearman": number(stats.spearmanr(predictions, targets)[0]) if usable else None,
            "ranks": stats.rankdata(predictions).tolist(),
        }


def comparison(name, first, second, confidence):
    first, second = np.asarray(first, float), np.asarray(second, float)
    interval = stats.t.interval(confidence, len(first) - 1, loc=first.mean(), scale=stats.sem(first))
    test = stats.ttest_rel(first, second)
    paired = test.confidence_interval(confidence)
    return {
        "name": name, "first": first.tolist(), "second": second.tolist(), "confidence": confidence,
        "mean": first.mean(), "median": float(np.median(first)), "deviation": first.std(ddof=1),
        "low": interval[0], "high": interval[1],
        "p_value": test.pvalue, "paired_low": paired.low, "paired_high": paired.high,
    }


def noisy(labels, share, classes):
    replaced = random.random(len(labels)) < share
    return np.where(replaced, random.integers(0, classes, len(labels)), labels)


labels = random.integers(0, 2, 60)
rare = (random.random(80) < 0.06).astype(int)
three = random.integers(0, 3, 50)
similarity = np.round(random.random(40) * 5, 1)
seeds = 84 + random.normal(size=5)

json.dump({
    "classification": [
        classification("random", noisy(labels, 0.5, 2), labels),
        classification("opposite", 1 - labels, labels),
        classification("perfect", labels, labels),
        classification("rare class", noisy(rare, 0.3, 2), rare),
        classification("one class predicted: 1", np.ones_like(labels), labels),
        classification("one class predicted: 0", np.zeros_like(labels), labels),
        classification("one class true", labels, np.ones_like(labels)),
        classification("three classes", noisy(three, 0.4, 3), three),
        classification("a class never predicted", np.minimum(three, 1), three),
        classification("odd labels", [-7, 12, 12, 900000000000, -7], [-7, 12, -7, 900000000000, 12]),
        classification("one example, right", [1], [1]),
        classification("one example, wrong", [1], [0]),
    ],
    "correlation": [
        correlation("random", random.normal(size=30), random.normal(size=30)),
        correlation("many ties", np.round(similarity), similarity),
        correlation("noisy", similarity + random.normal(size=40), similarity),
        correlation("large offset", 1e8 + random.normal(size=40), similarity),
        correlation("huge", 1e200 * random.normal(size=20), 1e-200 * random.normal(size=20)),
        correlation("one outlier", [0, 1, 2, 3, 1e12], [4, 3, 2, 1, 0]),
        correlation("monotone", np.exp(np.arange(20)), np.arange(20)),
        correlation("two examples", [1, 2], [5, 4]),
        correlation("zero and minus zero", [0.0, -0.0, 1, 2], [1, 2, 3, 4]),
        correlation("constant predictions", np.full(10, 0.1), random.normal(size=10)),
        correlation("constant targets", random.normal(size=10), np.full(10, 2.5)),
    ],
    "comparisons": [
        comparison("five seeds", seeds, seeds - 0.5 + 0.3 * random.normal(size=5), 0.95),
        comparison("two seeds", [3.92, 3.95], [5.54, 5.40], 0.95),
        comparison("many, 99 %", random.normal(size=200), random.normal(size=200), 0.99),
        comparison("even number", [4, 1, 3, 2], [1, 1, 2, 3], 0.9),
        comparison("large offset", 1e9 + random.normal(size=6), 1e9 + random.normal(size=6), 0.95),
    ],
    "quantiles": [
        {"probability": p, "degrees": df, "value": stats.t.ppf(p, df)}
        for p in (0.0005, 0.025, 0.4, 0.5, 0.6, 0.95, 0.975, 0.9999)
        for df in (1, 2, 3, 4.5, 10, 30, 1000, 1e6)
    ],
}, sys.stdout, indent=None, separators=(",", ":"))
print()
