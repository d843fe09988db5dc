"""Whether training a linear model for the metric beats a tuned threshold: yes, perhaps or no, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metricfit.comparison._contenders import LINEAR
from metricfit.comparison._statistics import BETTER, Estimate
from metricfit.comparison._words import metric_title, score_text
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice
from metricfit.metrics import Cost

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison, Result

WEAK_LEVEL = 0.1  # p before Holm for "perhaps"


def method_verdict(comparison: Comparison) -> tuple[str, str]:
    """The answer, and the sentences for it. A method that beats the threshold is preferred if it is the automatic choice."""
    metric, measure = metric_title(comparison.metric, comparison.measure), comparison.measure
    baseline = score_text(measure, comparison.reference.estimate.mean)
    linear = [one for one in comparison.models if one.contender.model == LINEAR and one.method.name != BASELINE]
    trained = [one for one in linear if one.trained_for_metric]
    gains = [one for one in trained if one.difference.mean > 0.0]
    better = [one for one in gains if one.difference.evidence == BETTER and not one.difference.is_constant]
    possibly_better = [one for one in gains if one.difference.p < WEAK_LEVEL]
    plain = next((one for one in linear if one.method.name == CROSS_ENTROPY and one.difference.mean >= 0.0), None)
    enough = (
        f"a tuned threshold, {baseline}"
        if plain is None
        else f"plain cross-entropy, {score_text(measure, plain.estimate.mean)}"
    )

    def scores(best: Result) -> str:
        return (
            f"{_begin(best.method.title)} reaches {score_text(measure, best.estimate.mean)} and a tuned threshold {baseline}"
        )

    if better:
        best = next((one for one in better if isinstance(one.method, Choice)), _highest(better))
        gain = difference_in_words(best.difference, best.p_holm, comparison)
        also = "" if plain is None else f" Plain cross-entropy has {score_text(measure, plain.estimate.mean)}."
        return "yes", f"Linear model: yes, training for {metric} helps. {scores(best)}: {gain}.{also}"
    if possibly_better:
        best = min(possibly_better, key=lambda one: one.difference.p)
        gain = difference_in_words(best.difference, best.p_holm, comparison)
        more = "Judge them on more rows" if comparison.is_test_set else "Run more repeats"
        words = f"{scores(best)}, but that may be chance: {gain}. {more} to decide; until then use {enough}."
        return "perhaps", f"Linear model: perhaps. {words}"
    if plain is None:
        no = f"Linear model: a tuned threshold is enough: it reaches {baseline}."
    else:
        threshold = f"A tuned threshold has {baseline}{' too' if plain.difference.mean == 0.0 else ''}."
        no = f"Linear model: plain cross-entropy is enough: it reaches {score_text(measure, plain.estimate.mean)}. {threshold}"
    if not trained:
        choice = any(isinstance(one.method, Choice) for one in linear)
        reason = "The automatic choice mostly did not train" if choice else "No method was compared that trains"
        return "no", f"{no} {reason} for {metric}."
    best = _highest(trained)
    if not gains:
        behind = f"No method trained for {metric} is ahead of that; the best of them, {best.method.title}, has"
        return "no", f"{no} {behind} {score_text(measure, best.estimate.mean)}."
    gain = difference_in_words(best.difference, best.p_holm, comparison)
    ahead = f"{_begin(best.method.title)}, trained for {metric}, is ahead of the tuned threshold with"
    return "no", f"{no} {ahead} {score_text(measure, best.estimate.mean)}, but not beyond chance: {gain}."


def difference_in_words(difference: Estimate, p_holm: float, comparison: Comparison) -> str:
    """A difference with its interval and its p-value, which agree."""
    if difference.is_constant:
        return interval_in_words(difference, comparison)
    p = f"{p_holm:.2g}" if p_holm >= 0.001 else "< 0.001"
    after = "" if p_holm == difference.p else " after Holm"
    return f"{interval_in_words(difference, comparison)[:-1]}, p {p}{after})"


def interval_in_words(difference: Estimate, comparison: Comparison) -> str:
    """A difference with its interval; of costs it is a saving, since positive is better."""
    is_cost = isinstance(comparison.measure, Cost)
    mean = f"a saving of {difference.mean:+.4f} per case" if is_cost else f"{difference.mean:+.4f}"
    if difference.is_constant:
        return f"{mean} ({'on all resampled rows' if comparison.is_test_set else 'the same on every split'})"
    return f"{mean} (95 % interval {difference.low:+.4f} to {difference.high:+.4f})"


def _highest(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.estimate.mean)


def _begin(name: str) -> str:
    """The name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]
