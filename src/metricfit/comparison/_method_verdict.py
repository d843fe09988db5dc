"""Whether training a linear model for the metric beats a tuned threshold: yes, perhaps or no, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metricfit.comparison._contenders import LINEAR
from metricfit.comparison._statistics import Estimate
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison, Result

WEAK_LEVEL = 0.1  # p before Holm for "perhaps"


def method_verdict(comparison: Comparison) -> tuple[str, str]:
    """The answer, and the sentences for it. A method that beats the threshold is preferred if it is the automatic choice."""
    metric, baseline = comparison.metric, comparison.reference.estimate.mean
    linear = [one for one in comparison.models if one.contender.model == LINEAR and one.method.name != BASELINE]
    trained = [one for one in linear if one.trained_for_metric]
    gains = [one for one in trained if one.difference.mean > 0.0]
    better = [one for one in gains if one.difference.low > 0.0 and not one.difference.is_constant]
    possibly_better = [one for one in gains if one.difference.p < WEAK_LEVEL]
    plain = next((one for one in linear if one.method.name == CROSS_ENTROPY and one.difference.mean >= 0.0), None)
    enough = f"a tuned threshold, {baseline:.4f}" if plain is None else f"plain cross-entropy, {plain.estimate.mean:.4f}"

    def scores(best: Result) -> str:
        return f"{_begin(best.method.title)} reaches {best.estimate.mean:.4f} and a tuned threshold {baseline:.4f}"

    if better:
        best = next((one for one in better if isinstance(one.method, Choice)), _highest(better))
        gain = difference_in_words(best.difference, best.p_holm, comparison)
        also = "" if plain is None else f" Plain cross-entropy has {plain.estimate.mean:.4f}."
        return "yes", f"Linear model: yes, training for {metric} helps. {scores(best)}: {gain}.{also}"
    if possibly_better:
        best = min(possibly_better, key=lambda one: one.difference.p)
        gain = difference_in_words(best.difference, best.p_holm, comparison)
        more = "Judge them on more rows" if comparison.is_test_set else "Run more repeats"
        words = f"{scores(best)}, but that may be chance: {gain}. {more} to decide; until then use {enough}."
        return "perhaps", f"Linear model: perhaps. {words}"
    if plain is None:
        no = f"Linear model: a tuned threshold is enough: it reaches {baseline:.4f}."
    else:
        threshold = f"A tuned threshold has {baseline:.4f}{' too' if plain.estimate.mean == baseline else ''}."
        no = f"Linear model: plain cross-entropy is enough: it reaches {plain.estimate.mean:.4f}. {threshold}"
    if not trained:
        choice = any(isinstance(one.method, Choice) for one in linear)
        reason = "The automatic choice mostly did not train" if choice else "No method was compared that trains"
        return "no", f"{no} {reason} for {metric}."
    best = _highest(trained)
    if not gains:
        behind = f"No method trained for {metric} is ahead of that; the best of them, {best.method.title}, has"
        return "no", f"{no} {behind} {best.estimate.mean:.4f}."
    gain = difference_in_words(best.difference, best.p_holm, comparison)
    ahead = f"{_begin(best.method.title)}, trained for {metric}, is ahead of the tuned threshold with {best.estimate.mean:.4f}"
    return "no", f"{no} {ahead}, but not beyond chance: {gain}."


def difference_in_words(difference: Estimate, p_holm: float, comparison: Comparison) -> str:
    """A difference with its interval and its p-value, which agree."""
    if difference.is_constant:
        return interval_in_words(difference, comparison)
    p = f"{p_holm:.2g}" if p_holm >= 0.001 else "< 0.001"
    after = "" if p_holm == difference.p else " after Holm"
    return f"{interval_in_words(difference, comparison)[:-1]}, p {p}{after})"


def interval_in_words(difference: Estimate, comparison: Comparison) -> str:
    if difference.is_constant:
        return f"{difference.mean:+.4f} ({'on all resampled rows' if comparison.is_test_set else 'the same on every split'})"
    return f"{difference.mean:+.4f} (95 % interval {difference.low:+.4f} to {difference.high:+.4f})"


def _highest(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.estimate.mean)


def _begin(name: str) -> str:
    """The name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]
