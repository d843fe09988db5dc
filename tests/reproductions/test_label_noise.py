"""Wrong labels: noise as defined, clean test rows, losses that can be worked out by hand, and gains counted over sets."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import metricfit as mf
from metricfit._errors import DataError
from metricfit.training import Batches
from reproductions._experiment import Scope
from reproductions.beyond import _noise_gains, _noise_sets, label_noise
from reproductions.beyond._noise_methods import EXACT, METHODS, MIXUP, NORMALISED, MixupBatches
from reproductions.beyond._noise_methods import symmetric_cross_entropy as symmetric
from reproductions.beyond._noise_sets import NOISES, Noise, load_parts


def noisy(kind, rate, labels):
    return Noise(kind, rate).apply(labels, 5, np.random.default_rng(0))


@pytest.mark.parametrize(("kind", "shares"), [("symmetric", [0.6, 0.1, 0.1, 0.1, 0.1]), ("pair", [0.6, 0.4, 0, 0, 0])])
def test_noise_is_wrong_as_often_and_in_the_ways_that_it_says(kind, shares):
    """A pair's label moves to the next class; symmetric noise to each other class alike. More noise changes the same labels."""
    labels = np.arange(40_000) % 5
    few, many = (noisy(kind, rate, labels) for rate in (0.4, 0.6))
    moved = np.bincount((few - labels) % 5, minlength=5) / len(labels)
    assert moved == pytest.approx(np.array(shares), abs=4 * 0.5 / 200)  # a share's deviation is at most 0.5 / sqrt(40,000)
    assert (many[few != labels] == few[few != labels]).all()


def test_test_rows_are_clean_and_all_noises_share_their_rows(data):
    (clean, n_classes), (wrong, _) = (load_parts(data, "mnist", NOISES[name], 1, 700) for name in ("none", "pair 40 %"))
    assert n_classes == 10
    for part, size, share in (("train", 400, 0.4), ("validation", 100, 0.4), ("test", 200, 0.0)):
        (images, labels), (same, found) = getattr(clean, part), getattr(wrong, part)
        assert len(labels) == size
        assert torch.equal(images, same)
        assert (labels != found).double().mean().item() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / size))
    another, _ = load_parts(data, "mnist", NOISES["none"], 2, 700)
    assert not torch.equal(another.train[0], clean.train[0])


@pytest.mark.parametrize("name", ["mnist", "satellite", "trec", "cifar10"])
def test_features_are_fitted_to_training_rows(data, name):
    parts, _ = load_parts(data, name, NOISES["none"], 0, 140)
    features, _ = parts.train
    assert len(features) == {"trec": 54}.get(name, 80)  # of 96 questions
    assert features.isfinite().all()
    if name != "trec":
        assert features.mean().item() == pytest.approx(0.0, abs=1e-5)
        assert parts.test[0].mean().abs() > 1e-5


def test_fashion_is_sought_in_the_data_folder_then_where_debian_puts_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_noise_sets, "DEBIAN", tmp_path / "debian")
    with pytest.raises(DataError, match=r"own/fashion-mnist/train-images-idx3-ubyte.gz is missing"):
        load_parts(tmp_path / "own", "fashion-mnist", NOISES["none"], 0, 100)
    for folder in ("debian", "own"):
        (tmp_path / folder / "fashion-mnist").mkdir(parents=True)
        assert _noise_sets._folder(tmp_path / "own", "fashion-mnist") == tmp_path / folder / "fashion-mnist"


def test_symmetric_cross_entropy_is_four_times_a_leaky_expected_error():
    scores = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.arange(6) % 4
    ours, leaky = symmetric(scores, labels), 4.0 * mf.LeakyExpectedErrorLoss(0.025)(scores, labels)
    torch.testing.assert_close(ours, leaky)
    (gradient,), (wanted,) = (torch.autograd.grad(loss, scores) for loss in (ours, leaky))
    torch.testing.assert_close(gradient, wanted)


