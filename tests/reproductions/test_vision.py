"""EXACT's networks on images: what is published, which cells there are, and that they learn."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from reproductions._experiment import Scope
from reproductions._pictures import Standardise
from reproductions._runner import file_name, read_results, run
from reproductions._training import accuracy, cpu_fabric
from reproductions.exact_2022 import _networks, published, vision, vision_search
from reproductions.exact_2022._networks import (
    FULL,
    QUICK,
    SCALED,
    TABLE_7,
    Setting,
    load_images,
    make_network,
    one_cycle,
    setting_of,
    train_network,
    tuned,
)
from reproductions.lab.networks import FastResNet

END = {"step": 1.0, "gradient_norm": 0.5, "test": 50.0, "train": 60.0, "seconds": 60.0, "loss_ms": 0.3}


def test_only_the_scaled_size_multiplies_in_bfloat16(monkeypatch):
    monkeypatch.setattr(_networks, "multiplies_bfloat16", lambda: True)
    module = torch.nn.Linear(2, 2)
    kept = []
    module.register_forward_hook(lambda module, inputs, output: kept.append(output.dtype))
    for scope in (Scope(Path()), Scope(Path(), quick=True)):
        scores = _networks.fabric_of(scope).setup(module)(torch.ones(1, 2))
        assert scores.dtype == torch.float32  # so that the loss is computed in it
    assert kept == [torch.bfloat16, torch.float32]
    assert _networks.fabric_of(Scope(Path(), full=True)) is None


def test_saved_cells_make_a_table(data, tmp_path):
    """Two of ten cells are there; with ``saved`` none is run."""
    scope = Scope(data, quick=True)
    folder = tmp_path / ".exact-vision-cells3"
    folder.mkdir()
    for cell in vision.cells(scope)[:2]:
        (folder / file_name(cell, scope)).write_text(json.dumps([END]))
    text = run(vision.EXPERIMENT, scope, tmp_path, saved=True)
    assert f"2 of {len(vision.cells(scope))} cells are finished." in text
    assert "| cifar10 | SGD | EXACT | 96.33 ± 0.13 | 1 | 50.00 ± 0.00 | +0.00 | 60.00 ± 0.00 |" in text
    assert len(list(folder.iterdir())) == 2


def test_the_full_size_has_a_table_of_margins():
    text = vision.summary([(cell, END) for cell in vision.cells(Scope(Path(), full=True, seeds=1))])
    assert "| margin | mnist | svhn | cifar10 | cifar100 |" in text
    assert "| 0.5 | **50.00 ± 0.00** | 50.00 ± 0.00 | **50.00 ± 0.00** | 50.00 ± 0.00 |" in text
    assert "| 10 |  | **50.00 ± 0.00** |  |  |" in text


@pytest.mark.parametrize(("full", "many", "few"), [(False, 5, 2), (True, 5, 5)])
def test_important_cells_come_first(full, many, few):
    """Three seeds of SGD, then the other optimizers and numbers of samples, then the other seeds of SGD."""
    cells = vision.cells(Scope(Path(), seeds=5, full=full))
    plain = {(cell["optimizer"], cell["seed"]) for cell in cells if cell["variant"] == TABLE_7}
    assert plain == {("SGD", seed) for seed in range(many)} | {(one, seed) for one in ("Adam", "ASAM") for seed in range(few)}
    groups = [(cell["optimizer"], cell["variant"].split()[0], cell["seed"] < 3) for cell in cells]
    order = [("SGD", "Table", True), ("Adam", "Table", True), ("ASAM", "Table", True), ("SGD", "samples", True)]
    assert list(dict.fromkeys(one for one in groups if one[2] and one[1] != "margin")) == order
    assert groups[-1] == ("SGD", "Table", False)
    assert {cell["set"] for cell in cells} == set(published.VISION if full else vision.SETS)


def test_a_cycle_rises_and_falls_to_zero():
    rate = one_cycle(0.5, 100)
    assert [rate(step) for step in (0, 10, 20, 60, 100)] == pytest.approx([0.0, 0.25, 0.5, 0.25, 0.0])


def test_a_network_learns_from_whitened_pictures(data):
    """The first filters are set from the pictures: their responses have about variance 1 each."""
    (images, _), _ = load_images("cifar10", data, QUICK["cifar10"])
    standard = Standardise(images)
    network = make_network(replace(QUICK["cifar10"], network=FastResNet), images)[1].network[1]
    responses = torch.nn.functional.conv2d(standard(images), network.filters, stride=2)
    assert torch.equal(network.filters[:16], -network.filters[16:])
    variances = responses[:, :16].square().mean((0, 2, 3))
    assert (variances > 0.2).all()
    assert (variances < 1.01).all()


def test_a_network_learns_colours(data):
    size = replace(
        QUICK["cifar10"], network=lambda: FastResNet(width=0.25), n_train=200, n_test=60, epochs=5, batch=25, points=4
    )
    train, test = load_images("cifar10", data, size)
    setting = Setting("cifar10", "ASAM", "EXACT", rate=0.2, margin=0.5, sigma=0.5)
    trainer = train_network(setting, size, train, test, 0, cpu_fabric())
    assert accuracy(trainer, test) > 60.0
    assert trainer.normalizer.floor == 0.01  # as _protocol.py declares
    scales = [row["scale"] for row in trainer.history]
    assert len(scales) == size.points
    assert scales[-1] == pytest.approx(0.5, abs=0.1)
    assert scales == sorted(scales, reverse=True)
    rates = [row["lr"] for row in trainer.history]
    assert rates == sorted(rates, reverse=True)  # after the first of four points it falls
    assert rates[-1] < 0.02


def test_a_search_trains_on_none_of_its_held_out_images(data, monkeypatch):
    seen = {}
    monkeypatch.setattr(vision_search, "train_network", lambda *options: seen.update(train=options[2], held_out=options[3]))
    monkeypatch.setattr(vision_search, "accuracy", lambda trainer, held_out: 50.0)
    cell = {"set": "mnist", "optimizer": "Adam", "loss": "EXACT", "draw": 1}
    numbers = vision_search.run(cell, Scope(data, quick=True))
    own = tuned("mnist", "SGD", "EXACT")
    assert numbers == {"rate": vision_search.draws("Adam")[1].rate, "margin": own.margin, "sigma": own.sigma, "held_out": 50.0}
    (images, _), _ = load_images("mnist", data, QUICK["mnist"])
    assert torch.equal(torch.cat([seen["train"][0], *(part for part, _ in seen["held_out"])]), images)


def test_the_best_draws_are_bold_and_are_used():
    """The committed search agrees with the constants of the scaled networks, for the optimizers that it has finished."""
    found = read_results(vision_search.EXPERIMENT, Path(vision_search.__file__).parent / "results" / "exact-vision-search.csv")
    optimizers = {cell["optimizer"] for cell, _ in found}
    assert "SGD" in optimizers
    for name, optimizer, loss in itertools.product(vision_search.SETS, optimizers, published.LOSSES):
        wanted = {"set": name, "optimizer": optimizer, "loss": loss}
        best = max((row for cell, row in found if wanted.items() <= cell.items()), key=lambda row: row["held_out"])
        used = tuned(name, optimizer, loss)
        assert used.rate == pytest.approx(best["rate"], rel=0.01)
        assert used.margin == (pytest.approx(best["margin"], rel=0.01) if loss != "Cross-entropy" else None)
        assert used.sigma == (pytest.approx(best["sigma"], rel=0.01) if loss == "EXACT" else 1.0)
    assert vision_search.summary(found).count("**") == 2 * len(optimizers) * 2 * 3


@pytest.mark.parametrize(
    ("name", "loss", "variant", "expected"),
    [
        ("mnist", "Hinge", TABLE_7, (0.05, 1.0, 5.0, None)),
        ("cifar10", "EXACT", "samples 4", (1.0, None, 0.5, 4)),
        ("cifar10", "EXACT", "margin 0.1", (1.0, None, 0.1, None)),
        ("cifar10", "EXACT", "margin none", (1.0, None, None, None)),
    ],
)
def test_settings_of_the_full_size_are_those_of_table_7(name, loss, variant, expected):
    cell = {"set": name, "optimizer": "SGD", "loss": loss, "variant": variant}
    setting = setting_of(cell, full=True)
    assert (setting.rate, setting.clip, setting.margin, setting.samples) == expected
    assert setting.sigma == 1.0
    assert setting_of(cell | {"optimizer": "ASAM"}, full=True) == replace(setting, optimizer="ASAM")
    assert setting_of(cell | {"optimizer": "Adam"}, full=True) == replace(setting, optimizer="Adam", rate=0.001)
    scaled, own = setting_of(cell), tuned(name, "SGD", loss)
    assert (scaled.rate, scaled.sigma, scaled.samples) == (own.rate, own.sigma, setting.samples)
    assert scaled.margin == (setting.margin if variant.startswith("margin") else own.margin)


def test_digits_lose_their_border_and_are_not_flipped(data):
    (images, labels), (test, _) = load_images("cifar10", data, QUICK["cifar10"])
    assert (images.shape, images.dtype, len(test), labels[:3].tolist()) == ((64, 3, 32, 32), torch.uint8, 50, [0, 1, 2])
    (digits, _), _ = load_images("mnist", data, QUICK["mnist"])
    (whole, _), _ = load_images("mnist", data, replace(QUICK["mnist"], border=0))
    assert torch.equal(digits, whole[..., 2:-2, 2:-2])
    assert {name for name, size in SCALED.items() if size.augmentation().flip} == {"cifar10", "cifar100"}


def test_the_full_size_is_the_papers():
    """Wide ResNets of 11.0 and 36.5 million weights, of bytes as fractions."""
    for name, millions in {"mnist": 1.1, "svhn": 11.0, "cifar10": 36.5, "cifar100": 36.5}.items():
        with torch.device("meta"):
            fractions, _, network = make_network(FULL[name], torch.zeros(1, 3, 32, 32, dtype=torch.uint8))
        assert fractions(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0.0, 0.2, 1.0])
        assert sum(weight.numel() for weight in network.parameters()) / 1e6 == pytest.approx(millions, abs=0.1)
