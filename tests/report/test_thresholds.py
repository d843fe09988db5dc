"""Precision, recall, thresholds and reviewed cases: eight rows by hand, and real ones against scikit-learn."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_recall_curve

from metricfit import metrics
from metricfit.comparison._run import HeldOutPrediction
from metricfit.decisions import binomial_interval
from metricfit.metrics import Cost
from metricfit.report import _thresholds as own
from metricfit.report import page
from metricfit.report._svg import Chart
from metricfit.report._thresholds import _gains, _precision_recall, review
from metricfit.report._words import Line
from tests.comparison.made import around, compare_scores
from tests.report.conftest import RUN

PROBABILITY = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
LABELS = np.array([1, 1, 0, 1, 0, 1, 0, 0])
THRESHOLD = 0.35  # of the decision: five rows are flagged, and three of these are positive


@pytest.fixture
def eight():
    """A comparison of eight rows, and a contender that decides at 0.35."""
    probability = np.stack([1.0 - PROBABILITY, PROBABILITY], 1)
    offsets = np.array([0.0, np.log((1.0 - THRESHOLD) / THRESHOLD)])
    result = SimpleNamespace(
        contender=SimpleNamespace(name="hand"),
        held_out=HeldOutPrediction(np.log(probability) + offsets, probability),
        offsets=offsets[None],
        temperatures=np.ones(1),
    )
    comparison = SimpleNamespace(classes=np.array(["no", "yes"]), labels=LABELS, measure=metrics.get("f1"), positive_index=1)
    return comparison, result


def test_points_of_eight_rows(eight):
    """At one half four rows are flagged, three of them right, of four positives; F1 is 0.75."""
    plain, lower, chosen = own.point_at(*eight, 1, 0.5), own.point_at(*eight, 1, 0.25), own.chosen_point(*eight, 1)
    assert (plain.flagged, plain.precision, plain.recall, plain.lift) == (4, 0.75, 0.75, 1.5)
    assert plain.score == pytest.approx(0.75)
    assert (lower.flagged, lower.precision, lower.recall) == (6, pytest.approx(4 / 6), 1.0)
    assert (chosen.flagged, chosen.precision, chosen.recall, chosen.is_chosen) == (5, 0.6, 0.75, True)
    assert chosen.threshold == pytest.approx(THRESHOLD)
    assert chosen.score == pytest.approx(2 * 3 / (5 + 4))


def test_exact_intervals(eight):
    """Clopper and Pearson: 3 of 4 is in every table, and of n of n the lower end is the n-th root of 0.025."""
    assert own.point_at(*eight, 1, 0.5).recall_interval == pytest.approx((0.1941, 0.9937), abs=1e-4)
    assert own.point_at(*eight, 1, 0.25).recall_interval == pytest.approx((0.025**0.25, 1.0))


def test_the_other_class_and_nothing_flagged(eight):
    none = own.point_at(*eight, 1, 0.99)
    assert (none.flagged, none.precision, none.precision_interval, none.lift, none.recall) == (0, None, None, None, 0.0)
    first = own.point_at(*eight, 0, 0.5)  # rows 5 to 8, three of them of class 0
    assert (first.flagged, first.found, first.n_positive) == (4, 3, 4)


def test_rows_of_the_table_of_eight_rows(eight):
    """Every threshold between two probabilities that changes anything, one half, and the chosen one."""
    rows = own.threshold_rows(*eight, 1)
    assert [round(row.threshold, 3) for row in rows] == [0.15, 0.3, 0.35, 0.4, 0.5, 0.7, 0.8, 0.9]
    assert [row.flagged for row in rows] == [7, 6, 5, 5, 4, 3, 2, 1]
    assert [row.threshold for row in rows if row.is_chosen] == pytest.approx([THRESHOLD])


def points_of(svg):
    """The points of the first line of a figure."""
    line = re.search('<polyline class="line c2" points="([^"]+)"', str(svg)).group(1)
    return [tuple(map(float, point.split(","))) for point in line.split()]


def test_the_figure_of_reviewed_cases(eight):
    """Of 1,000 cases 250 reviewed are two rows, both positive: half of all. 500 give three of four."""
    comparison, result = eight
    figure = _gains([(Line(result, 2), own.operating_points(comparison, result))], 1000)
    chart, points = Chart("", x=(0.0, 1000.0), y=(0.0, 1.0)), points_of(figure)
    for reviewed, found in ((0.0, 0.0), (250.0, 0.5), (500.0, 0.75), (750.0, 1.0), (1000.0, 1.0)):
        assert (round(chart.px(reviewed), 1), round(chart.py(found), 1)) in points
    assert f'cx="{chart.px(625.0):.1f}" cy="{chart.py(0.75):.1f}"' in figure  # the decision flags five of eight
    assert "hand finds 0% of them in the first 50, 0% of them in the first 100, 25% of them in the first 200, 75% of" in figure


def test_the_figure_of_precision_and_recall(eight):
    comparison, result = eight
    figure = _precision_recall([(Line(result, 2), own.operating_points(comparison, result))])
    chart, points = Chart("", x=(0.0, 1.0), y=(0.0, 1.0)), points_of(figure)
    for recall, precision in ((0.25, 1.0), (0.5, 1.0), (0.5, 2 / 3), (0.75, 0.75), (1.0, 0.5)):
        assert (round(chart.px(recall), 1), round(chart.py(precision), 1)) in points
    low, high = binomial_interval(3, 4)
    across = f'x1="{chart.px(low):.1f}" y1="{chart.py(0.6):.1f}" x2="{chart.px(high):.1f}" y2="{chart.py(0.6):.1f}"'
    assert f'<line class="whisker c2" {across}/>' in figure
    low, high = binomial_interval(3, 5)
    assert f'y1="{chart.py(low):.1f}" x2="{chart.px(0.75):.1f}" y2="{chart.py(high):.1f}"' in figure
    assert f'class="ring c2" cx="{chart.px(0.75):.1f}" cy="{chart.py(0.75):.1f}"' in figure  # at one half
    assert "<desc>hand: precision 0.600, recall 0.750; with a threshold of one half precision 0.750" in figure


def test_ranking_is_that_of_scikit_learn(two):
    """Also where probabilities are equal: rounded ones."""
    for digits in (16, 2):
        probability = two.best.held_out.probability[:, 1].round(digits)
        precision, recall, thresholds = precision_recall_curve(two.labels, probability)
        found = own.rank(probability, two.labels == 1)
        np.testing.assert_allclose(found.precision[::-1], precision[:-1])
        np.testing.assert_allclose(found.recall[::-1], recall[:-1])
        assert len(found.flagged) == len(thresholds)


def test_the_table_of_thresholds_is_that_of_scikit_learn(two):
    result = two.choice
    probability = result.held_out.probability[:, 1]
    precision, recall, thresholds = precision_recall_curve(two.labels, probability)
    rows = own.threshold_rows(two, result, 1)
    assert 5 <= len(rows) <= len(own.LADDER) + 1
    assert [row.threshold for row in rows] == sorted(row.threshold for row in rows)
    for row in rows:
        if not row.is_chosen:
            index = np.searchsorted(thresholds, row.threshold)
            assert (row.precision, row.recall) == pytest.approx((precision[index], recall[index]))
            assert row.score == pytest.approx(f1_score(two.labels, probability >= row.threshold))
    matrix = two.confusion(result)
    (chosen,) = (row for row in rows if row.is_chosen)
    assert (chosen.found, chosen.flagged) == (matrix[1, 1], matrix[:, 1].sum())  # as in the confusion matrix
    assert chosen.score == pytest.approx(f1_score(two.labels, result.held_out.predicted))


def test_long_curves_are_thinned():
    random = np.random.default_rng(0)
    ranking = own.rank(random.random(50_000), random.random(50_000) < 0.001)
    thin = ranking.thinned()
    assert 100 < len(thin.flagged) <= own.MOST_POINTS
    assert (thin.flagged[0], thin.flagged[-1], thin.found[-1]) == (1, 50_000, ranking.found[-1])
    assert max(np.diff(thin.share)) < 0.01
    small = own.rank(PROBABILITY, LABELS == 1)
    assert small.thinned() is small


def test_more_than_two_classes_or_only_one_have_no_such_section(two, four, eight):
    assert review(four) is None
    comparison, result = eight
    comparison.labels = np.zeros(8, dtype=int)
    assert own.operating_points(comparison, result) is None
    assert 'id="review"' not in page(four, RUN)
    assert 'id="review"' in page(two, RUN)


def test_costs_at_other_thresholds_are_positive(two):
    """A false alarm costs 1, a missed case 5: at a threshold of one half, what the counts give."""
    costly = replace(two, metric="minus cost", measure=Cost([[0.0, 1.0], [5.0, 0.0]]))
    (plain,) = (row for row in review(costly)["about"].rows if row.threshold == own.PLAIN)
    cost = (plain.flagged - plain.found + 5 * (plain.n_positive - plain.found)) / plain.n_rows
    assert plain.score == pytest.approx(-cost)
    table = re.search('<table class="thresholds">.*?</table>', page(costly, RUN), re.DOTALL).group()
    assert f"<td>{cost:.4f}</td>" in table
    assert "cost per case" in table


@pytest.mark.parametrize(("boosting", "name"), [(0.5, "linear, threshold"), (0.9, "boosting, threshold")])
def test_the_section_is_about_the_contender_of_the_headline(boosting, name):
    """Also where that is the reference, which every other part of the page compares with."""
    comparison = compare_scores(linear_threshold=around(0.7, 0.01), boosting_threshold=around(boosting, 0.01))
    assert comparison.verdict.recommended == name
    assert review(comparison)["name"] == name
