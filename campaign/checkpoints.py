"""Checkpoints of a training: damaged bytes, and files with code.

``Trainer.load`` has to refuse each in one line, or to load what was saved: some bytes of a file are padding.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from numpy.random import Generator
from torch import Tensor, nn

import metricfit as mf
from campaign._tally import Outcome, Tally
from metricfit.training import Batches, Fabric, Trainer, anneal

PLAIN = ("step", "epoch", "since_best", "history", "best", "best_value", "stop_by", "annealing")


class Unfinished(Trainer):
    """Saves only in the middle of an epoch, so that this is what a file keeps."""

    def save(self, file: str | Path, batches: Any = None) -> None:
        if self.unfinished is not None:
            super().save(file, batches)


class Run:
    """A small annealing, and all that a load may change."""

    def __init__(self, seed: int) -> None:
        random = torch.manual_seed(seed)  # the weights are drawn from it, too
        self.rows = torch.randn(40, 3, generator=random), torch.randint(2, (40,), generator=random)
        self.module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        loss, optimizer = mf.MetricLoss("f1", memory=0.5), torch.optim.AdamW(self.module.parameters(), lr=0.01)
        fabric, self.normalizer = Fabric(accelerator="cpu", devices=1), mf.GradientNormalizer()
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
        self.trainer = Unfinished(self.module, loss, optimizer, lr=self.schedule, normalizer=self.normalizer, fabric=fabric)
        self.loss, self.batches = loss, Batches(*self.rows, size=20, seed=seed)

    def train(self, epochs: int, file: Path) -> None:
        """Train so many epochs; the file is saved in the middle of each."""
        anneal(self.trainer, self.batches, self.rows, epochs=epochs, patience=10**6, checkpoint=file, checkpoint_every=1)

    def state(self) -> dict[str, Any]:
        state = {name: getattr(self.trainer, name) for name in PLAIN} | {"random": torch.get_rng_state()}
        stateful = {"module": self.module, "optimizer": self.trainer.optimizer, "batches": self.batches, "loss": self.loss}
        stateful |= {"normalizer": self.normalizer, "schedule": self.schedule, "epoch": self.trainer.unfinished}
        return copy.deepcopy(state | {name: None if one is None else one.state_dict() for name, one in stateful.items()})


def run(random: Generator, n_cases: int, folder: Path) -> Tally:
    """Save one checkpoint, and load ``n_cases`` changed copies of it into other trainings."""
    tally, original, file, ran = Tally("checkpoints"), folder / "original", folder / "changed", folder / "code-ran"
    Run(0).train(2, original)
    whole = Run(1)
    whole.trainer.load(original, whole.batches)
    expected = whole.state()
    for case in range(n_cases):
        name, damage = ATTACKS[case % len(ATTACKS)]
        what = f"case {case}, {name}: {damage(random, original, file, ran)}"
        tally.count(*_judge(Run(1), file, expected, ran, what))
    return tally


def _judge(run: Run, file: Path, expected: dict[str, Any], ran: Path, what: str) -> tuple[Outcome, str]:
    message = ""
    try:
        run.trainer.load(file, run.batches)
    except ValueError as error:
        message = str(error)
    except Exception as error:
        return Outcome.TRACEBACK, f"{what}: {error!r}"
    if ran.exists():
        ran.unlink()
        return Outcome.CODE, what
    if message:
        return (Outcome.REFUSED if "\n" not in message and str(file) in message else Outcome.WRONG), f"{what}: {message}"
    return (Outcome.ANSWERED if same(run.state(), expected) else Outcome.WRONG), what


def same(one: Any, other: Any) -> bool:
    """Whether two states are the same, bit for bit."""
    if isinstance(one, Tensor):
        return (
            isinstance(other, Tensor) and one.dtype == other.dtype and one.shape == other.shape and _bits(one) == _bits(other)
        )
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)


def _bits(tensor: Tensor) -> bytes:
    return tensor.detach().contiguous().numpy().tobytes()


Damage = Callable[[Generator, Path, Path, Path], str]  # from the original to the changed file; where code would write


def _of_bytes(change: Callable[[Generator, bytearray], str]) -> Damage:
    """A change of the bytes."""

    def damage(random: Generator, original: Path, file: Path, ran: Path) -> str:
        content = bytearray(original.read_bytes())
        what = change(random, content)
        file.write_bytes(content)
        return what

    return damage


def _flip(random: Generator, content: bytearray) -> str:
    index, bit = int(random.integers(len(content) if random.random() < 0.7 else 200)), int(random.integers(8))
    content[index] ^= 1 << bit
    return f"bit {bit} of byte {index}"


def _truncate(random: Generator, content: bytearray) -> str:
    del content[int(random.integers(len(content))) :]
    return f"after {len(content)} bytes"


def _insert(random: Generator, content: bytearray) -> str:
    index = int(random.integers(len(content) + 1))
    content[index:index] = random.bytes(int(random.integers(1, 9)))
    return f"at byte {index}"


def _keep(random: Generator, content: bytearray) -> str:
    return "as it was"


def _code(random: Generator, original: Path, file: Path, ran: Path) -> str:
    """A pickle that creates a file: bare, or in torch's zip."""
    kind = str(random.choice(["bare", "zip"]))
    if kind == "zip":
        torch.save({"module": _Attack(ran)}, file)
    else:
        file.write_bytes(pickle.dumps(_Attack(ran)))
    return kind


class _Attack:
    def __init__(self, ran: Path) -> None:
        self.ran = ran

    def __reduce__(self) -> Any:
        return Path.touch, (self.ran,)


ATTACKS: tuple[tuple[str, Damage], ...] = (
    ("flipped", _of_bytes(_flip)),
    ("truncated", _of_bytes(_truncate)),
    ("inserted", _of_bytes(_insert)),
    ("kept", _of_bytes(_keep)),
    ("code", _code),
)
