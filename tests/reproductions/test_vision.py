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
from reproductions.lab import datasets
from reproductions.lab.networks import FastResNet


def found(gain=0.0, samples_gain=0.0):
    """Every cell has 50 %, EXACT so much more; with one sample it has so much more than with others."""
    rows = []
    for cell in vision.cells(Scope(Path(), seeds=3)):
        numbers = {"test": 50.0 + cell["seed"], "train": 60.0, "seconds": 90.0}
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
    assert "| cifar10 | SGD | EXACT | 96.33 ± 0.13 | 3 | 53.00 ± 0.82 | +2.00 (+2.00 … +2.00) | 60.00 ± 0.00 |" in text
    assert "| cifar10 | ASAM | EXACT | 96.73 ± 0.08 | 2 | 52.50 ± 0.50 |" in text
    assert "takes 1.5 minutes on cifar10 and 1.5 minutes on mnist" in text
    assert "| mnist | 0.5 | 0.5 | 1 | 0.5 | 0.5 | 1 | 0.5 | 4 | 8 |" in text  # Figure 5
    assert "| mnist | quadrature | 3 | 53.00 ± 0.82 | 2.0 |" in text
    assert "by its margin" not in text
    assert "bfloat16" not in text
    assert text.count("*scaled*") >= 3


def test_summary_says_how_many_runs_are_in_bfloat16():
    some = [(cell, row | {"bfloat16": float(cell["seed"] == 0)} if "test" in row else row) for cell, row in found()]
    n_first, n_runs = (sum("test" in row and cell["seed"] <= last for cell, row in some) for last in (0, 2))
    assert f" {n_first} of {n_runs} runs are in bfloat16, the others in float32." in vision.summary(some)
    first = [(cell, row) for cell, row in some if cell["seed"] == 0]
    assert "All runs are in bfloat16." in vision.summary(first)


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


def test_summary_of_a_part_leaves_the_rest_empty():
    """EXACT has a seed that hinge does not have, and MNIST has no cell."""
    some = [(cell, row) for cell, row in found(gain=2.0) if cell["set"] == "cifar10" and cell["optimizer"] == "SGD"]
    some = [(cell, row) for cell, row in some if cell["variant"] == TABLE_7 and cell["seed"] < 1 + (cell["loss"] != "Hinge")]
    text = vision.summary(some)
    assert "| cifar10 | SGD | Hinge | 94.36 ± 0.09 | 1 | 50.00 ± 0.00 | +0.00 | 60.00 ± 0.00 |" in text
    assert "| cifar10 | SGD | EXACT | 96.33 ± 0.13 | 2 | 52.50 ± 0.50 | +2.00 (+2.00 … +2.00) | 60.00 ± 0.00 |" in text
    assert {claim.text: claim.runs.seeds for claim in vision.claims(some)} == {
        "EXACT over cross-entropy, accuracy, cifar10, SGD": 2,
        "EXACT over hinge, accuracy, cifar10, SGD": 1,
    }
    without_hinge = [(cell, row) for cell, row in some if cell["loss"] != "Hinge"]
    text = vision.summary(without_hinge)
    assert "| cifar10 | SGD | Hinge | 94.36 ± 0.09 |  |  |  |  |" in text
    assert "| cifar10 | 0.5 | 0.5 | 1 |  |  |  | 0.5 | 4 | 8 |" in text
    assert vision.figure(without_hinge) is not None


def test_the_full_size_has_margins():
    cells = vision.cells(Scope(Path(), full=True, seeds=1))
    rows = [(cell, {"test": 50.0, "train": 60.0, "gradient_norm": 1.0, "loss_ms": 1.0, "seconds": 1.0}) for cell in cells]
    text = vision.summary(rows)
    assert "| 0.5 | **50.00 ± 0.00** | 50.00 ± 0.00 | **50.00 ± 0.00** |" in text  # mnist, svhn and cifar10
    assert "| 10 |  | **50.00 ± 0.00** |  |" in text


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


def test_saved_cells_make_a_table(data, tmp_path):
    """Two of ten cells are there; with ``saved`` none is run."""
    scope = Scope(data, quick=True)
    folder = tmp_path / ".exact-vision-cells3"
    folder.mkdir()
    for cell in vision.cells(scope)[:2]:
        numbers = {"step": 1.0, "gradient_norm": 0.5, "test": 50.0, "train": 60.0, "seconds": 60.0, "loss_ms": 0.3}
        (folder / file_name(cell, scope)).write_text(json.dumps([numbers]))
    text = run(vision.EXPERIMENT, scope, tmp_path, saved=True)
    assert f"2 of {len(vision.cells(scope))} cells are finished." in text
    assert "| cifar10 | SGD | EXACT | 96.33 ± 0.13 | 1 | 50.00 ± 0.00 | +0.00 | 60.00 ± 0.00 |" in text
    assert len(list(folder.iterdir())) == 2


