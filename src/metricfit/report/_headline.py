"""The verdict in one large sentence, and in one more."""

from __future__ import annotations

from dataclasses import dataclass

from metricfit.comparison import Comparison
from metricfit.report._words import MetricWords, contender_in_words

TONES = {"clear": "clear", "unclear": "enough", "constant": "open", "none": "open"}


@dataclass(frozen=True)
class Headline:
    """``tone`` is "clear" where the data decide, "enough" where they do not, or "open" without a model to use."""

    tone: str
    words: str
    lead: str


def headline(comparison: Comparison) -> Headline:
    """What to use. The full verdict with its numbers stands below it on the page."""
    verdict = comparison.verdict
    return Headline(TONES[verdict.status], verdict.headline, _lead(comparison))


def _lead(comparison: Comparison) -> str:
    """The score of the contender that the headline is about, and of the reference."""
    main, reference, best, metric = comparison.main, comparison.reference, comparison.best, MetricWords.of(comparison)
    scores = f"{contender_in_words(main.contender)}, {metric.score(main.estimate.mean)}"
    if comparison.subject is not None:
        lead = f"Fitted: {scores}"
    elif main is best:
        lead = f"Best of {len(comparison.results)} for {metric.title}: {scores}"
    else:
        ahead = f"{metric.score(best.estimate.mean)} of the best, {contender_in_words(best.contender)}"
        lead = f"For {metric.title}: {scores}, and {ahead}"
    if main is not reference and best is not reference:
        lead += f", against {metric.score(reference.estimate.mean)} of {contender_in_words(reference.contender)}"
    return f"{lead}."
