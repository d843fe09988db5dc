"""Sentences of the verdict: they agree with the table, and every number belongs to what is named."""

import math

import pytest

from metricfit.comparison._statistics import Estimate, no_interval
from metricfit.comparison._verdict import (
    Place,
    Standing,
    method_verdict,
    model_verdict,
    nothing_beats_constant,
    too_few_rows,
    too_few_scores,
)

ZERO = Estimate(0.0, 0.0, 0.0, 1.0)


def against(mean, other, p=0.01):
    gain = mean - other
    return ZERO if gain == 0.0 else Estimate(gain, gain - 0.05, gain + 0.05, p)


def place(name, mean, best, p_behind, base=0.6, seconds=1.0, p_holm=0.01, constant=0.1, p_above=0.01):
    """A contender whose differences have these p-values; the reference has a mean of ``base``."""
    differences = against(mean, base), p_holm, against(mean, best), p_behind, against(mean, constant), p_above
    return Place(name, mean, seconds, *differences, is_constant=name == "trivial")


@pytest.mark.parametrize(
    ("means", "best", "simplest", "words", "absent"),
    [
        (  # the best beats everything
            {"trivial": (0.1, 0.001), "linear": (0.6, 0.01), "boosting": (0.8, 1.0)},
            "boosting",
            "boosting",
            "Best: boosting, 0.8000 (1.0 s per fit). It beats linear, 0.6000, by +0.2000 (",
            "The simplest",
        ),
        (  # the best is ahead of the reference, but not beyond chance
            {"trivial": (0.1, 0.001), "linear": (0.6, 0.3), "boosting": (0.62, 1.0, 0.3)},
            "boosting",
            "linear",
            "It is ahead of linear, 0.6000, but not beyond chance: +0.0200 (95 % interval -0.0300 to +0.0700, p 0.01; 0.3 after "
            "Holm), in no more time. The simplest that is not significantly worse: linear, 0.6000 (1.0 s per fit; the "
            "difference to the best is -0.0200, p 0.3 after Holm).",
            "Everything simpler",
        ),
        (  # the best is the reference
            {"trivial": (0.1, 0.001), "linear": (0.6, 1.0), "boosting": (0.55, 0.3)},
            "linear",
            "linear",
            "Best: linear, 0.6000 (1.0 s per fit).",
            "simple",
        ),
        (  # equal means: the simpler one
            {"trivial": (0.1, 0.001), "plain": (0.6, 1.0), "linear": (0.6, 1.0)},
            "plain",
            "plain",
            "linear has the same mean.",
            "beats",
        ),
        (  # something beats the reference, so that it is not called as good as the best
            {"trivial": (0.1, 0.001), "linear": (0.6, 0.2), "leaky": (0.7, 0.3), "exact": (0.8, 1.0, 0.2)},
            "exact",
            "leaky",
            "The simplest that is not significantly worse: leaky",
            "Everything",
        ),
    ],
)
def test_verdicts_on_models(means, best, simplest, words, absent):
    largest = max(mean for mean, *_ in means.values())
    places = [place(name, mean, largest, p, p_holm=(*more, 0.01)[0]) for name, (mean, p, *more) in means.items()]
    found_best, found_simplest, sentence = model_verdict(places, "linear")
    assert (found_best, found_simplest) == (best, simplest)
    assert words in sentence
    assert absent not in sentence


def test_the_verdict_compares_times():
    def sentence(seconds):
        return model_verdict([place("linear", 0.6, 0.8, 0.01), place("trees", 0.8, 0.8, 1.0, seconds=seconds)], "linear")[2]

    assert sentence(4.0).endswith(", at 4.0 times its time. Everything simpler is significantly worse.")
    assert ", in no more time." in sentence(0.2)


