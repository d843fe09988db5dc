"""Scores that hardly need the columns are named."""

import dataclasses

import numpy as np
import pytest

from metricfit import metrics
from metricfit.comparison import compare
from metricfit.comparison._run import HeldOutPrediction
from metricfit.comparison._statistics import Difference, Estimate
from metricfit.comparison._verdict import list_warnings

N = 600


@pytest.fixture(scope="module")
def known():
    """A comparison with a clear verdict, whose predictions the tests replace."""
    random = np.random.default_rng(0)
    target = np.repeat([0, 1, 2], [30, 18, 12])
    features = random.normal(size=(60, 2)) + np.stack([target == 1, target == 2], 1) * 4.0
    short = {"models": ["linear"], "methods": ["threshold"], "n_repeats": 1}
    return compare(features, np.array(["good", "bad", "ugly"])[target], "f1_macro", **short)


def of_two(known, metric, n_called, n_hits, n_positive=180, mean=0.9):
    """The reference calls so many rows 'bad', of which so many are."""
    labels = (np.arange(N) < n_positive).astype(int)
    predicted = np.zeros(N, int)
    predicted[:n_hits], predicted[n_positive : n_positive + n_called - n_hits] = 1, 1
    return replaced(known, metric, np.array(["good", "bad"]), labels, predicted, mean)


def replaced(known, metric, classes, labels, predicted, mean=0.9):
    held_out = HeldOutPrediction(np.eye(len(classes))[predicted], np.eye(len(classes))[predicted])
    above = Difference(0.3, 0.2, 0.4, 0.001, 0.001)
    result = dataclasses.replace(
        known.reference,
        held_out=held_out,
        estimate=Estimate(mean, mean - 0.1, mean + 0.1, 0.001),
        above_constant=above,
    )
    results = {**known.results, known.reference.contender.name: result}
    trivial = known.results[known.constant_name]
    results[known.constant_name] = dataclasses.replace(trivial, estimate=Estimate(-0.5, -0.5, -0.5, 1.0), chosen={"0": 10})
    measure = metrics.get(metric) if isinstance(metric, str) else metric
    positive = "bad" if getattr(measure, "average", "") == "binary" else None
    about = {"metric": str(metric), "measure": measure, "classes": classes, "labels": labels, "positive": positive}
    counts = np.bincount(labels, minlength=len(classes))
    return dataclasses.replace(known, **about, class_counts=counts, results=results)


def test_nothing_to_say(known):
    assert known.warnings == ()
    for metric in ("precision", "recall", "f1", "f0.5", "f2", "mcc"):
        assert list_warnings(of_two(known, metric, 170, 150)) == ()


@pytest.mark.parametrize("metric", ["f1", "precision", "accuracy"])
def test_one_answer_for_all_rows(known, metric):
    assert list_warnings(of_two(known, metric, 0, 0)) == ("linear, threshold answers 'good' for every row.",)
    assert list_warnings(of_two(known, metric, N, 180)) == ("linear, threshold answers 'bad' for every row.",)


@pytest.mark.parametrize(
    ("metric", "n_called", "n_hits", "n_positive", "words"),
    [
        ("precision", 3, 3, 180, "calls only 3 of 600 rows 'bad'. The precision of these is 1.00, but recall is 0.02."),
        ("f0.5", 17, 17, 180, "calls only 17 of 600 rows 'bad'"),
        ("precision", 18, 18, 180, None),
        ("precision", 6, 6, 30, "calls only 6 of 600 rows 'bad'"),  # one per cent of the rows
        ("precision", 6, 5, 8, None),  # the class itself is rare
        ("f1", 3, 3, 180, None),
        ("recall", 570, 180, 180, "calls 570 of 600 rows 'bad'. Recall is 1.00, but precision is 0.32."),
        ("f2", 570, 180, 180, "Recall is 1.00"),
        ("recall", 500, 180, 180, None),
        ("recall", 570, 560, 570, None),  # almost all rows are of this class
        ("f1", 570, 180, 180, None),
        ("precision_macro", 3, 3, 180, None),
    ],
)
def test_one_sided_answers(known, metric, n_called, n_hits, n_positive, words):
    found = list_warnings(of_two(known, metric, n_called, n_hits, n_positive))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_classes_that_are_never_answered(known):
    labels = np.repeat([0, 1, 2], 200)
    found = replaced(known, "f1_macro", known.classes, labels, np.minimum(labels, 1))
    assert list_warnings(found) == ("linear, threshold never answers 'ugly'. There are 200 held-out rows of this class.",)
    four = np.array(["a", "b", "c", "d"])
    found = replaced(known, "f1_macro", four, np.arange(N) % 4, np.arange(N) % 2)
    assert list_warnings(found) == (
        "linear, threshold never answers 'c' and 'd'. There are 300 held-out rows of these classes.",
    )


@pytest.mark.parametrize(
    ("metric", "mean", "guess"),
    [("mcc", 0.03, "0.00"), ("kappa", 0.05, "0.00"), ("informedness", 0.09, "0.00"), ("balanced_accuracy", 0.54, "0.50")],
)
def test_columns_that_hardly_predict(known, metric, mean, guess):
    (found,) = list_warnings(of_two(known, metric, 170, 60, mean=mean))
    assert found == f"The best {metric} is {mean:.4f}, and guessing gives {guess}: the columns hardly predict the target."
    assert list_warnings(of_two(known, metric, 170, 150, mean=0.8)) == ()
