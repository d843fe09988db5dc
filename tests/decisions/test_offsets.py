"""Offsets against exhaustive search."""

import itertools

import numpy as np
import pytest
import torch

import metricfit as mf
from metricfit import metrics
from metricfit.decisions import (
    NEVER,
    _offsets,
    fit_offsets,
    fit_smooth_offsets,
    fit_temperature,
    hard_confusion,
)
from metricfit.decisions._smoothed import softmax_of_any
from metricfit.metrics._base import CountsMetric


def value(scores, labels, offsets, metric, weight=None):
    weight = np.ones(len(labels)) if weight is None else weight
    matrix = hard_confusion((scores + offsets).argmax(1), labels, weight, scores.shape[1])
    return float(metrics.get(metric)(torch.from_numpy(matrix)))


def hard_offsets(*arguments, **options):
    return mf.tune_offsets(*arguments, smooth=False, **options)


def some(n, k, seed=0, ties=False):
    random = np.random.default_rng(seed)
    labels = random.choice(k, n, p=np.arange(1, k + 1) / np.arange(1, k + 1).sum())
    scores = random.normal(size=(n, k)) + 1.5 * np.eye(k)[labels]
    return (scores.round(1) if ties else scores), labels


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "balanced_accuracy", "precision", "g_mean", "f2"])
def test_two_classes_are_exact(metric, ties):
    scores, labels = some(60, 2, ties=ties)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    found = hard_offsets(scores, labels, metric, sample_weight=weight)
    gaps = np.unique(scores[:, 0] - scores[:, 1])
    places = np.concatenate([[gaps[0] - 1], 0.5 * (gaps[1:] + gaps[:-1]), [gaps[-1] + 1]])
    best = max(value(scores, labels, np.array([0.0, place]), metric, weight) for place in places)
    assert value(scores, labels, found, metric, weight) == pytest.approx(best, abs=1e-12)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "mcc", "balanced_accuracy"])
def test_three_classes_come_close_to_a_fine_grid(metric):
    scores, labels = some(80, 3)
    found = value(scores, labels, hard_offsets(scores, labels, metric), metric)
    grid = np.linspace(-3, 3, 61)
    best = max(value(scores, labels, np.array([0.0, *place]), metric) for place in itertools.product(grid, grid))
    assert found >= value(scores, labels, np.zeros(3), metric)
    assert found >= best - 0.01


def test_offsets_that_cannot_help_stay_away():
    labels = np.array([0, 1, 2, 0, 1, 2])
    assert (hard_offsets(5.0 * np.eye(3)[labels], labels, "f1_macro") == 0.0).all()


def test_many_thresholds_are_thinned_out(monkeypatch):
    scores, labels = some(500, 2)
    exact = value(scores, labels, hard_offsets(scores, labels, "f1"), "f1")
    monkeypatch.setattr(_offsets, "_MOST_ENTRIES", 400)  # a hundred thresholds
    thinned = value(scores, labels, hard_offsets(scores, labels, "f1"), "f1")
    assert exact - 0.01 < thinned <= exact


def fits(metric, k):
    try:
        metric.check_classes(k)
    except ValueError:
        return False
    return True


def by_matrix(name):
    """The same metric, but only as a function of the whole matrix."""
    return metrics.Custom(metrics.get(name).value)


COUNTS = [name for name in metrics.names() if isinstance(metrics.get(name), CountsMetric)]