def test_cells_come_in_the_order_of_their_importance():
    """SGD has all seeds, others two; the losses of one seed come together, and the last seeds of SGD come last."""
    cells = vision.cells(Scope(Path(), seeds=5))
    assert len(cells) == 2 * (3 * (5 + 2 + 2) + 3 * 2)
    assert len({tuple(cell.values()) for cell in cells}) == len(cells)
    assert [cell["loss"] for cell in cells[:3]] == ["Cross-entropy", "EXACT", "Hinge"]
    assert [(cell["set"], cell["seed"]) for cell in cells[:7]] == [("cifar10", 0)] * 3 + [("mnist", 0)] * 3 + [("cifar10", 1)]
    order = list(dict.fromkeys((cell["optimizer"], cell["variant"].split()[0]) for cell in cells))
    assert order == [("SGD", "Table"), ("Adam", "Table"), ("ASAM", "Table"), ("SGD", "samples")]
    assert [cell["seed"] for cell in cells[:18]] == [0] * 6 + [1] * 6 + [2] * 6
    assert {(cell["optimizer"], cell["variant"], cell["seed"]) for cell in cells[-12:]} == {
        ("SGD", TABLE_7, 3),
        ("SGD", TABLE_7, 4),
    }
    full = vision.cells(Scope(Path(), full=True, seeds=5))
    assert {cell["set"] for cell in full} == {"mnist", "svhn", "cifar10"}
    assert {cell["seed"] for cell in full if cell["optimizer"] == "ASAM"} == set(range(5))
    assert not any(cell["variant"] == "margin 0.5" for cell in full if cell["set"] != "svhn")  # that is Table 7's


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
    assert setting.sigma == 1.0
    assert setting_of(cell | {"optimizer": "ASAM"}, full=True) == replace(setting, optimizer="ASAM")
    assert setting_of(cell | {"optimizer": "Adam"}, full=True) == replace(setting, optimizer="Adam", rate=0.001)
    scaled, own = setting_of(cell), tuned(name, "SGD", loss)
    assert (scaled.rate, scaled.sigma, scaled.samples) == (own.rate, own.sigma, setting.samples)
    assert scaled.margin == (setting.margin if variant.startswith("margin") else own.margin)


def test_networks_of_the_full_size_are_the_papers():
    with torch.device("meta"):
        sizes = {name: sum(weight.numel() for weight in size.network().parameters()) for name, size in FULL.items()}
    assert {name: round(size / 1e6, 1) for name, size in sizes.items()} == {"mnist": 1.1, "svhn": 11.0, "cifar10": 36.5}
    assert {name: (size.epochs, size.batch) for name, size in FULL.items()} == {
        "mnist": (150, 256),
        "svhn": (150, 256),
        "cifar10": (500, 256),
    }


def test_digits_lose_their_border_and_pictures_do_not(data):
    (images, labels), (test, _) = load_images("cifar10", data, QUICK["cifar10"])
    assert (images.shape, images.dtype, len(test)) == ((64, 3, 32, 32), torch.uint8, 50)
    assert labels[:3].tolist() == [0, 1, 2]
    (digits, _), _ = load_images("mnist", data, QUICK["mnist"])
    (whole, _), _ = load_images("mnist", data, replace(QUICK["mnist"], border=0))
    assert torch.equal(digits, whole[..., 2:-2, 2:-2])


def test_digits_are_not_flipped():
    assert {name: size.augmentation().flip for name, size in SCALED.items()} == {
        "mnist": False,
        "svhn": False,
        "cifar10": True,
    }


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


@pytest.mark.parametrize("optimizer", ["SGD", "ASAM"])
def test_a_network_learns_colours(data, optimizer):
    size = replace(
        QUICK["cifar10"], network=lambda: FastResNet(width=0.25), n_train=200, n_test=60, epochs=5, batch=25, points=4
    )
    train, test = load_images("cifar10", data, size)
    setting = Setting("cifar10", optimizer, "EXACT", rate=0.2, margin=0.5, sigma=0.5)
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


def test_a_cell_depends_on_nothing_but_itself(data):
    cell = {"set": "mnist", "optimizer": "ASAM", "loss": "EXACT", "variant": TABLE_7, "seed": 1}
    (first,) = vision.run(cell, Scope(data, quick=True))
    torch.rand(3)
    (second,) = vision.run(cell, Scope(data, quick=True))
    assert first | {"seconds": 0.0} == second | {"seconds": 0.0}


@pytest.mark.parametrize(("name", "augmentation"), [("mnist", "mnist"), ("svhn", "svhn"), ("cifar10", "cifar10")])
def test_images_of_the_full_size_are_fractions_with_the_augmentation_of_the_paper(name, augmentation):
    with torch.device("meta"):
        fractions, changes, _ = make_network(FULL[name], torch.zeros(1, 3, 32, 32, dtype=torch.uint8))
        assert str(changes) == str(datasets.augmentation(augmentation))
    assert fractions(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0.0, 0.2, 1.0])


def test_every_loss_has_the_same_draws(data):
    cells = vision_search.cells(Scope(Path()))
    for optimizer, ((low, high), number) in vision_search.RATES.items():
        rates = [draw.rate for draw in vision_search.draws(optimizer)]
        bounds = [low * (high / low) ** (index / number) for index in range(number + 1)]
        assert [sum(a <= rate < b for rate in rates) for a, b in itertools.pairwise(bounds)] == [1] * number
        for loss in published.LOSSES:
            own = [cell["draw"] for cell in cells if (cell["optimizer"], cell["loss"]) == (optimizer, loss)]
            assert sorted(own) == sorted([*range(len(rates))] * len(vision_search.SETS))


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
