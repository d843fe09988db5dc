"""Standard errors against simulation, and the choice they lead to."""

import numpy as np
import pytest

from metricfit import metrics
from metricfit.decisions import Guard


def judge(labels, metric, k=2):
    return Guard(labels, np.ones(len(labels)), k, metrics.get(metric))


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "balanced_accuracy"])
def test_standard_errors_are_those_of_resampling(metric):
    random = np.random.default_rng(0)
    n = 400
    labels = (random.random(n) < 0.3).astype(int)
    one = np.where(random.random(n) < 0.8, labels, 1 - labels)
    other = np.where(random.random(n) < 0.9, one, labels)
    resamples = [random.integers(0, n, n) for _ in range(1500)]
    values = [judge(labels[rows], metric).value(one[rows]) for rows in resamples]
    differences = [v - judge(labels[rows], metric).value(other[rows]) for v, rows in zip(values, resamples, strict=True)]
    whole = judge(labels, metric)
    # the error of a standard deviation of 1500 draws is 2 %, that of the linearisation a few
    assert whole.standard_error(one) == pytest.approx(np.std(values), rel=0.12)
    assert whole.difference_error(one, other) == pytest.approx(np.std(differences), rel=0.12)


def test_a_gain_of_one_row_is_chance_and_one_of_thirty_is_not():
    labels = np.arange(100) % 2
    standing = np.where(np.arange(100) < 40, 1 - labels, labels)
    for fixed, chosen in ((range(30), "new"), ([], "standing")):
        new = standing.copy()
        new[list(fixed)] = labels[list(fixed)]
        if not len(fixed):  # nine rows gained, eight lost
            new[:9], new[40:48] = labels[:9], 1 - labels[40:48]
        found, reasons = judge(labels, "accuracy").choose({"standing": standing, "new": new})
        assert found == chosen
        assert "chosen" in reasons[chosen]


def test_an_equal_candidate_does_not_win():
    labels = np.array([0, 1, 0, 1])
    found, reasons = judge(labels, "f1").choose({"one": labels, "other": labels})
    assert found == "one"
    assert reasons["other"].startswith("+0.0000 against one")


def test_weights_count_like_repetitions():
    random = np.random.default_rng(0)
    labels, predicted, weight = random.integers(0, 3, 30), random.integers(0, 3, 30), random.integers(1, 4, 30)
    one = Guard(labels, weight.astype(float), 3, metrics.get("mcc"))
    many = judge(labels.repeat(weight), "mcc", 3)
    assert one.value(predicted) == pytest.approx(many.value(predicted.repeat(weight)))
    assert one.standard_error(predicted) == pytest.approx(many.standard_error(predicted.repeat(weight)))
