"""Leaky expected error: published digits, splits, noise, and gradients that can be worked out by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from reproductions._claims import Runs
from reproductions.leaky_2019 import _curves, _digits, mnist, published, tabular
from reproductions.leaky_2019._protocol import adam, by_xavier


def test_two_folds_test_every_row_once_and_share_none_with_training():
    labels = np.repeat([0, 1], [65, 35])
    folds = [tabular.split(labels, 3, fold) for fold in range(2)]
    assert all(sorted(np.concatenate(parts)) == list(range(100)) for parts in folds)
    assert sorted([*folds[0][2], *folds[1][2]]) == list(range(100))
    assert set(folds[0][2]) != set(tabular.split(labels, 4, 0)[2])


def test_features_are_standardised_on_training_rows_alone(data):
    (train, _), (development, _), (test, _) = tabular.parts("pima", data, 0, 0)
    torch.testing.assert_close(train.mean(0), torch.zeros(8), rtol=0, atol=1e-5)
    torch.testing.assert_close(train.std(0, correction=0), torch.ones(8), rtol=0, atol=1e-5)
    assert development.mean(0).abs().max() > 1e-3
    assert test.mean(0).abs().max() > 1e-3


def test_rows_behind_a_claim_are_those_of_the_protocol(data):
    train, development, test = tabular.parts("pima", data, 0, 0)
    share = len(test[1]) / len(train[1])
    assert tabular.runs_of("pima", 10).test_share == pytest.approx(share, rel=0.02)
    assert len(development[1]) == 12  # of 60
    assert mnist.runs_of(3) == Runs(seeds=3, test_rows=10_000, train_rows=54_000)


@pytest.mark.parametrize(("method", "share"), [("NegLog", 1.0), ("EErr", 0.1), ("LEErr", 0.2)])
def test_gradient_of_a_blind_model(method, share):
    """All ten classes at 0.1: |p - e_y| is sqrt(0.9² + 9 · 0.1²), times p_y for EErr, times p_y + alpha for LEErr."""
    module = nn.Linear(4, 10)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    rows = torch.randn(7, 4), torch.arange(7)
    assert _curves.mean_gradient(adam(module, method, 1.0), rows) == pytest.approx(share * math.sqrt(0.9), rel=1e-5)


def test_noise_makes_four_and_a_half_percent_wrong():
    labels = torch.full((60_000,), 3)
    noisy = _digits.with_noise(labels, 0)
    wrong = (noisy != labels).double().mean().item()
    assert wrong == pytest.approx(0.045, abs=4 * math.sqrt(0.045 * 0.955 / 60_000))
    counts = torch.bincount(noisy, minlength=10)
    assert counts[counts < 10_000].min() > 200  # about 300 of every other class
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
    assert [layer.p for layer in module if isinstance(layer, nn.Dropout)] == [mnist.DROPOUT] * 4


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
