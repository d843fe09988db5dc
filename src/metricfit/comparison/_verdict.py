"""The verdict of a comparison: the best model, the simplest as good, and yes, perhaps or no to training for the metric."""

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
class Place:
    """A contender: its mean, its differences to the reference and to the best, and the seconds of a fit."""

    name: str
    mean: float
    difference: Estimate
    behind_best: Estimate
    p_behind: float  # after Holm
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """Two answers: which model, and whether training the linear model for the metric helps.

    ``answer`` is "yes" if a method trained for the metric is significantly better than a tuned threshold, "perhaps" on weak
    evidence, or "no". ``simplest`` is the first contender, from simple to complex, that cannot be told from the best.
    """

    answer: str
    best: str
    simplest: str
    about_model: str
    about_method: str

    @property
    def sentence(self) -> str:
        return f"{self.about_model}\n{self.about_method}"


def model_verdict(places: Sequence[Place], reference: str) -> tuple[str, str, str]:
    """The best contender, the simplest that cannot be told from it, and both in words; ``places`` go from simple to complex.

    >>> none = Estimate(0.0, 0.0, 0.0, 1.0)
    >>> linear = Place("linear", 0.6, none, Estimate(-0.1, -0.15, -0.05, 0.001), 0.002, 1.0)
    >>> trees = Place("boosting", 0.7, Estimate(0.1, 0.05, 0.15, 0.001), none, 1.0, 4.0)
    >>> print(model_verdict([linear, trees], "linear")[2])
    Best: boosting, 0.7000, with 4.0 s per fit. That is +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001) against linear, at
    4.0 times its time. Nothing simpler comes close enough to be taken for it.
    """
    best = max(places, key=lambda place: place.mean)
    base = next(place for place in places if place.name == reference)
    simplest = next(place for place in places if place is best or _is_as_good(place))
    words = f"Best: {best.name}, {best.mean:.4f}, with {best.seconds:.1f} s per fit."
    ratio = best.seconds / max(base.seconds, 1e-9)
    if best is not base and best.mean == base.mean:
        words += f" That equals {reference}."
    elif best is not base:
        time = f"at {ratio:.1f} times its time" if ratio >= 1.05 else "in no more time"
        words += f" That is {_estimate(best.difference)} against {reference}, {time}."
    if simplest is best:
        nothing = "Nothing simpler comes close enough to be taken for it." if best is not places[0] else ""
        return best.name, best.name, f"{words} {nothing}".strip()
    words += (
        f" The simplest that cannot be told from it: {simplest.name}, {simplest.mean:.4f}, with {simplest.seconds:.1f} s per "
        f"fit; the difference to the best is {simplest.behind_best.mean:+.4f} (p {_p(simplest.p_behind)} after Holm)."
    )
    if simplest is places[0]:
        words += " So few scores say little: run more repeats."
    return best.name, simplest.name, words


def _is_as_good(place: Place) -> bool:
    """Whether the contender cannot be told from the best; the same loss on every split has no p-value and is a loss."""
    behind = place.behind_best
    return place.p_behind >= LEVEL and not behind.low == behind.high < 0.0


def method_verdict(metric: str, standings: Sequence[Standing], baseline: float) -> tuple[str, str]:
    """Whether training a linear model for the metric beats a tuned threshold: yes, perhaps or no, and in words.

    >>> standing = Standing("EXACT", True, 0.7, Estimate(0.1, 0.05, 0.15, 0.001), 0.002)
    >>> print(method_verdict("f1", [standing], 0.6)[1])
    Linear model: yes, training for f1 helps; EXACT reaches 0.7000 and a tuned threshold 0.6000, a difference of
    +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001; 0.002 after Holm).
    """
    trained = [standing for standing in standings if standing.for_metric]
    gains = [standing for standing in trained if standing.difference.mean > 0.0]
    better = [standing for standing in gains if standing.p_holm < LEVEL]
    possibly_better = [standing for standing in gains if standing.difference.p < WEAK_LEVEL]
    plain = next((standing for standing in standings if standing.is_plain), None)
    enough = "plain cross-entropy" if plain is not None and plain.difference.mean >= 0.0 else "a tuned threshold"
    no = f"Linear model: {enough} is enough. A tuned threshold reaches {baseline:.4f}"

    def scores(best: Standing) -> str:
        return f"{best.name} reaches {best.mean:.4f} and a tuned threshold {baseline:.4f}"

    if better:
        best = next((standing for standing in better if standing.is_choice), max(better, key=lambda standing: standing.mean))
        words = f"yes, training for {metric} helps; {scores(best)}, a difference of {_difference(best)}"
        return "yes", f"Linear model: {words}."
    if possibly_better:
        best = min(possibly_better, key=lambda standing: standing.difference.p)
        chance = f"but the difference of {_difference(best)} may be chance"
        return "perhaps", f"Linear model: perhaps; {scores(best)}, {chance}. Run more repeats to decide, or use {enough}."
    if not trained:
        choice = any(standing.is_choice for standing in standings)
        reason = "and the automatic choice mostly did not train" if choice else "and no method was compared that trains"
        return "no", f"{no}, {reason} for {metric}."
    best = max(trained, key=lambda standing: standing.mean)
    if not gains:
        return "no", f"{no}; no method trained for {metric} is better (best: {best.name}, {best.mean:.4f})."
    return "no", f"{no}; the best method trained for {metric}, {best.name}, differs by {_difference(best)}."


def _difference(standing: Standing) -> str:
    return f"{_estimate(standing.difference)[:-1]}; {_p(standing.p_holm)} after Holm)"


def _estimate(difference: Estimate) -> str:
    interval = f"95 % interval {difference.low:+.4f} to {difference.high:+.4f}"
    return f"{difference.mean:+.4f} ({interval}, p {_p(difference.p)})"


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"
