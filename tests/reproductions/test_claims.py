"""Verdicts, intervals, and tests over data sets."""

import numpy as np
import pytest
from scipy import stats

from reproductions._claims import Claim, Runs, claim, claims_table, correct, counts
from reproductions._ranks import average_ranks, critical_difference, friedman


@pytest.fixture
def scores():
    random = np.random.default_rng(0)
    means = {"a": 2.0, "b": 1.0, "c": 0.0}
    return {f"set {place}": {name: random.normal(mean) for name, mean in means.items()} for place in range(12)}


def test_ranks_add_up_and_follow_the_means(scores):
    ranks = average_ranks(scores)
    assert sum(ranks.values()) == pytest.approx(1 + 2 + 3)
    assert ranks["a"] < ranks["b"] < ranks["c"]


def test_friedman_agrees_with_its_formula_on_mean_ranks(scores):
    ranks, n_sets, k = list(average_ranks(scores).values()), len(scores), 3
    chi = 12 * n_sets / (k * (k + 1)) * (sum(rank**2 for rank in ranks) - k * (k + 1) ** 2 / 4)
    assert friedman(scores) == pytest.approx(stats.chi2.sf(chi, k - 1))
    assert friedman({"one": dict.fromkeys("abc", 1.0), "two": dict.fromkeys("abc", 2.0)}) == 1.0


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_critical_differences_are_those_of_demsar(k, q):
    """Demšar 2006, Table 5."""
    assert critical_difference(k, 10) == pytest.approx(q * np.sqrt(k * (k + 1) / 60), rel=1e-3)


def test_methods_have_to_be_the_same_on_all_sets():
    with pytest.raises(ValueError, match="the same methods on all sets, got \\['a'\\] on 'two'"):
        average_ranks({"one": {"a": 1.0, "b": 2.0}, "two": {"a": 1.0}})


def test_the_interval_of_several_splits_knows_that_they_overlap():
    gains = [0.0, 1.0, 2.0, 1.0, 1.0]
    seeds, splits = claim("a", 1.0, gains), claim("a", 1.0, gains, Runs(splits=5, test_rows=20, train_rows=80))
    assert splits.half_width == pytest.approx(seeds.half_width * 1.5)  # sqrt((1/5 + 1/4) / (1/5))
    assert splits.p > seeds.p
    with pytest.raises(ValueError, match="`test_rows` and `train_rows` should be given"):
        claim("a", 1.0, gains, Runs(splits=5))


@pytest.mark.parametrize(
    ("ours", "half", "direction", "verdict"),
    [
        (-1.0, 0.5, -1, "holds"),
        (-1.0, 2.0, -1, "within noise"),
        (1.0, 0.5, -1, "reversed"),
        (0.2, 0.1, 1, "holds"),
        (-0.8, 0.6, 0, "not published"),
    ],
)
def test_a_claim_without_a_number(ours, half, direction, verdict):
    one = Claim("worse", None, ours, half, direction)
    assert one.verdict == verdict
    shown = {-1: " < 0 ", 1: " > 0 ", 0: "  "}[direction]
    assert f"| worse |{shown}| {ours:+.2f} |" in claims_table([one])


def test_a_claim_has_a_number_or_a_direction():
    for number, direction in ((1.0, 1), (0.0, -1), (None, 2)):
        with pytest.raises(ValueError, match="`direction` should be -1, 0 or 1 if `published` is None"):
            Claim("either", number, 1.0, 0.5, direction)


def test_toys_do_not_enter_counts_and_corrections():
    toy, real = Claim("toy", 9.0, 9.0, 0.0, p=0.01, toy=True), Claim("real", 9.0, 20.0, 0.5, p=0.01)
    assert counts([toy, real]) == "1 published gain: 1 larger."
    assert correct([toy, real]) == [1.0, 0.01]
