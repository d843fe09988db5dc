"""The answer in one plain sentence, also when it is "no"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._statistics import Estimate

LEVEL = 0.05


@dataclass(frozen=True)
class Standing:
    """How a method stands against the baseline."""

    name: str
    for_metric: bool
    mean: float
    difference: Estimate
    p_holm: float
    is_choice: bool = False  # what ``fit`` would give: named first where it is among the better ones


@dataclass(frozen=True)
class Verdict:
    """``answer`` is "yes" where a method trained for the metric is better beyond chance, else "no"."""

    answer: str
    sentence: str


def verdict_on(metric: str, standings: Sequence[Standing], baseline: float) -> Verdict:
    """Whether training for the metric beats cross-entropy with a tuned threshold.

    >>> standing = Standing("EXACT", True, 0.7, Estimate(0.1, 0.05, 0.15, 0.001), 0.002)
    >>> print(verdict_on("f1", [standing], 0.6).sentence)
    Yes: training for f1 pays here: EXACT reaches 0.7000 where cross-entropy with a tuned threshold reaches 0.6000, a difference
    of +0.1000 (95 % interval +0.0500 to +0.1500, p = 0.002).
    """
    trained = [standing for standing in standings if standing.for_metric]
    better = [standing for standing in trained if standing.p_holm < LEVEL and standing.difference.mean > 0.0]
    if better:
        best = next((standing for standing in better if standing.is_choice), max(better, key=lambda standing: standing.mean))
        return Verdict(
            "yes",
            f"Yes: training for {metric} pays here: {best.name} reaches {best.mean:.4f} where cross-entropy with a tuned threshold "
            f"reaches {baseline:.4f}, a difference of {_interval(best)}.",
        )
    best = max(trained, key=lambda standing: standing.mean)
    plain = next((standing for standing in standings if standing.name == "cross-entropy"), None)
    advice = "tune the threshold and be done"
    if plain is not None and plain.difference.mean >= 0.0:
        advice = "take plain cross-entropy and be done"
    if best.difference.mean <= 0.0:
        return Verdict(
            "no",
            f"No: {advice}; of what was trained for {metric}, nothing reaches the {baseline:.4f} of cross-entropy with a tuned "
            f"threshold, the nearest being {best.name} with {best.mean:.4f}.",
        )
    return Verdict(
        "no",
        f"No: {advice}; the best of what was trained for {metric}, {best.name}, differs from cross-entropy with a tuned threshold "
        f"({baseline:.4f}) by {_interval(best)}, which chance explains.",
    )


def _interval(standing: Standing) -> str:
    difference = standing.difference
    p = f"p = {standing.p_holm:.2g}" if standing.p_holm >= 0.001 else "p < 0.001"
    return f"{difference.mean:+.4f} (95 % interval {difference.low:+.4f} to {difference.high:+.4f}, {p})"
