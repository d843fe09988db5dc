"""The verdict of a comparison: yes, perhaps or no, with the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._statistics import Estimate

LEVEL = 0.05  # p after Holm for "yes"
WEAK_LEVEL = 0.1  # p before Holm for "perhaps"


@dataclass(frozen=True)
class Standing:
    """A method compared with the baseline."""

    name: str
    for_metric: bool
    mean: float
    difference: Estimate
    p_holm: float
    is_choice: bool = False  # the automatic choice, which ``fit`` uses, is preferred in the verdict
    is_plain: bool = False  # cross-entropy without a tuned threshold


@dataclass(frozen=True)
class Verdict:
    """``answer`` is "yes" if a method trained for the metric is significantly better, "perhaps" on weak evidence, or "no"."""

    answer: str
    sentence: str


def verdict_on(metric: str, standings: Sequence[Standing], baseline: float) -> Verdict:
    """Whether training for the metric beats cross-entropy with a tuned threshold.

    >>> standing = Standing("EXACT", True, 0.7, Estimate(0.1, 0.05, 0.15, 0.001), 0.002)
    >>> print(verdict_on("f1", [standing], 0.6).sentence)
    Yes: training for f1 helps here; EXACT reaches 0.7000 and cross-entropy with a tuned threshold 0.6000, a difference
    of +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001, after Holm 0.002).
    """
    trained = [standing for standing in standings if standing.for_metric]
    gains = [standing for standing in trained if standing.difference.mean > 0.0]
    better = [standing for standing in gains if standing.p_holm < LEVEL]
    possibly_better = [standing for standing in gains if standing.difference.p < WEAK_LEVEL]
    plain = next((standing for standing in standings if standing.is_plain), None)
    enough = "plain cross-entropy" if plain is not None and plain.difference.mean >= 0.0 else "a tuned threshold"
    no = f"No: {enough} is enough. Cross-entropy with a tuned threshold reaches {baseline:.4f}"

    def scores(best: Standing) -> str:
        return f"{best.name} reaches {best.mean:.4f} and cross-entropy with a tuned threshold {baseline:.4f}"

    if better:
        best = next((standing for standing in better if standing.is_choice), max(better, key=lambda standing: standing.mean))
        return Verdict("yes", f"Yes: training for {metric} helps here; {scores(best)}, a difference of {_difference(best)}.")
    if possibly_better:
        best = min(possibly_better, key=lambda standing: standing.difference.p)
        difference = f"but the difference of {_difference(best)} may be chance"
        return Verdict("perhaps", f"Perhaps: {scores(best)}, {difference}. Run more repeats to decide, or use {enough}.")
    if not trained:
        return Verdict("no", f"{no}, and the automatic choice mostly did not train for {metric}.")
    best = max(trained, key=lambda standing: standing.mean)
    if not gains:
        return Verdict("no", f"{no}; no method trained for {metric} is better (best: {best.name}, {best.mean:.4f}).")
    return Verdict("no", f"{no}; the best method trained for {metric}, {best.name}, differs by {_difference(best)}.")


def _difference(standing: Standing) -> str:
    difference = standing.difference
    p, p_holm = (f"{p:.2g}" if p >= 0.001 else "< 0.001" for p in (difference.p, standing.p_holm))
    interval = f"95 % interval {difference.low:+.4f} to {difference.high:+.4f}"
    return f"{difference.mean:+.4f} ({interval}, p {p}, after Holm {p_holm})"