def test_nothing_beats_a_constant_answer():
    def verdict(mean, p_above, name="linear"):
        places = [place("trivial", 0.7, 0.7, 1.0, constant=0.7), place(name, mean, mean, 1.0, constant=0.7, p_above=p_above)]
        return nothing_beats_constant(places, "always answering 'good'")

    assert verdict(0.9, 0.04) is None
    behind = verdict(0.6, 0.001)
    assert (behind.answer, behind.best, behind.simplest) == ("no", "trivial", "trivial")
    assert behind.sentence == "Nothing here beats always answering 'good' (0.7000)."
    ahead = verdict(0.75, 0.2)
    assert (ahead.answer, ahead.best, ahead.simplest) == ("no", "linear", "trivial")
    assert ahead.sentence.startswith(
        "Nothing here beats always answering 'good' (0.7000) beyond chance. linear is ahead with 0.7500, +0.0500 (95 % interval"
    )
    constant = place("trivial", 0.0, 1.0, 1.0, constant=0.0)
    same = Place("linear", 1.0, 1.0, ZERO, 1.0, ZERO, 1.0, Estimate(1.0, 1.0, 1.0, 1.0), 1.0)  # the same gain on every split
    assert nothing_beats_constant([constant, same], "") is None


def test_few_scores_give_means_and_no_verdict():
    none = no_interval(0.0)
    assert not none.known
    assert (none.low, none.high) == (-math.inf, math.inf)
    places = [Place(name, mean, 1.0, none, 1.0, none, 1.0, none, 1.0) for name, mean in (("linear", 0.6), ("trees", 0.7))]
    two = too_few_scores(2, places, "linear")
    assert (two.answer, two.best, two.about_method) == ("none", "trees", "")
    assert two.sentence == (
        "Two scores are too few for a verdict. Run at least five folds (n_splits=5, --folds 5). Highest so far: trees, 0.7000. "
        "The reference linear has 0.6000."
    )
    assert too_few_scores(1, places[:1], "linear").sentence.startswith("One score is too few")
    assert too_few_rows(9, places, "linear").sentence.startswith(
        "A test set of 9 rows is too small for a verdict. Use at least"
    )


def standing(name, mean, p, for_metric=True, baseline=0.6, p_holm=None, **more):
    difference = Estimate(mean - baseline, mean - baseline - 0.2, mean - baseline + 0.2, p)
    return Standing(name, for_metric, mean, difference, p if p_holm is None else p_holm, **more)


EXACT, HINGE = standing("EXACT", 0.7, 0.01), standing("hinge", 0.9, 0.01, for_metric=False)
PLAIN = standing("plain", 0.65, 1.0, for_metric=False, is_plain=True)


@pytest.mark.parametrize(
    ("standings", "answer", "words"),
    [
        ([EXACT, standing("EAST", 0.8, 0.2)], "yes", "EXACT reaches 0.7000 and a tuned threshold 0.6000: +0.1000 ("),
        ([EXACT, standing("the choice", 0.65, 0.01, is_choice=True)], "yes", "helps. The choice reaches 0.6500"),
        (
            [standing("EXACT", 0.7, 0.04, p_holm=0.2)],
            "perhaps",
            "but that may be chance: +0.1000 (95 % interval -0.1000 to +0.3000, p 0.04; 0.2 after Holm). Run more repeats to "
            "decide; until then use a tuned threshold, 0.6000.",
        ),
        ([PLAIN, standing("EXACT", 0.7, 0.04, p_holm=0.2)], "perhaps", "until then use plain cross-entropy, 0.6500."),
        (
            [standing("EXACT", 0.7, 0.2)],
            "no",
            "EXACT, trained for f1, is ahead of the tuned threshold with 0.7000, but not beyond chance: +0.1000 (",
        ),
        (
            [standing("EXACT", 0.5, 0.01)],
            "no",
            "No method trained for f1 is ahead of that; the best of them, EXACT, has 0.5000.",
        ),
        ([HINGE, standing("EXACT", 0.5, 0.01)], "no", "Linear model: a tuned threshold is enough: it reaches 0.6000."),
        (
            [PLAIN, standing("EXACT", 0.5, 0.01)],
            "no",
            "Linear model: plain cross-entropy is enough: it reaches 0.6500. A tuned threshold has 0.6000.",
        ),
    ],
)
def test_verdicts_on_methods(standings, answer, words):
    found, sentence = method_verdict("f1", standings, 0.6)
    assert found == answer
    assert words in sentence
