"""Leaky expected error: published digits, splits, noise, and gradients that can be worked out by hand."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from metricfit.comparison._statistics import corrected_estimate
from reproductions._claims import Runs
from reproductions._experiment import Scope
from reproductions.leaky_2019 import _curves, _digits, mnist, published, tabular
from reproductions.leaky_2019._protocol import LOSSES, adam, by_xavier, error


@pytest.mark.parametrize(
    ("name", "gain"),
    [("magic", 0.32), ("musk2", 0.63), ("pima", 0.04), ("polyadenylation", -0.16), ("ringnorm", 0.70), ("satellite47", 0.25)],
)
def test_published_gains_of_leaky_over_log_likelihood(name, gain):
    ours = published.tabular_error(name, "NegLog")[0] - published.tabular_error(name, "LEErr")[0]
    assert ours == pytest.approx(gain)


def test_published_margin_grows_with_noise():
    gains = {labels: methods["NegLog"][0] - methods["LEErr"][0] for labels, methods in published.MLP.items()}
    assert gains == pytest.approx({"clean": 0.09, "noisy": 0.16})


def test_two_folds_test_every_row_once_and_share_none_with_training():
    labels = np.repeat([0, 1], [65, 35])
    seen = []
    for fold in range(2):
        train, development, test = tabular.split(labels, 3, fold)
        assert len(development) == 10
        assert sorted([*train, *development, *test]) == list(range(100))
        seen += list(test)
    assert sorted(seen) == list(range(100))
    assert set(tabular.split(labels, 3, 0)[2]) != set(tabular.split(labels, 4, 0)[2])


def test_features_are_standardised_on_training_rows_alone(data):
    (train, _), (development, _), (test, _) = tabular.parts("pima", data, 0, 0)
    torch.testing.assert_close(train.mean(0), torch.zeros(8), rtol=0, atol=1e-5)
    torch.testing.assert_close(train.std(0, correction=0), torch.ones(8), rtol=0, atol=1e-5)
    assert development.mean(0).abs().max() > 1e-3
    assert test.mean(0).abs().max() > 1e-3


def test_a_cell_depends_on_nothing_but_itself(data):
    cell = {"set": "pima", "method": "LEErr", "seed": 1, "fold": 1}
    first = tabular.run(cell, Scope(data, quick=True))
    tabular.run({**cell, "method": "EErr", "fold": 0}, Scope(data, quick=True))
    torch.rand(3)
    assert tabular.run(cell, Scope(data, quick=True)) == first


def found(gains):
    """Ten folds on which EErr and LEErr have so many points less than NegLog."""
    rows = []
    for name, gain in gains.items():
        for place in range(10):
            base = 20.0 + place % 3
            for method in published.METHODS:
                wins = 0.0 if method == "NegLog" else gain + 0.1 * (-1) ** place
                cell = {"set": name, "method": method, "seed": place // 2, "fold": place % 2}
                rows.append((cell, {"test_error": base - wins, "epochs": 100}))
    return rows


def test_summary_counts_wins_by_both_tests():
    """Sd of the differences is 0.105, so 0.1 is 3 standard errors by the t-test, and 0.9 by the corrected one."""
    text = tabular.summary(found({"magic": 1.0, "musk2": 0.1, "pima": -1.0}))
    assert "LEErr against NegLog by the t-test: win 2, tie 0, loss 1; with the corrected p: win 1, tie 1, loss 1." in text
    assert "The paper: win 2, tie 1, loss 0." in text
    assert "EErr against LEErr by the t-test: win 0, tie 3, loss 0" in text


def test_claims_are_the_published_gains_beside_ours():
    claims = tabular.claims(found({"magic": 1.0, "pima": -1.0}))
    assert [(one.text, round(one.published, 2), round(one.ours, 2)) for one in claims] == [
        ("LEErr over NegLog, accuracy, magic", 0.32, 1.0),
        ("LEErr over NegLog, accuracy, pima", 0.04, -1.0),
        ("LEErr over EErr, accuracy, pima", 1.56, 0.0),
    ]
    assert claims[0].runs == Runs(splits=10, test_rows=9510, train_rows=7608)  # a fifth of a half is for development
    assert claims[1].group == claims[2].group != claims[0].group  # both have the runs of LEErr on pima


def test_rows_behind_a_claim_are_those_of_the_protocol(data):
    train, development, test = tabular.parts("pima", data, 0, 0)
    share = len(test[1]) / len(train[1])
    assert tabular.runs_of("pima", 10).test_share == pytest.approx(share, rel=0.02)
    assert len(development[1]) == 12  # of 60
    assert mnist.runs_of(3) == Runs(seeds=3, test_rows=10_000, train_rows=54_000)


def test_p_value_is_that_of_the_paired_t_test():
    random = np.random.default_rng(0)
    before, after = random.normal(20.0, 1.0, 10), random.normal(19.5, 1.0, 10)
    assert corrected_estimate(before - after, 0.0).p == pytest.approx(stats.ttest_rel(before, after).pvalue)


@pytest.mark.parametrize(("method", "share"), [("NegLog", 1.0), ("EErr", 0.1), ("LEErr", 0.2)])
def test_gradient_of_a_blind_model(method, share):
    """All ten classes at 0.1: |p - e_y| is sqrt(0.9² + 9 · 0.1²), times p_y for EErr, times p_y + alpha for LEErr."""
    module = nn.Linear(4, 10)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    rows = torch.randn(7, 4), torch.arange(7)
    assert _curves.mean_gradient(adam(module, method, 1.0), rows) == pytest.approx(share * math.sqrt(0.9), rel=1e-5)


def test_loss_is_that_of_equation_6():
    """At p_y = 1/4: 1 - 1/4 + 0.1 log 4."""
    scores, labels = torch.zeros(1, 4), torch.tensor([2])
    assert LOSSES["LEErr"]()(scores, labels).item() == pytest.approx(0.75 + 0.1 * math.log(4.0))


def test_error_is_in_percent():
    module = by_xavier(nn.Linear(1, 1))
    nn.init.ones_(module.weight)
    rows = torch.tensor([[-1.0], [-2.0], [1.0], [2.0]]), torch.tensor([0, 1, 1, 1])
    assert error(adam(module, "NegLog", 1.0), rows) == 25.0


def test_noise_makes_four_and_a_half_percent_wrong():
    labels = torch.full((60_000,), 3)
    noisy = _digits.with_noise(labels, 0)
    wrong = (noisy != labels).double().mean().item()
    assert wrong == pytest.approx(0.045, abs=4 * math.sqrt(0.045 * 0.955 / 60_000))
    counts = torch.bincount(noisy, minlength=10)
    assert counts[counts < 10_000].min() > 200  # 300 of every other class, give or take
    assert not torch.equal(noisy, _digits.with_noise(labels, 1))


def test_folds_are_nine_to_one_and_test_labels_stay_clean(data):
    clean, noisy = _digits.fold(data, 2), _digits.fold(data, 2, noisy=True)
    assert [len(labels) for _, labels in clean] == [900, 100, 300]
    changed = [(before[1] != after[1]).double().mean().item() for before, after in zip(clean, noisy, strict=True)]
    assert 0.02 < changed[0] < 0.08
    assert changed[2] == 0.0
    assert not torch.equal(clean[1][0], _digits.fold(data, 3)[1][0])
    assert clean[0][0].shape == (900, 784)
    assert clean[0][0].max() == 1.0


def test_perceptron_is_the_papers():
    module = mnist.perceptron(784)
    assert [tuple(p.shape) for p in module.parameters() if p.ndim == 2] == [(300, 784), (200, 300), (100, 200), (10, 100)]
    assert [type(layer).__name__ for layer in module] == [*["Dropout", "Linear", "ReLU"] * 3, "Dropout", "Linear"]


def test_curves_start_from_the_same_weights_and_learn(data):
    train, _, test = _digits.fold(data, 0)
    curves = {method: _curves.curve(train, test, method, 0, 10) for method in published.METHODS}
    assert [row["epoch"] for row in curves["EErr"]] == list(range(11))
    assert len({rows[0]["test_error"] for rows in curves.values()}) == 1
    assert curves["NegLog"][-1]["train_error"] < 0.5 * curves["NegLog"][0]["train_error"]
    assert curves["EErr"][1]["gradient"] < 0.3 * curves["NegLog"][1]["gradient"]


def test_bytes_saturate_the_softmax(data):
    """Where the label's probability is nearly zero or one, the expected error hardly pulls at all."""
    train, _, _ = _digits.fold(data, 0)
    torch.manual_seed(0)
    module = by_xavier(nn.Linear(784, 10))
    plain, large = (
        {method: _curves.mean_gradient(adam(module, method, 1e-4), rows) for method in ("NegLog", "EErr")}
        for rows in (train, _curves.as_bytes(train))
    )
    assert 5.0 < plain["NegLog"] / plain["EErr"] < 20.0
    assert large["NegLog"] / large["EErr"] > 100.0


def test_claim_of_the_figure_is_about_the_last_epoch():
    """EErr is first behind, then ahead by 0.5 points."""
    ends = {"NegLog": (30.0, 8.5), "EErr": (40.0, 8.0), "LEErr": (30.0, 8.0)}
    rows = []
    for method, errors in ends.items():
        cell = {"set": "mnist", "model": "logistic", "labels": "clean", "method": method, "seed": 0}
        rows += [(cell, {"epoch": epoch, "test_error": value}) for epoch, value in enumerate(errors)]
    assert _curves.last_gains(rows) == [0.5]
