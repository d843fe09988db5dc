"""The verdict of a comparison: which contender to use, and yes, perhaps or no to training a linear model for the metric.

Every number in a sentence belongs to what the sentence names. An interval that excludes zero shows a difference, and so does
its p-value after Holm, because both agree. A simpler contender is recommended only if it is *shown* to be close to the best:
if the whole interval of its difference is above minus the margin. A lack of evidence is called that.

Warnings are about scores that hardly need the columns. The contenders that people look at are checked, the choice and the
reference, by the held-out rows of the first repeat, as in the report's confusion matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from metricfit._typing import Floats
from metricfit.comparison._contenders import LINEAR, fit_options
from metricfit.comparison._statistics import (
    BETTER,
    FEWEST_SCORES,
    FEWEST_TEST_ROWS,
    WORSE,
    Difference,
    bounds_of,
    constant_scores,
)
from metricfit.comparison._words import join_labels, number_word, p_in_words, plural, quote
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice
from metricfit.metrics import BalancedAccuracy, CohenKappa, Cost, FBeta, MatthewsCorrelation, Metric, Precision, Recall

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison, Result

CLOSE, UNCLEAR = "close", "unclear"
WEAK_LEVEL = 0.1  # p before Holm for "perhaps"
FEW_CALLS = 0.1  # calls of the positive class for each row of it: fewer are too few, whatever their precision
RARE_CALLS = 0.01  # share of all rows that is called positive: no more are too few ...
HALF_OF_POSITIVES = 0.5  # ... unless the class is as rare: where there are calls for half of its rows
FALSE_ALARMS = 0.9  # share of the negative rows that is called positive: then recall says nothing
NEAR_USELESS = 0.1  # of a score that is 0 for guessing and 1 for the truth
NEAR_USELESS_BALANCED = 0.05  # of balanced accuracy above 1/k


@dataclass(frozen=True)
class Verdict:
    """Which contender to use, and whether training the linear model for the metric helps.

    ``status`` is "clear" if the recommended contender is shown to be better than everything simpler, or close to the best;
    "unclear" if there is not enough data to tell; "constant" if no model is shown to beat a constant answer; "none" without a
    verdict. ``recommended`` is the simplest contender that is shown to be close to the best, or else the best; the constant
    answer with the status "constant"; None without a verdict. ``headline`` is one sentence without p-values.

    ``answer`` is about the linear model: "yes" if a method trained for the metric is shown to be better than a tuned
    threshold, "perhaps" on weak evidence, "no", or "none" without a verdict. ``about_method`` can be empty.
    """

    status: str
    answer: str
    best: str
    recommended: str | None
    headline: str
    about_model: str
    about_method: str = ""

    @property
    def sentence(self) -> str:
        return "\n".join(filter(None, [self.about_model, self.about_method]))


def find_verdict(comparison: Comparison) -> Verdict:
    """The verdict on all contenders, or on the subject of the comparison."""
    if not comparison.reference.estimate.known:
        return too_few(comparison)
    if is_maximised_by_constant(comparison):
        return _useless_metric(comparison)
    if comparison.subject is not None:
        return _subject_verdict(comparison, comparison.results[comparison.subject])
    if not any(map(beats_constant, comparison.models)):
        return _nothing_beats_constant(comparison)
    return _model_verdict(comparison)


def closeness(difference: Difference, margin: float) -> str:
    """What is known of a contender's difference from the best.

    >>> closeness(Difference(-0.002, -0.008, 0.004, 0.5), 0.01), closeness(Difference(-0.05, -0.08, -0.02, 0.001), 0.01)
    ('close', 'worse')
    >>> closeness(Difference(-0.03, -0.08, 0.02, 0.2), 0.01)
    'unclear'
    """
    return CLOSE if difference.low >= -margin else WORSE if difference.evidence == WORSE else UNCLEAR


def is_maximised_by_constant(comparison: Comparison) -> bool:
    """Whether the same answer for all rows has the best possible score, as for recall."""
    bounds = bounds_of(comparison.measure)
    if bounds is None:
        return False
    highest = max(constant_scores(comparison.measure, comparison.class_counts).values())
    return highest >= bounds[1] > bounds[0]


def better_metric(comparison: Comparison) -> str | None:
    """The name of a metric to use instead of recall, which is best for a constant answer; else None."""
    return "f2" if isinstance(comparison.measure, Recall) and is_maximised_by_constant(comparison) else None


def too_few(comparison: Comparison) -> Verdict:
    """The means alone: there are too few scores, or too few test rows."""
    n_scores, n_rows = len(comparison.reference.scores), len(comparison.labels)
    if comparison.is_test_set:
        few = f"A test set of {n_rows} row{'s' if n_rows > 1 else ''} is too small for a verdict"
        advice = f"Use at least {FEWEST_TEST_ROWS} rows, or cross-validation."
    else:
        few = f"{number_word(n_scores).capitalize()} score{'s are' if n_scores > 1 else ' is'} too few for a verdict"
        advice = f"Run at least {number_word(FEWEST_SCORES)} folds (n_splits={FEWEST_SCORES}, --folds {FEWEST_SCORES})."
    best, base = comparison.best, comparison.reference
    words = f"{few}. {advice} Best so far: {name_and_score(best, comparison)}."
    if comparison.subject is not None:
        fitted = f"{name_and_score(comparison.results[comparison.subject], comparison)} is the fitted model."
        words = f"{few}. {advice} {fitted} Best: {name_and_score(best, comparison)}."
    elif best is not base:
        words += f" The reference: {name_and_score(base, comparison)}."
    return Verdict("none", "none", best.contender.name, None, f"{few}.", words)


def _useless_metric(comparison: Comparison) -> Verdict:
    """No verdict by a metric that is best for a constant answer; another metric instead."""
    metric, best, highest = comparison.metric, comparison.best, comparison.measure.bounds[1]
    score = "no cost" if isinstance(comparison.measure, Cost) else f"{metric} {highest:g}"
    constant = f"A constant answer, {comparison.constant_title}, has {score}"
    advice = "Choose a metric that counts all errors."
    if isinstance(comparison.measure, Recall):
        advice = (
            "Use f2 (--metric f2), which counts precision too, or costs (--cost). In Python, a function of the confusion "
            "matrix can set a limit on precision."
        )
    words = f"{constant}, the best possible value: {metric} alone cannot choose a model. {advice}"
    return Verdict("none", "none", best.contender.name, None, f"{constant}: use another metric.", words)


def _nothing_beats_constant(comparison: Comparison) -> Verdict:
    """No model is shown to be better than a constant answer."""
    best, answer = highest_of(comparison.models), constant_and_score(comparison)
    words, gain = f"No model is shown to beat {answer}.", difference_in_words(best.above_constant, comparison)
    if max(result.above_constant.high for result in comparison.models) <= comparison.margin:
        words = f"No model beats {answer} by more than {comparison.margin:.2g}."
        words += f" The best of them is {name_and_score(best, comparison)}: {gain}."
    elif best.above_constant.mean > 0.0:
        words += f" {name_and_score(best, comparison)} is ahead, but that may be chance: {gain}."
    else:
        words += f" The best of them, {name_and_score(best, comparison)}, is behind: {gain}."
    headline = f"No model is shown to beat a constant answer, {comparison.constant_title}."
    return Verdict("constant", "no", comparison.best.contender.name, comparison.constant_name, headline, words)


def _model_verdict(comparison: Comparison) -> Verdict:
    """The best contender, the simplest that is close to it, and both in words. A recommended one beats a constant answer."""
    models, best, base = comparison.models, highest_of(comparison.models), comparison.reference
    simpler = list(takewhile(lambda one: one is not best, models))
    kinds = [closeness(one.behind_best, comparison.margin) for one in simpler]
    close, unclear = ([one for one, kind in zip(simpler, kinds, strict=True) if kind == known] for known in (CLOSE, UNCLEAR))
    close = list(filter(beats_constant, close))
    words, use = f"Best: {name_and_score(best, comparison)}, {best.seconds:.1f} s per fit.", f"Use {best.contender.in_words}"
    if best is not base:
        words += _against_reference(best, base, comparison)
    words += _choice_in_words(best)
    if close:
        recommended, within = close[0], f"{comparison.margin:.2g}"
        difference = interval_in_words(recommended.behind_best, comparison)
        about = f"{name_and_score(recommended, comparison)}, {recommended.seconds:.1f} s per fit"
        words += f" Recommended: {about}. It is simpler, and it is shown to be within {within} of the best: {difference}."
        headline = f"Use {recommended.contender.in_words}: it is simple and within {within} of the best."
    elif not beats_constant(best):
        recommended, unclear = highest_of(list(filter(beats_constant, models))), [best]
        gain = interval_in_words(recommended.above_constant, comparison)
        words += f" It is not shown to beat {comparison.constant_in_words}."
        words += f" {name_and_score(recommended, comparison)} is: {gain}."
        headline = f"Use {recommended.contender.in_words}, although something else may be better."
    elif unclear:
        recommended, words = best, words + _not_enough_data(unclear, comparison)
        headline = f"{use}, although something simpler may be just as good."
    else:
        recommended, words = best, words + (" Everything simpler is shown to be worse." if simpler else "")
        headline = f"{use}{': everything simpler is shown to be worse' if simpler else ''}."
    status = "unclear" if unclear and not close else "clear"
    answer, about_method = _method_verdict(comparison)
    return Verdict(status, answer, best.contender.name, recommended.contender.name, headline, words, about_method)


def _not_enough_data(unclear: Sequence[Result], comparison: Comparison) -> str:
    """Of the simpler contenders that may or may not be as good, the one with the highest score."""
    one = highest_of(unclear)
    others = [other for other in unclear if other is not one]
    difference = f"the difference is {interval_in_words(one.behind_best, comparison)}"
    words = f" There is not enough data to tell whether {name_and_score(one, comparison)} is as good: {difference}."
    if not others:
        return words
    more = others[0].contender.name if len(others) == 1 else f"{number_word(len(others))} other contenders"
    return f"{words} The same holds for {more}."


def _choice_in_words(best: Result) -> str:
    """Name the method that an automatic choice took."""
    if not isinstance(best.method, Choice) or not best.chosen:
        return ""
    name, n_splits = max(best.chosen, key=lambda one: best.chosen[one]), sum(best.chosen.values())
    return f" On {best.chosen[name]} of {plural(n_splits, 'split')} it chose {name}."


def _against_reference(best: Result, base: Result, comparison: Comparison) -> str:
    named = name_and_score(base, comparison)
    if best.estimate.mean == base.estimate.mean:
        return f" {base.contender.name} has the same mean."
    ratio = best.seconds / max(base.seconds, 1e-9)
    time = f"A fit takes {ratio:.1f} times as long." if ratio >= 1.05 else "A fit takes no longer."
    gain = difference_in_words(best.difference, comparison)
    if best.difference.evidence == BETTER:
        return f" It beats {named}: {gain}. {time}"
    return f" It is ahead of {named}, but that may be chance: {gain}. {time}"


def _subject_verdict(comparison: Comparison, subject: Result) -> Verdict:
    """The score of one contender, which is fitted, and whether another one is shown to be better."""
    score = subject.estimate
    named = f"{capital(subject.contender.in_words)}: {comparison.metric_words.sentence(score.mean)}"
    shown = comparison.metric_words.shown_estimate(score)
    interval = f"95 % interval {shown.low:.4f} to {shown.high:.4f}"
    named_score = f"{subject.contender.name} scores {comparison.metric_words.text(score.mean)} ({interval})"
    words = f"{named_score} on rows that neither the model nor its tuning saw."
    others = [one for one in comparison.models if one is not subject]
    better = [one for one in others if one.above_subject.evidence == BETTER]
    ahead = [one for one in others if one.above_subject.mean > 0.0]
    recommended, status, headline = subject, "clear", f"{named}. No other contender is shown to be better."
    if better:
        recommended = highest_of(better)
        gain = difference_in_words(recommended.above_subject, comparison)
        options = fit_options(recommended.contender, comparison.measure)
        words += f" {name_and_score(recommended, comparison)} is shown to be better: {gain}. Fit it with {options}."
        headline = f"{named}, but the data show {recommended.contender.in_words} to be better."
    elif ahead:
        status, first = "unclear", highest_of(ahead)
        gain = difference_in_words(first.above_subject, comparison)
        words += f" {name_and_score(first, comparison)} is ahead, but that may be chance: {gain}."
    else:
        words += " No other contender has a better score."
    if not beats_constant(subject):
        words += not_above_constant(subject, comparison)
        answer = f"a constant answer, {comparison.constant_title}"
        status, headline = "constant", f"The data do not show {subject.contender.in_words} to beat {answer}."
    answer, about_method = _method_verdict(comparison)
    if subject.contender.model != comparison.reference.contender.model:
        about_method = ""
    return Verdict(status, answer, comparison.best.contender.name, recommended.contender.name, headline, words, about_method)


def _method_verdict(comparison: Comparison) -> tuple[str, str]:
    """The answer, and the sentences for it. A method that beats the threshold is preferred if it is the automatic choice."""
    metric = comparison.metric_words
    baseline = metric.text(comparison.reference.estimate.mean)
    linear = [one for one in comparison.models if one.contender.model == LINEAR and one.method.name != BASELINE]
    trained = [one for one in linear if one.trained_for_metric]
    gains = [one for one in trained if one.difference.mean > 0.0]
    better = [one for one in gains if one.difference.evidence == BETTER]
    possibly_better = [one for one in gains if one.difference.p < WEAK_LEVEL]
    plain = next((one for one in linear if one.method.name == CROSS_ENTROPY and one.difference.mean >= 0.0), None)
    also = "" if plain is None else f" Plain cross-entropy reaches {metric.text(plain.estimate.mean)}."

    def scores(best: Result) -> str:
        return f"{capital(best.method.title)} reaches {metric.text(best.estimate.mean)} and a tuned threshold {baseline}"

    if better:
        best = next((one for one in better if isinstance(one.method, Choice)), highest_of(better))
        gain = difference_in_words(best.difference, comparison)
        return "yes", f"Linear model: yes, training for {metric.title} helps. {scores(best)}: {gain}.{also}"
    if possibly_better:
        best = min(possibly_better, key=lambda one: one.difference.p)
        gain = difference_in_words(best.difference, comparison)
        more = "Evaluate them on more rows" if comparison.is_test_set else "Run more repeats"
        return "perhaps", f"Linear model: perhaps. {scores(best)}, but that may be chance: {gain}.{also} {more} to decide."
    no = f"Linear model: training for {metric.title} is not shown to help."
    if not trained:
        choice = any(isinstance(one.method, Choice) for one in linear)
        reason = "The automatic choice mostly did not train" if choice else "None of the compared methods trains"
        return "no", f"Linear model: a tuned threshold reaches {baseline}.{also} {reason} for {metric.title}."
    best = highest_of(trained)
    if not gains:
        reached = f"The best of them, {best.method.title}, reaches {metric.text(best.estimate.mean)}."
        return "no", f"{no} No method trained for it is ahead of a tuned threshold ({baseline}). {reached}{also}"
    gain = difference_in_words(best.difference, comparison)
    return "no", f"{no} {scores(best)}, but that may be chance: {gain}.{also}"


def difference_in_words(difference: Difference, comparison: Comparison) -> str:
    """A difference with its interval and its p-value, which agree."""
    if difference.is_constant:
        return interval_in_words(difference, comparison)
    after = "" if difference.p_holm == difference.p else " after Holm"
    return f"{interval_in_words(difference, comparison)[:-1]}, p {p_in_words(difference.p_holm)}{after})"


def interval_in_words(difference: Difference, comparison: Comparison) -> str:
    """A difference with its interval; of costs it is a saving, or else a rise, so that it is positive."""
    mean, low, high, sign = difference.mean, difference.low, difference.high, "+"
    words = f"{mean:+.4f}"
    if comparison.metric_words.is_cost:
        sign, kind = "", "saving"
        if mean < 0.0:
            kind, mean, low, high = "rise", -mean, -high, -low
        words = f"a {kind} of {mean:.4f} per case"
    if difference.is_constant:
        return f"{words} ({'on all resampled rows' if comparison.is_test_set else 'the same on every split'})"
    return f"{words} (95 % interval {low:{sign}.4f} to {high:{sign}.4f})"


def beats_constant(result: Result) -> bool:
    return result.above_constant.evidence == BETTER


def highest_of(results: Sequence[Result]) -> Result:
    """The one with the highest mean; of equals the simplest."""
    return max(results, key=lambda result: result.estimate.mean)


def name_and_score(result: Result, comparison: Comparison) -> str:
    return f"{result.contender.name} ({comparison.metric_words.text(result.estimate.mean)})"


def constant_and_score(comparison: Comparison) -> str:
    return f"{comparison.constant_in_words} ({comparison.metric_words.text(comparison.constant.estimate.mean)})"


def not_above_constant(result: Result, comparison: Comparison) -> str:
    gain = difference_in_words(result.above_constant, comparison)
    return f" It is not shown to beat {constant_and_score(comparison)}: {gain}."


def capital(words: str) -> str:
    """The words at the beginning of a sentence."""
    return words[:1].upper() + words[1:]


def list_warnings(comparison: Comparison) -> tuple[str, ...]:
    """One sentence or two for everything that may mislead; with limits the verdict says how they are kept."""
    if comparison.limits is not None:
        return ()
    shown = {result.contender.name: result for result in (comparison.choice, comparison.reference)}
    found = list[str]()
    for result in shown.values():
        found += _about(comparison, result, is_choice=result is comparison.choice)
    if comparison.verdict.status != "constant":  # else the verdict says it, and more strongly
        found += _near_useless(comparison)
    return tuple(found)


def _about(comparison: Comparison, result: Result, is_choice: bool) -> Iterator[str]:
    name, labels, matrix = result.contender.name, comparison.classes.tolist(), comparison.confusion(result)
    answered = np.flatnonzero(matrix.sum(0))
    if len(answered) == 1:
        yield f"{name} answers {quote(labels[int(answered[0])])} for every row."
        return
    never = np.flatnonzero((matrix.sum(0) == 0.0) & (matrix.sum(1) > 0.0))
    if is_choice and len(never):
        rows = plural(int(matrix.sum(1)[never].sum()), "held-out row")
        these = "this class" if len(never) == 1 else "these classes"
        yield f"{name} never answers {join_labels([labels[index] for index in never])}. There are {rows} of {these}."
    positive = comparison.positive_index
    if positive is not None:
        yield from _one_sided(name, comparison.measure, matrix, positive, quote(labels[positive]))


def _one_sided(name: str, measure: Metric, matrix: Floats, positive: int, label: str) -> Iterator[str]:
    """Precision by calling hardly any row positive, and recall by calling almost all of them positive."""
    hits, n_positive, n_called = matrix[positive, positive], matrix[positive].sum(), matrix[:, positive].sum()
    n_rows, n_negative = matrix.sum(), matrix.sum() - n_positive
    precision, recall = hits / n_called, hits / max(n_positive, 1.0)
    calls = f"{int(n_called):,} of {int(n_rows):,} rows {label}"
    few = n_called < FEW_CALLS * n_positive
    rare = n_called <= RARE_CALLS * n_rows and n_called < HALF_OF_POSITIVES * n_positive
    if _beta(measure) < 1.0 and (few or rare):
        yield f"{name} calls only {calls}. The precision of these is {precision:.2f}, but recall is {recall:.2f}."
    if _beta(measure) > 1.0 and n_called - hits >= FALSE_ALARMS * max(n_negative, 1.0):
        yield f"{name} calls {calls}. Recall is {recall:.2f}, but precision is {precision:.2f}."


def _beta(measure: Metric) -> float:
    """How much recall counts for each unit of precision."""
    if isinstance(measure, Precision | Recall):
        return 0.0 if isinstance(measure, Precision) else np.inf
    return float(measure.beta) if isinstance(measure, FBeta) and isinstance(measure.beta, float | int) else 1.0


def _near_useless(comparison: Comparison) -> Iterator[str]:
    """The best score is hardly above that of guessing, for metrics that give guessing a known value."""
    measure, best = comparison.measure, comparison.best
    if isinstance(measure, BalancedAccuracy) and not measure.adjusted:
        guess, margin = 1.0 / len(comparison.classes), NEAR_USELESS_BALANCED
    elif isinstance(measure, BalancedAccuracy | MatthewsCorrelation | CohenKappa):
        guess, margin = 0.0, NEAR_USELESS
    else:
        return
    if best.estimate.mean < guess + margin:
        scores = f"The best {comparison.metric} is {best.estimate.mean:.4f}, and guessing gives {guess:.2f}"
        yield f"{scores}: the columns hardly predict the target."
