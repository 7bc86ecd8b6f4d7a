"""Student's t, the paired test and Holm's correction, with the standard library alone."""
import math
import statistics

TOLERANCE = 1e-6  # relative, between a stored double and the same computed here
check_with = None  # scipy.stats, where it is installed


class Mismatch(Exception):
    """What a page or a record has is not what follows from the runs."""


def student_p(t, freedom):
    """P(|T| > |t|) for an integer number of degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine, total = math.cos(angle), 0.0
    odd = freedom % 2
    term = cosine if odd else 1.0
    for i in range(freedom // 2):
        total += term
        k = 2 * i + (3 if odd else 2)
        term *= (k - 1) / k * cosine ** 2
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return 1 - inside


def student_quantile(freedom):
    """The t that 2.5 % exceed."""
    low, high = 0.0, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > 0.05 else (low, middle)
    return low


def holm(p_values, family=None):
    """Adjusted p-values in the order given; `family`: the number of comparisons, if some have no p."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, ((family or len(p_values)) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def compare_paired(first, second):
    """difference, low, high, p of two lists of the same seeds; None for the last three without a variance."""
    differences = [a - b for a, b in zip(first, second)]
    n, mean = len(differences), statistics.fmean(differences)
    deviation = statistics.stdev(differences)
    if max(differences) == min(differences):
        return {"difference": mean, "low": None, "high": None, "p": None}
    error = deviation / math.sqrt(n)
    reach, p = student_quantile(n - 1) * error, student_p(mean / error, n - 1)
    if check_with:
        theirs = check_with.ttest_rel(first, second)
        interval = theirs.confidence_interval(0.95)
        for ours, other in ((p, theirs.pvalue), (mean - reach, interval.low), (mean + reach, interval.high)):
            if not close(ours, float(other)):
                raise Mismatch(f"SciPy has {other}, this script {ours}")
    return {"difference": mean, "low": mean - reach, "high": mean + reach, "p": p}


def close(a, b):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) + 1e-9
