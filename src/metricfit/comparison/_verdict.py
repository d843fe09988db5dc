"""The verdict of a comparison: the best model, the simplest as good, and yes, perhaps or no to training for the metric.

Every number in a sentence belongs to what the sentence names. A row that is ahead is called ahead; it "beats" another one only
if p is below ``LEVEL`` after Holm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._bootstrap import FEWEST_TEST_ROWS
from metricfit.comparison._statistics import FEWEST_SCORES, Estimate
from metricfit.comparison._words import number_word

LEVEL = 0.05  # p after Holm for "yes"
WEAK_LEVEL = 0.1  # p before Holm for "perhaps"
NONE = "none"  # the answer of too few scores


@dataclass(frozen=True)
class Standing:
    """A method of the linear model, compared with the baseline."""

    name: str
    for_metric: bool
    mean: float
    difference: Estimate
    p_holm: float
    is_choice: bool = False  # the automatic choice, which ``fit`` uses, is preferred in the verdict
    is_plain: bool = False  # cross-entropy without a tuned threshold


@dataclass(frozen=True)
class Place:
    """A contender: its mean, the seconds of a fit, and its differences with their p-values after Holm."""

    name: str
    mean: float
    seconds: float
    difference: Estimate  # to the reference
    p_holm: float
    behind_best: Estimate
    p_behind: float
    above_constant: Estimate
    p_above: float
    is_constant: bool = False  # the constant answer


@dataclass(frozen=True)
class Verdict:
    """Two answers: which model, and whether training the linear model for the metric helps.

    ``answer`` is "yes" if a method trained for the metric is significantly better than a tuned threshold, "perhaps" on weak
    evidence, or "no", also if nothing beats a constant answer; it is "none" if there are too few scores for a verdict.
    ``simplest`` is the first contender, from simple to complex, that is not significantly worse than the best. It is the
    constant answer only if nothing beats that. ``about_method`` can be empty.
    """

    answer: str
    best: str
    simplest: str
    about_model: str
    about_method: str

    @property
    def sentence(self) -> str:
        return "\n".join(filter(None, [self.about_model, self.about_method]))


def too_few_scores(n_scores: int, places: Sequence[Place], reference: str) -> Verdict:
    """No verdict, but the means."""
    few = f"{number_word(n_scores).capitalize()} score{'s are' if n_scores > 1 else ' is'} too few for a verdict"
    advice = f"Run at least {number_word(FEWEST_SCORES)} folds (n_splits={FEWEST_SCORES}, --folds {FEWEST_SCORES})."
    return _no_verdict(f"{few}. {advice}", places, reference)


def too_few_rows(n_rows: int, places: Sequence[Place], reference: str) -> Verdict:
    """No verdict on a small test set, but the means."""
    few = f"A test set of {n_rows} row{'s' if n_rows > 1 else ''} is too small for a verdict."
    return _no_verdict(f"{few} Use at least {FEWEST_TEST_ROWS} rows, or cross-validation.", places, reference)


def _no_verdict(why: str, places: Sequence[Place], reference: str) -> Verdict:
    best = _best(places)
    base = next(place for place in places if place.name == reference)
    words = f"{why} Highest so far: {best.name}, {best.mean:.4f}."
    if best is not base:
        words += f" The reference {reference} has {base.mean:.4f}."
    return Verdict(NONE, best.name, best.name, words, "")


def nothing_beats_constant(places: Sequence[Place], answer: str) -> Verdict | None:
    """The verdict if no model is better than a constant answer beyond chance, or else None; ``answer`` says it in words."""
    constant = next((place for place in places if place.is_constant), None)
    models = [place for place in places if not place.is_constant]
    if constant is None or any(_beats(place.above_constant, place.p_above) for place in models):
        return None
    best, words = _best(places), f"Nothing here beats {answer} ({constant.mean:.4f})"
    if best.mean > constant.mean:
        ahead = f"{best.name} is ahead with {best.mean:.4f}, {_difference(best.above_constant, best.p_above)}"
        words += f" beyond chance. {ahead}"
    return Verdict("no", best.name, constant.name, f"{words}.", "")


def model_verdict(places: Sequence[Place], reference: str) -> tuple[str, str, str]:
    """The best contender, the simplest that is not significantly worse, and both in words; from simple to complex.

    The reference is not called as good if anything beats it, also if the best does not.

    >>> none = Estimate(0.0, 0.0, 0.0, 1.0)
    >>> linear = Place("linear", 0.6, 1.0, none, 1.0, Estimate(-0.1, -0.15, -0.05, 0.001), 0.002, none, 1.0)
    >>> trees = Place("boosting", 0.7, 4.0, Estimate(0.1, 0.05, 0.15, 0.001), 0.002, none, 1.0, none, 1.0)
    >>> print(model_verdict([linear, trees], "linear")[2])
    Best: boosting, 0.7000 (4.0 s per fit). It beats linear, 0.6000, by +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001;
    0.002 after Holm), at 4.0 times its time. Everything simpler is significantly worse.
    """
    models = [place for place in places if not place.is_constant]
    best = _best(models)
    base = next(place for place in models if place.name == reference)
    words = f"Best: {best.name}, {best.mean:.4f} ({best.seconds:.1f} s per fit)."
    if best is not base:
        words += _against_reference(best, base)
    beaten = any(_beats(place.difference, place.p_holm) for place in models)  # the reference
    as_good = [
        place for place in models if not _is_worse(place.behind_best, place.p_behind) and not (place is base and beaten)
    ]
    simplest = (as_good or [best])[0]
    if simplest is not best:
        gap = f"the difference to the best is {simplest.behind_best.mean:+.4f}, p {_p(simplest.p_behind)} after Holm"
        about = f"{simplest.name}, {simplest.mean:.4f} ({simplest.seconds:.1f} s per fit; {gap})"
        words += f" The simplest that is not significantly worse: {about}."
    elif best is not models[0]:
        words += " Everything simpler is significantly worse."
    return best.name, simplest.name, words


def _against_reference(best: Place, base: Place) -> str:
    if best.mean == base.mean:
        return f" {base.name} has the same mean."
    ratio = best.seconds / max(base.seconds, 1e-9)
    time = f"at {ratio:.1f} times its time" if ratio >= 1.05 else "in no more time"
    gain = _difference(best.difference, best.p_holm)
    if _beats(best.difference, best.p_holm):
        return f" It beats {base.name}, {base.mean:.4f}, by {gain}, {time}."
    return f" It is ahead of {base.name}, {base.mean:.4f}, but not beyond chance: {gain}, {time}."


def method_verdict(metric: str, standings: Sequence[Standing], baseline: float) -> tuple[str, str]:
    """Whether training a linear model for the metric beats a tuned threshold: yes, perhaps or no, and in words.

    >>> standing = Standing("EXACT", True, 0.7, Estimate(0.1, 0.05, 0.15, 0.001), 0.002)
    >>> print(method_verdict("f1", [standing], 0.6)[1])
    Linear model: yes, training for f1 helps. EXACT reaches 0.7000 and a tuned threshold 0.6000:
    +0.1000 (95 % interval +0.0500 to +0.1500, p 0.001; 0.002 after Holm).
    """
    trained = [standing for standing in standings if standing.for_metric]
    gains = [standing for standing in trained if standing.difference.mean > 0.0]
    better = [standing for standing in gains if standing.p_holm < LEVEL]
    possibly_better = [standing for standing in gains if standing.difference.p < WEAK_LEVEL]
    plain = next((standing for standing in standings if standing.is_plain and standing.difference.mean >= 0.0), None)
    enough = f"a tuned threshold, {baseline:.4f}" if plain is None else f"plain cross-entropy, {plain.mean:.4f}"

    def scores(best: Standing) -> str:
        return f"{_begin(best.name)} reaches {best.mean:.4f} and a tuned threshold {baseline:.4f}"

    if better:
        best = next((standing for standing in better if standing.is_choice), max(better, key=lambda standing: standing.mean))
        gain = _difference(best.difference, best.p_holm)
        also = "" if plain is None else f" Plain cross-entropy has {plain.mean:.4f}."
        return "yes", f"Linear model: yes, training for {metric} helps. {scores(best)}: {gain}.{also}"
    if possibly_better:
        best = min(possibly_better, key=lambda standing: standing.difference.p)
        gain = _difference(best.difference, best.p_holm)
        words = f"{scores(best)}, but that may be chance: {gain}. Run more repeats to decide; until then use {enough}."
        return "perhaps", f"Linear model: perhaps. {words}"
    if plain is None:
        no = f"Linear model: a tuned threshold is enough: it reaches {baseline:.4f}."
    else:
        threshold = f"A tuned threshold has {baseline:.4f}{' too' if plain.mean == baseline else ''}."
        no = f"Linear model: plain cross-entropy is enough: it reaches {plain.mean:.4f}. {threshold}"
    if not trained:
        choice = any(standing.is_choice for standing in standings)
        reason = "The automatic choice mostly did not train" if choice else "No method was compared that trains"
        return "no", f"{no} {reason} for {metric}."
    best = max(trained, key=lambda standing: standing.mean)
    if not gains:
        behind = f"No method trained for {metric} is ahead of that; the best of them, {best.name}, has {best.mean:.4f}."
        return "no", f"{no} {behind}"
    gain = _difference(best.difference, best.p_holm)
    ahead = f"{_begin(best.name)}, trained for {metric}, is ahead of the tuned threshold with {best.mean:.4f}"
    return "no", f"{no} {ahead}, but not beyond chance: {gain}."


def _best(places: Sequence[Place]) -> Place:
    """The one with the highest mean; of equals the simplest."""
    return max(places, key=lambda place: place.mean)


def _begin(name: str) -> str:
    """The name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def _beats(difference: Estimate, p: float) -> bool:
    """Whether a difference is positive beyond chance; the same gain on every split has no p-value and is a gain."""
    return difference.mean > 0.0 and (p < LEVEL or difference.is_constant)


def _is_worse(difference: Estimate, p: float) -> bool:
    return difference.mean < 0.0 and (p < LEVEL or difference.is_constant)


def _difference(difference: Estimate, p_holm: float) -> str:
    if difference.is_constant:
        return f"{difference.mean:+.4f} (the same on every split)"
    interval = f"95 % interval {difference.low:+.4f} to {difference.high:+.4f}"
    adjusted = "" if p_holm == difference.p else f"; {_p(p_holm)} after Holm"
    return f"{difference.mean:+.4f} ({interval}, p {_p(difference.p)}{adjusted})"


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"
