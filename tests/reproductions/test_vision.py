"""EXACT's networks on images: what is published, which cells there are, and that they learn."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from metricfit.models import WideResNet
from reproductions._experiment import Scope
from reproductions._runner import read_results, run
from reproductions._training import accuracy, cpu_fabric
from reproductions.exact_2022 import _networks, published, vision
from reproductions.exact_2022._networks import FULL, QUICK, TABLE_7, Setting, load_images, setting_of, train_network


def found(gain=0.0, samples_gain=0.0):
    """Every cell has 50 %, EXACT so much more; with one sample it has so much more than with others."""
    rows = []
    for cell in vision.cells(Scope(Path(), seeds=3)):
        numbers = {"test": 50.0 + cell["seed"], "train": 60.0}
        if cell["loss"] == "EXACT":
            numbers["test"] += gain + samples_gain * (cell["variant"] == "samples 1")
        if cell["loss"] == "EXACT" and cell["optimizer"] == "SGD":
            numbers["loss_ms"] = 2.0
        curve = cell["optimizer"] == "SGD" and cell["variant"] == TABLE_7
        growth = 8.0 if cell["loss"] == "EXACT" else 1.0
        norms = [{"step": 1.0, "gradient_norm": 0.5}, {"step": 2.0, "gradient_norm": 0.5 * growth}]
        rows += [(cell, norms[0]), (cell, norms[1] | numbers)] if curve else [(cell, numbers)]
    return rows


def test_published_gains():
    claims = {claim.text: claim.published for claim in vision.claims(found())}
    expected = {
        "EXACT over cross-entropy, accuracy, mnist, SGD": 0.03,
        "EXACT over hinge, accuracy, mnist, ASAM": -0.04,
        "EXACT over cross-entropy, accuracy, cifar10, SGD": 0.79,
        "EXACT over cross-entropy, accuracy, cifar10, Adam": -1.10,
        "EXACT over hinge, accuracy, cifar10, Adam": -0.01,
        "EXACT over cross-entropy, accuracy, cifar10, ASAM": 0.50,
        "EXACT over hinge, accuracy, cifar10, SGD": 1.97,
        "EXACT, 1 sample over 16, accuracy, cifar10": None,
    }
    assert {text: claims[text] for text in expected} == pytest.approx(expected)
    assert len(claims) == 14


def test_exact_is_best_in_seven_of_twelve_comparisons():
    """Section 6.1.2 counts so in Table 3; a tie of the means, on MNIST with Adam, is not won."""
    wins = 0
    for optimizer in vision.OPTIMIZERS:
        for place in range(len(published.VISION)):
            exact, *others = (published.VISION_TEST[optimizer, loss][place][0] for loss in ("EXACT", "Cross-entropy", "Hinge"))
            wins += exact > max(others)
    assert wins == 7


def test_claims_are_paired_by_seed():
    claims = {claim.text: claim for claim in vision.claims(found(gain=2.0, samples_gain=0.3))}
    ours = claims["EXACT over hinge, accuracy, cifar10, ASAM"]
    assert (ours.ours, ours.half_width) == (2.0, 0.0)
    assert claims["EXACT, 1 sample over 16, accuracy, mnist"].ours == pytest.approx(0.3)


def test_summary_has_what_was_found():
    text = vision.summary(found(gain=2.0))
    assert "| cifar10 | SGD | EXACT | 96.33 ± 0.13 | 53.00 ± 0.82 | +2.00 (+2.00 … +2.00) | 60.00 ± 0.00 |" in text
    assert "| mnist | 0.5 | 0.5 | 1 | 0.5 | 0.5 | 1 | 0.5 | 4 | 8 |" in text  # Figure 5
    assert "| mnist | quadrature | 53.00 ± 0.82 | 2.0 |" in text
    assert "| 0.5 | **53.00 ± 0.82** | **53.00 ± 0.82** |" in text
    assert text.count("*scaled*") >= 4


def test_a_tiny_version(data, tmp_path):
    """As test_runner has it for the experiments that are listed; this one is listed when its results are here."""
    scope = Scope(data, quick=True)
    text = run(vision.EXPERIMENT, scope, tmp_path)
    assert "*scaled*" in text
    assert "nan" not in text
    rows = read_results(vision.EXPERIMENT, tmp_path / "exact-vision-quick.csv")
    assert list(dict.fromkeys(tuple(cell.values()) for cell, _ in rows)) == [
        tuple(cell.values()) for cell in vision.cells(scope)
    ]
    assert (tmp_path / "exact-vision-quick.svg").read_text().startswith("<?xml")


def test_every_cell_is_run_once():
    cells = vision.cells(Scope(Path(), seeds=3))
    assert len(cells) == 2 * 3 * (9 + 3 + 3)
    assert len({tuple(cell.values()) for cell in cells}) == len(cells)
    assert not any(cell["variant"] == "margin 0.5" for cell in cells)  # that is Table 7's
    assert {cell["set"] for cell in vision.cells(Scope(Path(), full=True))} == {"mnist", "svhn", "cifar10"}


@pytest.mark.parametrize(
    ("name", "loss", "variant", "expected"),
    [
        ("mnist", "Cross-entropy", TABLE_7, (0.5, 10.0, None, None)),
        ("mnist", "Hinge", TABLE_7, (0.05, 1.0, 5.0, None)),
        ("svhn", "EXACT", TABLE_7, (1.0, None, 10.0, None)),
        ("cifar10", "EXACT", "samples 4", (1.0, None, 0.5, 4)),
        ("cifar10", "EXACT", "margin 0.1", (1.0, None, 0.1, None)),
        ("cifar10", "EXACT", "margin none", (1.0, None, None, None)),
    ],
)
def test_settings_of_the_full_size_are_those_of_table_7(name, loss, variant, expected):
    cell = {"set": name, "optimizer": "SGD", "loss": loss, "variant": variant}
    setting = setting_of(cell, full=True)
    assert (setting.rate, setting.clip, setting.margin, setting.samples) == expected
    assert setting.last_rate == 1e-4
    assert setting_of(cell | {"optimizer": "ASAM"}, full=True) == replace(setting, optimizer="ASAM")
    assert setting_of(cell | {"optimizer": "Adam"}, full=True) == replace(setting, optimizer="Adam", rate=0.001)
    scaled = setting_of(cell)
    assert replace(scaled, rate=setting.rate, last_rate=setting.last_rate) == setting


def test_networks_of_the_full_size_are_the_papers():
    with torch.device("meta"):
        sizes = {name: sum(weight.numel() for weight in size.network().parameters()) for name, size in FULL.items()}
    assert {name: round(size / 1e6, 1) for name, size in sizes.items()} == {"mnist": 1.1, "svhn": 11.0, "cifar10": 36.5}
    assert {name: (size.epochs, size.batch) for name, size in FULL.items()} == {
        "mnist": (150, 256),
        "svhn": (150, 256),
        "cifar10": (500, 256),
    }


def test_images_are_floats_and_halved(data):
    (images, labels), (test, _) = load_images("cifar10", data, QUICK["cifar10"])
    assert images.shape == (64, 3, 16, 16)
    assert len(test) == 50
    assert 0.0 <= images.min() <= images.max() <= 1.0
    whole, _ = load_images("cifar10", data, replace(QUICK["cifar10"], shrink=None))
    torch.testing.assert_close(images[5, 1, 3, 2], whole[0][5, 1, 6:8, 4:6].mean())
    assert labels[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("optimizer", ["SGD", "ASAM"])
def test_a_network_learns_colours(data, optimizer):
    size = replace(
        QUICK["cifar10"], network=lambda: WideResNet(10, 0.25), n_train=200, n_test=60, epochs=5, batch=25, points=4
    )
    train, test = load_images("cifar10", data, size)
    setting = Setting("cifar10", optimizer, "EXACT", rate=0.2, last_rate=1e-3, margin=0.5)
    trainer = train_network(setting, size, train, test, 0, cpu_fabric())
    assert accuracy(trainer, test) > 60.0
    scales = [row["scale"] for row in trainer.history]
    assert len(scales) == size.points
    assert scales[-1] == pytest.approx(1.0, abs=0.1)
    assert scales == sorted(scales, reverse=True)
    assert trainer.history[-1]["lr"] == pytest.approx(1e-3, rel=0.2)


def test_a_cell_depends_on_nothing_but_itself(data):
    cell = {"set": "mnist", "optimizer": "ASAM", "loss": "EXACT", "variant": TABLE_7, "seed": 1}
    first = vision.run(cell, Scope(data, quick=True))
    torch.rand(3)
    assert vision.run(cell, Scope(data, quick=True)) == first


def test_augmentation_is_on_at_full_size(data, monkeypatch):
    """The first layer is the augmentation of the set, and the accuracy is that of unchanged images."""
    used = []
    real = _networks.datasets.augmentation
    monkeypatch.setattr(_networks.datasets, "augmentation", lambda name: used.append(name) or real(name))
    size = replace(QUICK["mnist"], full=True)
    train, test = load_images("mnist", data, size)
    train_network(Setting("mnist", "SGD", "Cross-entropy", 0.1, 0.01, None), size, train, test, 0, cpu_fabric())
    assert used == ["mnist"]
