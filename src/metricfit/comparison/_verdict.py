"""The answer in one plain sentence, also when it is "no"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._statistics import Estimate

LEVEL = 0.05  # after Holm: beyond chance
HOPE = 0.1  # before: worth another look


@dataclass(frozen=True)
class Standing:
    """How a method stands against the baseline."""

    name: str
    for_metric: bool
    mean: float
    difference: Estimate
    p_holm: float
    is_choice: bool = False  # what ``fit`` would give: named first where it is among the better ones
    is_plain: bool = False  # cross-entropy without any tuning


@dataclass(frozen=True)
class Verdict:
    """``answer`` is "yes" where a method trained for the metric is better beyond chance, "perhaps" where it may be, "no"."""

    answer: str
    sentence: str


def verdict_on(metric: str, standings: Sequence[Standing], baseline: float) -> Verdict:
    """Whether training for the metric beats cross-entropy with a tuned threshold.

    >>> standing = Standing("EXACT", True, 0.7, Estimate(0.1, 0.05, 0.15, 0.001), 0.002)
    >>> print(verdict_on("f1", [standing], 0.6).sentence)
    Yes: training for f1 pays here: EXACT reaches 0.7000 where cross-entropy with a tuned threshold reaches 0.6000,
    a difference of +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001, after Holm 0.002).
    """
    trained = [standing for standing in standings if standing.for_metric]
    gains = [standing for standing in trained if standing.difference.mean > 0.0]
    better = [standing for standing in gains if standing.p_holm < LEVEL]
    hopeful = [standing for standing in gains if standing.difference.p < HOPE]
    plain = next((standing for standing in standings if standing.is_plain), None)
    threshold = f"cross-entropy with a tuned threshold reaches {baseline:.4f}"
    enough = "take plain cross-entropy" if plain is not None and plain.difference.mean >= 0.0 else "tune the threshold"
    if better:
        best = next((standing for standing in better if standing.is_choice), max(better, key=lambda standing: standing.mean))
        reached = f"{best.name} reaches {best.mean:.4f} where {threshold}, a difference of {_interval(best)}"
        return Verdict("yes", f"Yes: training for {metric} pays here: {reached}.")
    if hopeful:
        best = min(hopeful, key=lambda standing: standing.difference.p)
        reached = (
            f"{best.name} reaches {best.mean:.4f} where {threshold}, but the difference of {_interval(best)} may be chance"
        )
        return Verdict("perhaps", f"Perhaps: {reached}; more repeats may tell, or {enough} and be done.")
    if not trained:
        return Verdict(
            "no", f"No: {enough} and be done: {threshold}, and the automatic choice was mostly not to train for {metric}."
        )
    best = max(trained, key=lambda standing: standing.mean)
    if not gains:
        nearest = f"({best.name}: {best.mean:.4f})"
        return Verdict("no", f"No: {enough} and be done: {threshold}, and nothing trained for {metric} gets beyond {nearest}.")
    changed = f"{best.name}, the best trained for {metric}, changes that by {_interval(best)}"
    return Verdict("no", f"No: {enough} and be done: {threshold}, and {changed}.")


def _interval(standing: Standing) -> str:
    difference = standing.difference
    p, p_holm = (f"{p:.2g}" if p >= 0.001 else "< 0.001" for p in (difference.p, standing.p_holm))
    interval = f"95 % interval {difference.low:+.4f} to {difference.high:+.4f}"
    return f"{difference.mean:+.4f} ({interval}, p {p}, after Holm {p_holm})"
