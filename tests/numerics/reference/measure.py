"""Prints the largest errors against the 30-digit references: ``.venv/bin/python -m tests.numerics.reference.measure``."""

from __future__ import annotations

import math

import mpmath as mp
import torch

from metricfit.smoothing import Normal
from tests.numerics.reference.cases import references

mp.mp.dps = 34


def largest_errors(dtype: torch.dtype) -> dict[str, float]:
    worst = dict.fromkeys(["p", "log p, relative to max(1, |log p|)", "an entry of `assign`", "a row sum of `assign`"], 0.0)
    for case, truth in references():
        values, label = case.scores()
        scores, labels, log_p = torch.tensor(values).to(dtype)[None], torch.tensor([label]), mp.mpf(truth)
        value = Normal().log_label_probability(scores, labels).item()
        assignment = Normal().assign(scores)[0]
        errors = [
            abs(math.exp(value) - mp.exp(log_p)),
            abs(value - log_p) / max(1, abs(log_p)),
            abs(assignment[label].item() - mp.exp(log_p)),
            abs(assignment.sum().item() - 1.0),
        ]
        worst = {name: max(old, float(new)) for (name, old), new in zip(worst.items(), errors, strict=True)}
    return worst


def main() -> None:
    double, single = largest_errors(torch.float64), largest_errors(torch.float32)
    print("| | float64 | float32 |\n|---|---|---|")
    for name in double:
        print(f"| {name} | {double[name]:.1e} | {single[name]:.1e} |")


if __name__ == "__main__":
    main()
