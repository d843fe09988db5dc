"""The verdict in one large sentence, and in one more."""

from __future__ import annotations

from dataclasses import dataclass

from metricfit.comparison import Comparison
from metricfit.comparison._contenders import TRIVIAL
from metricfit.report._shown import evidence
from metricfit.report._words import contender_in_words, p_value, score


@dataclass(frozen=True)
class Headline:
    """``tone`` is "clear" where one contender is the best, "enough" where a simpler one is as good, or "open"."""

    tone: str
    words: str
    lead: str


def headline(comparison: Comparison) -> Headline:
    """What to use, and why. The full verdict with its numbers stands below it on the page."""
    verdict, metric = comparison.verdict, comparison.metric
    best, simplest, reference = comparison.results[verdict.best], comparison.results[verdict.simplest], comparison.reference
    best_words, n_compared = contender_in_words(best.contender), len(comparison.results)
    best_score, reference_score = score(best.estimate.mean), score(reference.estimate.mean)
    against = f", against {reference_score} of {contender_in_words(reference.contender)}" if best is not reference else ""
    scores = f"{best_score}{against}"
    others = [result for result in comparison.results.values() if result is not reference]
    if verdict.answer == "none" or all(evidence(result.difference, result.p_holm) == "unknown" for result in others):
        more = "Intervals and p-values need at least five scores: run more folds or repeats."
        lead = f"Best so far for {metric}: {best_words}, {best_score}. {more}"
        return Headline("open", "Too few scores for a verdict.", lead)
    if best.contender.model == TRIVIAL:
        words = f"No model is better than a constant answer, {comparison.constant_title}."
        return Headline("open", words, f"That gives {metric} {scores}.")
    if simplest.contender.model == TRIVIAL:
        why = f"The best, {best_words}, has {metric} {scores}. The difference to a constant answer may be chance."
        return Headline("open", f"No model is measurably better than a constant answer, {comparison.constant_title}.", why)
    if simplest is best:
        lead = f"Best of {n_compared} for {metric}: {scores}. Nothing simpler comes close."
        if evidence(best.difference, best.p_holm) == "chance" and best is not reference:
            lead += " The difference to the reference may be chance."
        return Headline("clear", f"Use {best_words}.", lead)
    p, words = p_value(simplest.p_behind), contender_in_words(simplest.contender)
    if evidence(best.difference, best.p_holm) == "better":
        also = f"{words[0].upper()}{words[1:]}, {score(simplest.estimate.mean)}, may be as good (p {p} after Holm)."
        return Headline("clear", f"Use {best_words}.", f"Best of {n_compared} for {metric}: {scores}, beyond chance. {also}")
    lead = (
        f"The best of {n_compared} reaches {metric} {best_score}, the simpler one {score(simplest.estimate.mean)}; the "
        f"difference may be chance (p {p} after Holm)."
    )
    return Headline("enough", f"{best_words[0].upper()}{best_words[1:]} is ahead, but {words} may be as good.", lead)
