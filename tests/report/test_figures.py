"""The numbers behind the figures, each against the plain way to compute it."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from metricfit.report import _figures as curves
from metricfit.report._strips import column_importances
from metricfit.report._svg import Chart, log_ticks, span, ticks


def test_confusion(four):
    result = four.results["linear, direct"]
    expected = confusion_matrix(four.labels, result.held_out.predicted)
    np.testing.assert_array_equal(four.confusion(result), expected)


@pytest.mark.parametrize("name", ["linear, direct", "boosting, threshold"])
def test_threshold_curve(two, name):
    result = two.results[name]
    found = curves.threshold_curve(two, result)
    for index in range(0, 401, 40):
        predicted = result.held_out.probability[:, 1] > curves.THRESHOLDS[index]
        assert found[index] == pytest.approx(f1_score(two.labels, predicted, zero_division=0))


def test_chosen_threshold_is_where_the_method_decides(two):
    """Fold by fold the decision by score is the decision by probability at that fold's threshold."""
    result = two.reference
    thresholds = 1.0 / (1.0 + np.exp((result.offsets[:, 1] - result.offsets[:, 0]) / result.temperatures))
    probability = result.held_out.probability[:, 1]
    taken = result.held_out.predicted == 1
    assert taken[probability > thresholds.max()].all()
    assert not taken[probability < thresholds.min()].any()
    assert curves.chosen_threshold(result) == pytest.approx(thresholds.mean())
    assert curves.chosen_threshold(two.results["linear, cross_entropy"]) == pytest.approx(0.5)


def test_figures_of_the_first_class(two):
    """Where class 0 is the positive one, it is predicted where its probability is above the threshold."""
    result = two.reference
    found, probability = curves.threshold_curve(two, result, 0), result.held_out.probability[:, 0]
    for index in range(1, 400, 40):
        predicted = probability <= curves.THRESHOLDS[index]  # class 1
        assert found[index] == pytest.approx(f1_score(two.labels, predicted, zero_division=0))
    assert curves.chosen_threshold(result, 0) == pytest.approx(1.0 - curves.chosen_threshold(result))
    assert curves.reliability(two, result, 0).distance == pytest.approx(curves.reliability(two, result).distance, abs=0.02)


def test_offset_curve(four):
    result = four.results["linear, direct"]
    for label in range(4):
        found = curves.offset_curve(four, result, label)
        for index in (0, 17, 30, 45, 60):
            shifted = result.held_out.scores.copy()
            shifted[:, label] += curves.SHIFTS[index]
            assert found[index] == pytest.approx(f1_score(four.labels, shifted.argmax(1), average="macro"))


def test_reliability(two):
    found = curves.reliability(two, two.results["linear, cross_entropy"])
    observed, predicted = calibration_curve(
        two.labels, two.results["linear, cross_entropy"].held_out.probability[:, 1], n_bins=10, strategy="quantile"
    )
    np.testing.assert_allclose(found.observed, observed)
    np.testing.assert_allclose(found.predicted, predicted)
    assert found.counts.sum() == 400
    assert found.distance < 0.1  # logistic regression is calibrated


def test_per_class(four):
    result = four.results["linear, direct"]
    precision, recall, _, rows = precision_recall_fscore_support(four.labels, result.held_out.predicted)
    found = curves.per_class(four.confusion(result), list(map(str, four.classes)))
    assert [row["precision"] for row in found] == pytest.approx(precision.tolist())
    assert [row["recall"] for row in found] == pytest.approx(recall.tolist())
    assert [row["rows"] for row in found] == rows.tolist()


def test_alignment():
    history = [{"surrogate": -value, "metric": value**3} for value in (0.1, 0.4, 0.2, 0.8)]
    assert curves.alignment(history) == pytest.approx(1.0)
    assert curves.alignment([{"surrogate": 1.0, "metric": 0.5}] * 5) is None
    assert curves.alignment(history[:2]) is None


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 3.0), (0.871, 0.8712), (1e-9, 3e-9), (-1e6, 5e7), (1.0, 2.0)])
def test_ticks_lie_inside_and_are_few(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 * abs(low) <= tick <= high * (1 + 1e-9) for tick in found)
    assert len(set(np.diff(found).round(14))) <= 2


def test_ticks_of_logarithms():
    assert log_ticks(0.001, 1000.0) == pytest.approx([0.001, 0.1, 10.0, 1000.0])
    assert log_ticks(0.2, 0.9) == [0.2, 0.9]


def test_a_chart_puts_points_where_they_belong():
    chart = Chart("t", x=(0.0, 1.0), y=(0.0, 2.0))
    assert (chart.px(0.0), chart.px(1.0)) == (52.0, 408.0)
    assert (chart.py(0.0), chart.py(2.0)) == (222.0, 10.0)
    chart.text(0.5, 0.5, "<b>")
    assert "&lt;b&gt;" in chart.svg()


def test_span_of_nothing_and_of_one_value():
    assert span([]) == pytest.approx((-0.05, 1.05))
    low, high = span([0.5, 0.5])
    assert low < 0.5 < high


def test_column_importances(two):
    result = two.results["boosting, threshold"]
    means, deviations = column_importances(result)
    assert means.tolist() == pytest.approx([np.mean(column) for column in result.importance.T])
    assert deviations.tolist() == pytest.approx([np.std(column, ddof=1) for column in result.importance.T])
    assert two.results["boosting, cross_entropy"].importance is None