@pytest.mark.parametrize(("name", "k"), [(name, k) for name in COUNTS for k in (2, 5) if fits(metrics.get(name), k)])
@pytest.mark.parametrize("ties", [False, True])
def test_counts_per_class_stand_for_the_matrix(name, k, ties):
    scores, labels = some(150, k, ties=ties)
    weight = np.random.default_rng(1).integers(1, 4, 150).astype(float)
    offsets = fit_offsets(scores, labels, metrics.get(name), weight)
    np.testing.assert_array_equal(offsets, fit_offsets(scores, labels, by_matrix(name), weight))
    for one, other in zip(
        softmax_of_any(metrics.get(name), labels, weight, k, 0.3)(scores),
        softmax_of_any(by_matrix(name), labels, weight, k, 0.3)(scores),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


def test_a_subclass_with_a_formula_of_its_own_keeps_it():
    class Specificity(metrics.FBeta):
        def value(self, matrix):
            return matrix[..., 0, 0] / matrix[..., 0, :].sum(-1)

    scores, labels = some(60, 3)
    found = fit_offsets(scores, labels, Specificity(), np.ones(60))
    assert value(scores, labels, found, Specificity()) == 1.0
    assert softmax_of_any(Specificity(), labels, np.ones(60), 3, 0.3)(scores)[0] != pytest.approx(
        softmax_of_any(metrics.FBeta(), labels, np.ones(60), 3, 0.3)(scores)[0]
    )


@pytest.mark.parametrize("name", ["precision_macro", "f1_macro", "jaccard_macro"])
@pytest.mark.parametrize("form", [metrics.get, by_matrix])
def test_what_rounding_leaves_of_a_class_does_not_count(name, form):
    """A class that lost all its rows has 0.1 + 0.2 - 0.3 of them."""
    random = np.random.default_rng(0)
    for _ in range(60):
        scores, labels = random.normal(size=(12, 3)), random.integers(0, 3, 12)
        weight = random.choice([0.1, 0.2, 0.3, 0.7], 12)
        rows = _offsets._Rows(scores, labels, weight, np.zeros(3))
        place, claimed = _offsets._best_offset(rows, form(name), 1)
        assert value(scores, labels, np.array([0.0, place, 0.0]), name, weight) == pytest.approx(claimed, abs=1e-9)


@pytest.mark.parametrize(("name", "k"), [("precision", 2), ("precision_macro", 4)])
def test_precision_keeps_some_rows(name, k):
    """Under noise it is best where a class is hardly predicted; without noise such a class has no row and no precision."""
    random = np.random.default_rng(1)
    labels = random.integers(0, k, 1000)
    scores = random.normal(size=(1000, k)) + np.eye(k)[labels]
    plain = value(scores, labels, np.zeros(k), name)
    assert value(scores, labels, mf.tune_offsets(scores, labels, name), name) > plain + 0.1
    assert value(scores, labels, fit_smooth_offsets(scores, labels, metrics.get(name), np.ones(1000)), name) > plain + 0.1


def test_the_two_best_classes_stay_true_while_offsets_move():
    scores, labels = some(200, 6, ties=True)
    rows = _offsets._Rows(scores, labels, np.ones(200), np.zeros(6))
    for label, offset in [(3, 0.7), (0, -1.2), (3, -0.4), (5, 2.0), (5, 2.0), (1, 0.1)]:
        rows.move(label, offset)
        for one in range(6):
            others = scores + rows.offsets
            others[:, one] = -np.inf
            assert (rows.rival_of(one) == others.argmax(1)).all()


def smoothed(scores, labels, offsets, metric, width):
    """The metric under noise by the pipeline in torch: a second algorithm."""
    noise = mf.smoothing.Normal(width) if scores.shape[1] == 2 else mf.smoothing.Softmax(width)
    assigned = noise.assign(torch.from_numpy(scores + offsets))
    return float(metrics.get(metric)(mf.confusion_matrix(assigned, torch.from_numpy(labels))))


@pytest.mark.parametrize("metric", ["f1_macro", "mcc", "balanced_accuracy"])
@pytest.mark.parametrize("k", [2, 3])
def test_smooth_offsets_maximise_the_metric_under_noise(k, metric):
    scores, labels = some(200, k)
    found = fit_smooth_offsets(scores, labels, metrics.get(metric), np.ones(200))
    width = (_offsets.NORMAL_WIDTH if k == 2 else _offsets.SOFTMAX_WIDTH) * fit_temperature(scores, labels, np.ones(200))
    here = smoothed(scores, labels, found, metric, width)
    assert here >= smoothed(scores, labels, hard_offsets(scores, labels, metric), metric, width)
    for label in range(k):
        for step in (-0.02, 0.02):
            assert smoothed(scores, labels, found + step * np.eye(k)[label], metric, width) <= here + 1e-6
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_smooth_offsets_survive_classes_that_a_model_never_saw():
    scores, labels = some(100, 3)
    scores[:50, 2] = NEVER
    assert np.isfinite(mf.tune_offsets(scores, labels, "f1_macro")).all()


def test_a_metric_without_a_gradient_is_named():
    scores, labels = some(20, 2)
    with pytest.raises(ValueError, match="smooth=False"):
        mf.tune_offsets(scores, labels, lambda c: c.round().detach()[1, 1] / c.sum().detach())


def test_many_classes_with_few_rows_each_never_lose(monkeypatch):
    """Candidates in even steps of 25 rows could give a class of five rows no fewer than 25, and lost half of macro F1."""
    monkeypatch.setattr(_offsets, "_MOST_ENTRIES", 0)  # 64 candidates for 600 rows
    random = np.random.default_rng(0)
    labels = random.integers(0, 120, 600)
    scores = random.normal(size=(600, 120))
    scores[np.arange(600), labels] += 3.0
    metric, weight = metrics.get("f1_macro"), np.ones(600)
    found = _offsets.fit_offsets(scores, labels, metric, weight)
    plain, tuned = (
        float(metric(torch.from_numpy(hard_confusion((scores + offsets).argmax(1), labels, weight, 120))))
        for offsets in (0.0, found)
    )
    assert tuned > plain + 0.05