@pytest.mark.parametrize("method", [EXACT, NORMALISED])
def test_normalised_losses_do_not_depend_on_the_scale_of_scores(method):
    scores, labels, loss = torch.randn(20, 3), torch.arange(20) % 3, METHODS[method].loss()
    torch.testing.assert_close(loss(7.0 * scores + 2.0, labels), loss(scores, labels))


def test_mixed_rows_have_mixed_labels():
    labels = torch.arange(8) % 4
    one_hot = torch.nn.functional.one_hot(labels).float()
    mixed = MixupBatches(Batches(one_hot, labels, size=8, seed=0), 4, 0)
    first, second = (next(iter(mixed)) for _ in range(2))
    for features, targets in (first, second):
        torch.testing.assert_close(features, targets)
        torch.testing.assert_close(targets.sum(1), torch.ones(8))
    shares = [targets.amax(1).min().item() for _, targets in (first, second)]
    assert shares[0] != shares[1]
    assert len(mixed) == 1


def test_stopped_is_the_first_epoch_with_the_best_noisy_validation_accuracy(data, monkeypatch):
    """The test accuracy of epoch e is 10 e here."""
    validation = [0.2, 0.5, 0.4, 0.5]

    class Fake:
        def __init__(self, *arguments, **options):
            self.epoch = 0

        def fit(self, batches, held_out, *, epochs):
            self.epoch = epochs
            return [{"metric": value} for value in validation[:epochs]]

    monkeypatch.setattr(label_noise, "Trainer", Fake)
    monkeypatch.setattr(label_noise, "accuracy", lambda trainer, rows: 10.0 * trainer.epoch)
    monkeypatch.setattr(label_noise, "QUICK_EPOCHS", 4)
    found = label_noise.run({"set": "trec", "noise": "none", "method": MIXUP, "seed": 0}, Scope(data, quick=True))
    assert found == {"validation": 50.0, "epoch": 2, "stopped": 20.0, "last": 40.0, "train": 40.0}


def test_full_size_has_all_rows(data, monkeypatch):
    seen = []
    monkeypatch.setattr(label_noise, "FULL_EPOCHS", 1)
    monkeypatch.setattr(label_noise, "accuracy", lambda trainer, rows: seen.append(len(rows[1])) or 50.0)
    found = label_noise.run({"set": "satellite", "noise": "none", "method": EXACT, "seed": 0}, Scope(data, full=True))
    assert (found["epoch"], seen) == (1, [60, 60, 120])  # of 210: test rows twice, then training rows


def test_cells_are_balanced_but_for_the_costly_set():
    cells = label_noise.cells(Scope(Path(), seeds=5))
    assert len(cells) == 6 * 6 * 8 * 5 + 6 * 8 * 3
    assert {cell["seed"] for cell in cells if cell["set"] == "cifar10"} == {0, 1, 2}


@pytest.mark.parametrize(("shape", "full"), [((1, 28, 28), False), ((3, 32, 32), False), ((3, 32, 32), True)])
def test_networks_of_pictures(shape, full):
    features = torch.zeros(2, *shape)
    assert label_noise.network(features, 10, full=full).eval()(features).shape == (2, 10)


def test_sets_are_units_however_many_seeds_they_have():
    """Means of 3 and -2 over two sets: 0.5, and its half width is 12.7 times 2.5."""
    found = _noise_gains.Gain({"car": [3.0, 3.0], "trec": [-2.0]})
    assert (found.over_sets.mean, found.over_sets.high) == pytest.approx((0.5, 0.5 + 12.706 * 2.5), rel=1e-4)
    assert (found.worst, found.wilcoxon) == ("trec", 1.0)
    assert _noise_gains.Gain({"a": [1.0, 1.0], "b": [3.0, 3.0]}).over_seeds == (2.0, 2.0)
    assert _noise_gains.Gain({"a": [1.0]}).over_seeds == (-math.inf, math.inf)
