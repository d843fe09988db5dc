"""Where it pays: controlled data as defined, splits that do not leak, gains that can be worked out by hand, and the rule."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from reproductions._runner import read_results
from reproductions.beyond import _pays_rule, pays
from reproductions.beyond._pays_gains import CONTROLLED, METHODS, METRICS, REAL, REST, collect_gains, of_part
from reproductions.beyond._pays_law import LEVELS, N_FEATURES, POINTS, Point, draw_law, draw_rows, series
from reproductions.beyond._pays_rule import CURVED, Finding
from reproductions.beyond._pays_sets import hold_out, load_table, split_table

RESULTS = Path(pays.__file__).parent / "results" / "where-it-pays.csv"


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_the_share_of_positives_is_as_asked(share):
    _, (_, labels) = draw_rows(Point(curve=1.0, positives=share), 3)
    assert labels.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(labels)) + 0.005)


def test_the_straight_and_the_curved_part_have_variance_four():
    features = np.random.default_rng(0).standard_normal((100_000, N_FEATURES))
    law = draw_law(Point(curve=1.0), 0)
    straight = law.straight_part(features)
    curved = law.logit(features) - straight - law.intercept
    assert straight.var() == pytest.approx(4.0, rel=0.02)
    assert curved.var() == pytest.approx(4.0, rel=0.05)  # heavier tails: a wider interval
    assert abs(np.corrcoef(straight, curved)[0, 1]) < 0.02


def test_one_thing_varies_and_the_law_and_the_test_rows_stay():
    base, wrong = (draw_rows(Point(curve=1.0, wrong=share), 1) for share in (0.0, 0.2))
    assert all((one == other).all() for one, other in zip(base[1], wrong[1], strict=True))
    assert (base[0][0] == wrong[0][0]).all()
    assert (base[0][1] != wrong[0][1]).mean() == 0.2
    more = draw_rows(Point(curve=1.0, wrong=0.3), 1)[0][1]
    assert ((base[0][1] != more) >= (base[0][1] != wrong[0][1])).all()
    laws = [draw_law(point, 1) for point in (Point(), Point(curve=2.0, positives=0.05))]
    assert (laws[0].direction == laws[1].direction).all()
    assert (laws[0].form == laws[1].form).all()
    assert (draw_law(Point(), 2).direction != laws[0].direction).all()


def test_outliers_are_far_and_mislabelled():
    point = Point(outliers=0.1)
    clean, spoilt = draw_rows(Point(), 0)[0], draw_rows(point, 0)[0]
    far = (clean[0] != spoilt[0]).any(1)
    assert far.mean() == 0.1
    np.testing.assert_allclose(spoilt[0][far], 5.0 * clean[0][far])
    law = draw_law(point, 0)
    assert ((law.straight_part(spoilt[0][far]) > 0.0) != (spoilt[1][far] == 1)).all()
    assert (clean[1][~far] == spoilt[1][~far]).all()


def test_every_factor_is_varied_on_straight_and_on_curved_data():
    for factor, curve in itertools.product(("positives", "wrong", "outliers", "n_rows"), (0.0, 1.0)):
        names = {point.name for point in series(factor, curve)}
        assert len(names) == len(LEVELS[factor])
        assert names <= set(POINTS)


def test_a_class_against_the_rest(data):
    several, *others = (load_table(f"balance-scale{name}", data)[1] for name in ("", ":0", ":1", ":2"))
    assert (np.stack(others).argmax(0) == several).all()
    assert (np.sum(others, 0) == 1).all()


def test_rows_are_capped_and_parts_do_not_overlap(data, monkeypatch):
    monkeypatch.setattr("reproductions.beyond._pays_sets.MOST_ROWS", 300)
    (train, _), (test, labels) = split_table("balance-scale", data, 0)
    assert (len(train), len(test), len(labels)) == (240, 60, 60)
    assert not set(train.index) & set(test.index)
    inner, outer = hold_out((train, np.arange(240) % 2), 0)
    assert sorted([*inner[0].index, *outer[0].index]) == sorted(train.index)  # what trees remove is estimated on training rows


def row(threshold, direct, linear=None, trees=None, rarest=0.1):
    scores = {f"{metric} {method}": threshold for metric in METRICS for method in METHODS}
    scores |= {"f1 direct": direct, "n_train": 80, "n_test": 20, "rarest": rarest}
    return scores if linear is None else scores | {"linear_loss": linear, "tree_loss": trees}


def results(part, name, *rows):
    return [({"part": part, "set": name, "seed": seed}, one) for seed, one in enumerate(rows)]


def test_gains_are_paired_differences_and_splits_overlap():
    rows = row(60.0, 61.0, 0.5, 0.3), row(62.0, 64.0, 0.3, 0.1), row(60.0, 63.0)
    real, controlled = (collect_gains(results(part, "car", *rows))[0] for part in (REAL, CONTROLLED))
    assert real.differences["f1", "direct"] == [1.0, 2.0, 3.0]
    assert real.removed == pytest.approx(0.5)  # 1 - 0.4 / 0.8
    assert real.estimate("f1").mean == controlled.estimate("f1").mean == 2.0
    assert real.estimate("f1").low == pytest.approx(-1.286, abs=0.001)  # the docstring of corrected_estimate has it
    assert controlled.estimate("f1").low == pytest.approx(2.0 - 4.303 / np.sqrt(3.0), abs=0.001)
    assert real.estimate("accuracy").mean == 0.0
    assert real.gained("f1")
    assert not real.gained("accuracy")


def point(name, removed, rarest, gain):
    rows = [row(60.0, 60.0 + gain + noise, 1.0, 1.0 - removed, rarest) for noise in (-0.1, 0.0, 0.1)]
    return collect_gains(results(CONTROLLED, name, *rows))[0]


def test_the_cut_is_the_one_that_is_right_most_often():
    points = [point("a", 0.5, 0.05, 3.0), point("b", 0.12, 0.45, 0.0), point("c", 0.02, 0.05, 0.0), point("d", 0.22, 0.1, 2.0)]
    cut = _pays_rule.derive_cut(points)
    assert cut == 0.2  # 0.15 is right as often: of equals the largest
    assert [_pays_rule.n_right(one, points) for one in (0.0, 0.15, cut, 0.4)] == [2, 4, 4, 3]
    kinds = {kind: [one.name for one in own] for kind, own in _pays_rule.by_kind(points).items()}
    assert kinds == {"straight": ["c"], "curved": ["b"], "curved, rare": ["a", "d"]}


def test_tables_of_one_set_count_once():
    tables = [point(name, 0.5, 0.05, gain) for name, gain in (("car", 3.0), ("car:1", 1.0), ("wine", 5.0), ("pima", -0.6))]
    assert _pays_rule.by_source(tables, "f1") == pytest.approx([2.0, 5.0, -0.6])
    assert _pays_rule.find(tables, "f1") == Finding(3, 4, 3, 1, 1.0, 5.0, 2.1)


def test_the_page_says_what_the_results_say():
    gains = collect_gains(read_results(pays.EXPERIMENT, RESULTS))
    assert _pays_rule.derive_cut(of_part(gains, CONTROLLED)) == CURVED
    kinds = _pays_rule.by_kind(of_part(gains, REAL, REST))
    assert {kind: _pays_rule.find(own, "f1") for kind, own in kinds.items()} == {
        "straight": Finding(10, 16, 2, 3, 0.6, 6.3, 0.2),
        "curved": Finding(7, 10, 3, 3, 1.2, 8.7, 1.0),
        "curved, rare": Finding(5, 12, 7, 1, 1.2, 14.1, 3.0),
    }
