"""Checkpoints in the middle of an epoch, of a group of batches and of an annealing: training resumes with the same bits."""

import pytest
import torch
from pytorch_optimizer import SAM
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import metricfit as mf
from metricfit.training import Batches, Trainer, anneal
from tests.training.common import cpu_trainer, data, same

ROWS = data(70)


class Augmented(Dataset):
    """Rows with noise, drawn when they are loaded."""

    def __len__(self):
        return 70

    def __getitem__(self, index):
        return ROWS[0][index] + 0.1 * torch.randn(5), ROWS[1][index]


BATCHES = {
    "Batches": lambda: Batches(*ROWS, size=10, seed=2),
    "Batches with steps": lambda: Batches(*ROWS, size=20, steps=7, seed=2),
    "list": lambda: [*zip(*(one.split(10) for one in ROWS), strict=True)],
    "DataLoader": lambda: DataLoader(TensorDataset(*ROWS), batch_size=10, shuffle=True),
    "DataLoader that draws": lambda: DataLoader(Augmented(), batch_size=10, shuffle=True),
}


class Kept(Trainer):
    """Keeps every checkpoint that a training writes."""

    def save(self, file, batches=None):
        self.n_saved = getattr(self, "n_saved", 0) + 1
        super().save(f"{file}{self.n_saved}", batches)


def made(kind=Trainer, sharp=False, **options):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Dropout(0.4), nn.Linear(6, 3))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    if sharp:
        optimizer = SAM(module.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
    lr = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    loss = mf.MetricLoss("f1_macro", memory=0.8)
    return cpu_trainer(module, loss, optimizer, kind=kind, lr=lr, normalizer=mf.GradientNormalizer(), **options)


def end_of(trainer):
    """All that is left of a training."""
    states = [one.state_dict() for one in (trainer.module, trainer.optimizer, trainer.loss, trainer.normalizer, trainer.lr)]
    return *states, trainer.history, trainer.best, trainer.best_value, trainer.since_best, torch.get_rng_state()


def resume_from_many(tmp_path, run, new_batches, **options):
    """Train with many checkpoints; then resume from every other, and end as the first did."""
    trainer = made(Kept, **options)
    run(trainer, new_batches(), tmp_path / "checkpoint")
    expected = end_of(trainer)
    for number in range(1, trainer.n_saved + 1, 2):
        other, batches = made(**options), new_batches()
        torch.manual_seed(number)
        other.load(tmp_path / f"checkpoint{number}", batches)
        run(other, batches, tmp_path / "again")
        assert same(end_of(other), expected), number
    return trainer


@pytest.mark.parametrize("name", BATCHES)
def test_from_any_step(tmp_path, name):
    def run(trainer, batches, file):
        trainer.fit(batches, ROWS, epochs=2, patience=1, checkpoint=file, checkpoint_every=1)

    trainer = resume_from_many(tmp_path, run, BATCHES[name])
    assert trainer.n_saved == trainer.step + 1 == 15


@pytest.mark.parametrize("sharp", [False, True])
def test_with_accumulation(tmp_path, sharp):
    """Seven batches in groups of three: 3, 3 and 1."""

    def run(trainer, batches, file):
        trainer.fit(batches, ROWS, epochs=2, checkpoint=file, checkpoint_every=1)

    trainer = resume_from_many(tmp_path, run, BATCHES["Batches"], accumulate=3, sharp=sharp)
    assert trainer.step == 6


def test_an_annealing(tmp_path):
    def run(trainer, batches, file):
        options = {"start": 0.5, "rate": 0.5, "patience": 1, "give_up_after": 2, "epochs": 9}
        anneal(trainer, batches, ROWS, **options, checkpoint=file, checkpoint_every=4)

    trainer = resume_from_many(tmp_path, run, BATCHES["Batches"])
    assert len({row["scale"] for row in trainer.history}) > 1
    assert trainer.annealing is None


def test_after_every_epoch(tmp_path):
    """The last checkpoint has the best weights, the others the last ones."""
    trainer = made(Kept)
    trainer.fit(BATCHES["Batches"](), ROWS, epochs=3, patience=9, checkpoint=tmp_path / "checkpoint")
    states = [torch.load(tmp_path / f"checkpoint{number}", weights_only=True) for number in range(1, 5)]
    assert [state["epoch"] for state in states] == [1, 2, 3, 3]
    assert all(state["processes"][0]["epoch"] is None for state in states)
    assert same(states[3]["module"], dict(trainer.best))


class TestInTheMiddleOfAnEpoch:
    @pytest.fixture
    def file(self, tmp_path):
        trainer = made(Kept)
        options = {"start": 0.5, "patience": 9, "epochs": 2}
        anneal(trainer, BATCHES["Batches"](), ROWS, **options, checkpoint=tmp_path / "checkpoint", checkpoint_every=4)
        return tmp_path / "checkpoint2"  # after eight steps: one of the second epoch

    def test_without_its_batches(self, file):
        with pytest.raises(ValueError, match=r"in the middle of an epoch: pass its batches, `load\(file, batches\)`"):
            made().load(file)

    def test_fewer_batches_without_a_length(self, file):
        class Few(Batches):
            __len__ = None

            def __iter__(self):
                yield from ()

        trainer, batches = made(), Few(*ROWS, size=10)
        trainer.load(file, batches)
        with pytest.raises(ValueError, match="`batches` should be those of the checkpoint, at least 1, got 0"):
            trainer.fit(batches, ROWS, epochs=2, stop_by="loss")


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="`checkpoint` should be a file with `checkpoint_every`, got None"):
        made().fit(BATCHES["list"](), ROWS, epochs=1, checkpoint_every=5)
    with pytest.raises(ValueError, match="`checkpoint_every` should be at least 1"):
        made().fit(BATCHES["list"](), ROWS, epochs=1, checkpoint=tmp_path / "file", checkpoint_every=0)


def test_an_epoch_that_fails_is_left(tmp_path):
    """A new call begins a new epoch, as after any error."""
    trainer, failing = made(), [*BATCHES["list"](), (None, None)]
    with pytest.raises(TypeError):
        trainer.fit(failing, ROWS, epochs=1)
    assert trainer.unfinished is None
    assert trainer.fit(failing[:-1], ROWS, epochs=1)[0]["step"] == 14
