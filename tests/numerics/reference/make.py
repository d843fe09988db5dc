"""Writes the 30-digit references for the probability that a label wins: ``make references``, about ten minutes.

The integrand is entire and falls off like a Gaussian, so the trapezoidal rule converges geometrically: the number of points
is doubled until 28 digits stand still. Nothing here is shared with the package: other arithmetic (mpmath), another rule, and
a search for the interval by bisection.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter

import mpmath as mp
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from tests.numerics.reference.cases import TABLE, all_cases

mp.mp.dps = 34
NEGLIGIBLE = 85.0  # exp(-85) is 1e-37


def log_label_probability(scores: np.ndarray, label: int) -> mp.mpf:
    own = mp.mpf(float(scores[label]))
    gaps = Counter(float(score) for i, score in enumerate(scores) if i != label)
    differences = [(own - mp.mpf(score), count) for score, count in gaps.items()]

    def log_f(z: mp.mpf) -> mp.mpf:
        total = -z * z / 2 - mp.log(2 * mp.pi) / 2
        for difference, count in differences:
            tail = mp.erfc(abs(difference + z) / mp.sqrt(2)) / 2
            total += count * (mp.log(tail) if difference + z < 0 else mp.log1p(-tail))
        return total

    left, right = _interval(
        np.array([float(difference) for difference, _ in differences]), np.array([count for _, count in differences])
    )

    def trapezoid(points: int) -> mp.mpf:
        step = (mp.mpf(right) - mp.mpf(left)) / points
        heights = [log_f(mp.mpf(left) + step * i) for i in range(points + 1)]
        top = max(heights)
        return top + mp.log(mp.fsum(mp.exp(height - top) for height in heights)) + mp.log(step)

    points, previous = 64, trapezoid(64)
    while True:
        points *= 2
        value = trapezoid(points)
        if abs(value - previous) < mp.mpf(10) ** -28 * max(1, abs(value)):
            return value
        previous = value


def _interval(differences: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Where log f is within ``NEGLIGIBLE`` of its maximum; doubles are enough to find that."""

    def height(z: float) -> float:
        return float(-z * z / 2 + (counts * log_ndtr(z + differences)).sum())

    bounds = (0.0, max(0.0, -differences.min()) + 10.0)
    mode = float(minimize_scalar(lambda z: -height(z), bounds=bounds, method="bounded", options={"xatol": 1e-6}).x)
    target = height(mode) - NEGLIGIBLE

    def edge(sign: float) -> float:
        low, high = 0.0, 0.01
        while height(mode + sign * high) > target:
            high *= 1.5
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if height(mode + sign * middle) > target else (low, middle)
        return mode + sign * high

    return edge(-1.0), edge(1.0)


def main() -> None:
    with TABLE.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["n_classes", "spread", "kind", "log_p"])
        for case in all_cases():
            print(case, file=sys.stderr)
            log_p = log_label_probability(*case.scores())
            table.writerow([case.n_classes, f"{case.spread:g}", case.kind, mp.nstr(log_p, 30)])


if __name__ == "__main__":
    main()
