"""Checkpoints: every optimizer continues with the same bits, and a damaged or foreign file is refused in one line."""

import copy
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_optimizer import SAM
from torch import nn

import metricfit as mf
from metricfit import schedules
from metricfit.training import Batches
from tests.training.common import cpu_trainer, data, same

ROWS = data(60)


def made(seed=0, optimizer=torch.optim.AdamW, module=None, **options):
    torch.manual_seed(seed)
    module = module or nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))
    trainer = cpu_trainer(
        module,
        mf.MetricLoss("f1_macro", memory=0.9),
        optimizer(module.parameters(), lr=0.01, **options),
        scale=schedules.geometric(2.0, 0.5, 20),
        normalizer=mf.GradientNormalizer(),
    )
    return trainer, Batches(*ROWS, size=20, seed=seed)


def trained(seed=0, epochs=2, **options):
    trainer, batches = made(seed, **options)
    trainer.fit(batches, ROWS, epochs=epochs, patience=50)
    return trainer, batches


def everything(trainer, batches):
    """All that a load may change, with memory of its own."""
    names = ("step", "epoch", "since_best", "history", "best", "best_value")
    state = {name: getattr(trainer, name) for name in names}
    state |= {
        "module": trainer.module.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    state |= {
        "loss": trainer.loss.state_dict(),
        "normalizer": trainer.normalizer.state_dict(),
        "batches": batches.state_dict(),
    }
    return copy.deepcopy(state)


def refuse(file, *parts, target=None):
    """Loading raises one line with these parts."""
    trainer, batches = target or made(seed=1)
    with pytest.raises(ValueError, match="cannot be loaded: ") as found:
        trainer.load(file, batches)
    message = str(found.value)
    assert "\n" not in message
    assert len(message) < 600
    assert all(part in message for part in (str(file), *parts)), message


@pytest.fixture
def file(tmp_path):
    trainer, batches = trained()
    trainer.save(tmp_path / "checkpoint", batches)
    return tmp_path / "checkpoint"


def sharpness_aware(parameters, **options):
    return SAM(parameters, torch.optim.AdamW, **options)


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {}),
        (torch.optim.AdamW, {"amsgrad": True}),
        (torch.optim.Adafactor, {}),
        (sharpness_aware, {"adaptive": True}),
    ],
)
def test_every_optimizer_goes_on_with_the_same_bits(tmp_path, optimizer, options):
    options = {"optimizer": optimizer, **options}
    whole, batches = trained(epochs=4, **options)
    expected = everything(whole, batches)
    first, batches = trained(epochs=2, **options)
    first.save(tmp_path / "checkpoint", batches)
    second, batches = made(seed=5, **options)
    second.load(tmp_path / "checkpoint", batches)
    second.fit(batches, ROWS, epochs=4, patience=50)
    assert same(everything(second, batches), expected)


class TestDamaged:
    def test_no_flipped_bit_is_loaded(self, file):
        """It is refused, or it is in the padding of the archive and changes nothing."""
        content, (trainer, batches) = file.read_bytes(), made(seed=1)
        trainer.load(file, batches)
        expected, n_refused = everything(trainer, batches), 0
        for index in range(0, len(content), 97):
            changed = bytearray(content)
            changed[index] ^= 1 << index % 8
            file.write_bytes(changed)
            try:
                trainer.load(file, batches)
            except ValueError as error:
                n_refused += "damaged or incomplete" in str(error)
            assert same(everything(trainer, batches), expected), index
        assert n_refused > 20

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
    def test_a_truncated_file(self, file, share):
        os.truncate(file, int(share * file.stat().st_size))
        refuse(file, "it is damaged or incomplete, or not a checkpoint of this version")


class TestForeign:
    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            made()[0].load(tmp_path / "none")

    def test_code_does_not_run(self, tmp_path):
        class Attack:
            def __reduce__(self):
                return Path.touch, (tmp_path / "ran",)

        (tmp_path / "pickle").write_bytes(pickle.dumps(Attack()))
        refuse(tmp_path / "pickle")
        torch.save({"module": Attack()}, tmp_path / "zip")
        refuse(tmp_path / "zip", "it contains objects other than tensors")
        assert not (tmp_path / "ran").exists()

    def test_something_else_of_torch(self, tmp_path):
        torch.save(torch.ones(3), tmp_path / "tensor")
        refuse(tmp_path / "tensor")
        torch.save({"weights": torch.ones(3)}, tmp_path / "weights")
        refuse(tmp_path / "weights", "'module'")

    def test_of_another_module(self, file):
        refuse(file, "Missing key(s) in state_dict", target=made(seed=1, module=nn.Linear(5, 3)))

    def test_with_a_schedule_and_without(self, file):
        trainer, batches = made(seed=1)
        trainer.lr = torch.optim.lr_scheduler.StepLR(trainer.optimizer.optimizer, 5)
        refuse(file, "'schedule'", target=(trainer, batches))
        trainer.save(file, batches)
        refuse(file, "it has a state of 'schedule', which this trainer lacks")

    def test_without_its_batches(self, file):
        trainer, batches = trained()
        trainer.save(file)
        refuse(file, "it was saved without batches", target=(trainer, batches))


class TestSave:
    @pytest.mark.parametrize("order", [np.float64(1.0), Path("x")])
    def test_what_a_file_cannot_hold(self, file, order):
        trainer, batches = trained()
        content = file.read_bytes()
        batches.state_dict = lambda: {"order": order}
        with pytest.raises(TypeError, match=r"A checkpoint should contain tensors, numbers, .* got (numpy|pathlib)"):
            trainer.save(file, batches)
        assert file.read_bytes() == content
        assert list(file.parent.iterdir()) == [file]

    def test_interrupted_it_leaves_the_one_before(self, file, monkeypatch):
        trainer, batches = trained()
        content, save = file.read_bytes(), trainer.fabric.save

        def interrupt(path, state):
            save(path, state)
            raise KeyboardInterrupt

        monkeypatch.setattr(trainer.fabric, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            trainer.save(file, batches)
        assert file.read_bytes() == content
        assert list(file.parent.iterdir()) == [file]

    def test_a_name_that_cannot_be_written(self, file):
        trainer, batches = made()
        for impossible in (file / "inside", file.parent):
            with pytest.raises(OSError, match="folder"):
                trainer.save(impossible, batches)
