"""CIFAR-10 by ResNet-18 (leaky expected error) and by Darknet-19 (EAST): augmentation, folds, the choice of a rate, offsets."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from metricfit._errors import UsageError
from reproductions._augment import SHIFT, ShiftAndFlip
from reproductions._experiment import Scope
from reproductions._pictures import Standardise
from reproductions.east_2024 import beta, image
from reproductions.east_2024._images import SETS, load_images, sets_of
from reproductions.east_2024._protocol import Effort
from reproductions.leaky_2019 import images


def test_a_shifted_picture_is_one_of_162():
    """Nine shifts each way, flipped or not, with black where there was nothing."""
    torch.manual_seed(0)
    picture = torch.randint(1, 256, (2, 12, 10), dtype=torch.uint8)
    changed = ShiftAndFlip()(picture.expand(300, -1, -1, -1))
    expected, padded = set(), np.pad(picture.numpy(), ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)))
    for down, right, flip in itertools.product(range(2 * SHIFT + 1), range(2 * SHIFT + 1), (1, -1)):
        expected.add(padded[:, down : down + 12, right : right + 10][:, :, ::flip].tobytes())
    drawn = {one.numpy().tobytes() for one in changed}
    assert drawn <= expected
    assert len(drawn) > 100  # 137 in the mean
    assert torch.equal(ShiftAndFlip().eval()(picture[None]), picture[None])


def test_a_crop_is_a_part_of_its_picture():
    torch.manual_seed(0)
    picture = torch.arange(36).reshape(1, 6, 6)
    crops = ShiftAndFlip(0, 2, flip=False)(picture.expand(200, -1, -1, -1))
    starts = {(row, column) for row in range(3) for column in range(3)}
    assert {(int(crop[0, 0, 0]) // 6, int(crop[0, 0, 0]) % 6) for crop in crops} == starts
    assert all(torch.equal(crop - crop[0, 0, 0], picture[:, :4, :4]) for crop in crops)
    assert torch.equal(ShiftAndFlip(0, 2).eval()(picture[None]), picture[None, :, 1:5, 1:5])


def test_a_picture_of_one_colour_is_standardised_to_finite_numbers():
    known, new = (torch.full((3, 3, 4, 4), value, dtype=torch.uint8) for value in (7, 9))
    assert (Standardise(known)(new) == 2.0).all()


def test_folds_of_pictures_share_none_with_development_and_few_with_each_other(data):
    size = images.Size(0.1, 90, 15, 30, epochs=1, batch=20, rates=(0.01,))
    (train, labels), (development, _), (test, test_labels) = images.fold(data, 1, size)
    assert (len(train), len(development), len(test)) == (90, 15, 30)
    seen = {one.numpy().tobytes() for one in train}
    assert not seen & {one.numpy().tobytes() for one in development}
    other = images.fold(data, 2, size)[0][0]
    assert len(seen & {one.numpy().tobytes() for one in other}) < 70  # half of 180 each: 45 in the mean
    (same, noisy), _, (_, still_clean) = images.fold(data, 1, size, noisy=True)
    assert torch.equal(same, train)
    assert 0 < (noisy != labels).sum() < 15  # 4.5 % of them are 4
    assert torch.equal(still_clean, test_labels)


def test_of_several_rates_the_best_on_development_is_reported(data, monkeypatch):
    held = iter([0.2, 0.6, 0.4])

    def fake(trainer, *_):
        trainer.best_value = (next(held), 0.0)
        trainer.history = [{"metric": trainer.best_value[0], "surrogate": 0.0}]

    monkeypatch.setattr(images, "_fit", fake)
    monkeypatch.setitem(images.SIZES, "quick", images.Size(0.05, 20, 20, 20, epochs=1, batch=20, rates=(0.1, 0.2, 0.3)))
    found = images.run({"set": "cifar10", "labels": "noisy", "method": "NegLog", "seed": 0}, Scope(data, quick=True))
    assert (found["rate"], found["development_accuracy"]) == (0.2, 60.0)


def test_offsets_of_pictures_are_tuned_on_validation_pictures(data, monkeypatch):
    """A network whose first class is far too loud says nothing else; offsets that validation pictures tell repair it."""

    def loud(batches):
        labels = torch.cat([labels for _, labels in batches])
        return nn.functional.one_hot(labels, 10).double() + torch.eye(10)[0] * 5.0, labels

    trainer = SimpleNamespace(history=[], epoch=1, scale=None, scores_and_labels=loud)
    monkeypatch.setattr(image, "_train", lambda *_: trainer)
    found = image.run({"set": "cifar10", "method": "CE", "seed": 0}, Scope(data, quick=True))
    assert found["accuracy"] == 10.0
    assert (found["f1_offsets"], found["mcc_offsets"]) == (100.0, pytest.approx(100.0))


@pytest.fixture(scope="module")
def caltech(tmp_path_factory):
    """Seven small pictures of each of 257 classes, whose colour tells the class."""
    folder = tmp_path_factory.mktemp("caltech")
    random = np.random.default_rng(0)
    for label in range(257):
        own = folder / "caltech256" / "256_ObjectCategories" / f"{label + 1:03}.kind"
        own.mkdir(parents=True)
        for number in range(1, 8):
            noise = random.integers(0, 10, (4, 4, 3))
            colour = np.array([label % 7 * 35, label // 7 % 7 * 35, label // 49 * 35])
            Image.fromarray((colour + noise).astype(np.uint8)).save(own / f"{label + 1:03}_{number:04}.jpg")
    return folder


def test_caltech256_takes_part_at_the_papers_size(caltech):
    assert sets_of(Scope(caltech)) == ("cifar10",)
    assert sets_of(Scope(caltech, full=True)) == ("cifar10", "caltech256")
    assert sets_of(Scope(Path(), full=True)) == ("cifar10",)
    with pytest.raises(UsageError, match="needs --full in east-beta"):
        beta.cells(Scope(caltech, datasets=("caltech256",)))
    methods = [cell["method"] for cell in beta.cells(Scope(caltech, datasets=("caltech256",), full=True, seeds=1))]
    assert methods[:5] == ["CE", "dog 0.25", "dog 5", "frog 0.25", "frog 5"]
    parts = load_images("caltech256", caltech)
    assert [len(labels) for _, labels in (parts.train, parts.validation, parts.test)] == [1151, 288, 360]
    assert set(parts.test[1].bincount().tolist()) == {1, 2}
    assert SETS["caltech256"].n_test == np.ceil(0.2 * 30_607)


def test_caltech256_at_the_papers_size_with_a_small_network(caltech, monkeypatch):
    """Both experiments of Darknet-19, from cells to summary."""
    monkeypatch.setitem(image.SIZES, "full", image.Size(0.02, None, None, Effort(epochs=1, patience=1, give_up_after=1)))
    scope = Scope(caltech, datasets=("caltech256",), full=True, seeds=1)
    found = [(cell, image.run(cell, scope)) for cell in image.cells(scope) if cell["method"] in ("F1*", "CE")]
    assert all(0.0 <= numbers["f1"] <= 100.0 for _, numbers in found)
    cells = [cell for cell in beta.cells(scope) if cell["method"] in ("CE", "dog 5", beta.OFFSETS + "dog 5")]
    text = beta.summary([(cell, beta.run(cell, scope)) for cell in cells])
    assert "## Table 4, Caltech256: beta of dog; test, %" in text
    assert "| beta 5 | 4.8 |" in text
    assert "Table 6" not in text
