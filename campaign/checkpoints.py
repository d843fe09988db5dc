"""Checkpoints of a training: damaged bytes, and files with a right checksum and wrong content.

``Trainer.load`` has to refuse each in one line and change nothing, or to load what the file says and train on.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

import metricfit as mf
from campaign._tally import Outcome, Tally
from metricfit.training import Batches, Trainer, anneal
from metricfit.training._checkpoint import FORMAT, read_state, write_state
from metricfit.training._fabric import Fabric

LIMIT = 2**24
PARTS = ("step", "epoch", "since_best", "history", "best", "best_value", "stop_by")
POSITIONS = ("unfinished", "annealing")
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    "text",
    "a\nb",
    [],
    [1, 2],
    (0.5, 0.5),
    {},
    torch.ones(2),
)


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

    def train(self, epochs: int, file: Path | None = None) -> Run:
        """Train so many epochs more; a file is saved in the middle of each."""
        options: dict[str, Any] = {"epochs": self.trainer.epoch + epochs, "patience": 10**6, "checkpoint": file}
        anneal(self.trainer, self.batches, self.rows, **options, checkpoint_every=None if file is None else 1)
        return self

    def state(self) -> dict[str, Any]:
        state = {name: getattr(self.trainer, name) for name in PARTS} | {"random": torch.get_rng_state()}
        stateful = {"module": self.module, "optimizer": self.trainer.optimizer, "batches": self.batches}
        stateful |= {"loss": self.loss, "normalizer": self.normalizer, "schedule": self.schedule}
        stateful |= {name: getattr(self.trainer, name) for name in POSITIONS}
        return copy.deepcopy(state | {name: None if one is None else one.state_dict() for name, one in stateful.items()})


def run(random: Generator, n_cases: int, folder: Path) -> Tally:
    """Save one checkpoint, and load ``n_cases`` changed copies of it into another training."""
    tally, original, file, ran = Tally("checkpoints"), folder / "original", folder / "changed", folder / "code-ran"
    Run(0).train(2, original)
    for case in range(n_cases):
        name, damage, must_refuse = ATTACKS[case % len(ATTACKS)]
        what = f"case {case}, {name}: {damage(random, original, file, ran)}"
        tally.count(*_judge(Run(1).train(int(must_refuse or random.integers(2))), file, must_refuse, ran, what))
    return tally


def _judge(run: Run, file: Path, must_refuse: bool, ran: Path, what: str) -> tuple[Outcome, str]:
    before = run.state()
    refused, message = False, ""
    try:
        run.trainer.load(file, run.batches)
    except ValueError as error:
        refused, message = True, str(error)
    except Exception as error:
        return Outcome.TRACEBACK, f"{what}: {error!r}"
    if ran.exists():
        ran.unlink()
        return Outcome.CODE, what
    if refused:
        fine = "\n" not in message and str(file) in message and same(run.state(), before)
        return (Outcome.REFUSED if fine else Outcome.WRONG), f"{what}: {message}"
    if must_refuse or not same(run.state(), read_state(file, LIMIT)):
        return Outcome.WRONG, f"{what}: it was loaded"
    try:
        run.train(1)
    except Exception as error:
        if "`input` should be finite" not in str(error):  # options such as a rate of 1e30 are allowed
            return Outcome.TRACEBACK, f"{what}, when it trained on: {error!r}"
    return Outcome.ANSWERED, what


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
    """A change of the bytes, which leaves the checksum as it was."""

    def damage(random: Generator, original: Path, file: Path, ran: Path) -> str:
        content = bytearray(original.read_bytes())
        what = change(random, content)
        file.write_bytes(content)
        return what

    return damage


def _flip(random: Generator, content: bytearray) -> str:
    place, bit = int(random.integers(len(content) if random.random() < 0.7 else 200)), int(random.integers(8))
    content[place] ^= 1 << bit
    return f"bit {bit} of byte {place}"


def _truncate(random: Generator, content: bytearray) -> str:
    del content[int(random.integers(len(content))) :]
    return f"after {len(content)} bytes"


def _insert(random: Generator, content: bytearray) -> str:
    place = int(random.integers(len(content) + 1))
    content[place:place] = random.bytes(int(random.integers(1, 9)))
    return f"at byte {place}"


def _of_content(change: Callable[[Generator, Any], str]) -> Damage:
    """A change of the content, with a right checksum."""

    def damage(random: Generator, original: Path, file: Path, ran: Path) -> str:
        state = read_state(original, LIMIT)
        what = change(random, state)
        write_state(file, state)
        return what

    return damage


def _leaves(state: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Every place of the state: what holds it, its key there, and its name."""
    for key in list(state) if isinstance(state, dict) else range(len(state)):
        yield state, key, f"{where}.{key}"
        if isinstance(state[key], dict | list):
            yield from _leaves(state[key], f"{where}.{key}")


def _pick(random: Generator, state: Any, wanted: Callable[[Any, Any], bool]) -> tuple[Any, Any, str]:
    found = [leaf for leaf in _leaves(state) if wanted(leaf[0], leaf[1])]
    return found[int(random.integers(len(found)))]


def _is_tensor(inside: Any, key: Any) -> bool:
    return isinstance(inside[key], Tensor)


def _is_floats(inside: Any, key: Any) -> bool:
    return isinstance(inside[key], Tensor) and inside[key].is_floating_point()


def _shape(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, _is_tensor)
    tensor = inside[key]
    changed = [tensor[None], torch.cat([tensor.flatten(), tensor.flatten()[:1]]), tensor.flatten()[:-1]]
    inside[key] = changed[int(random.integers(len(changed)))].contiguous()
    return f"{name} {tuple(tensor.shape)} to {tuple(inside[key].shape)}"


def _dtype(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, _is_tensor)
    dtypes = [one for one in (torch.float64, torch.float16, torch.int64, torch.bool) if one != inside[key].dtype]
    inside[key] = inside[key].to(dtypes[int(random.integers(len(dtypes)))])
    return f"{name} to {inside[key].dtype}"


def _rename(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, lambda inside, key: isinstance(inside, dict) and isinstance(key, str))
    inside[f"{key}{random.choice(['x', ' ', chr(10), chr(27)])}"] = inside.pop(key)
    return name


def _not_finite(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, _is_floats)
    inside[key].view(-1)[int(random.integers(inside[key].numel()))] = float(random.choice([np.nan, np.inf, -np.inf]))
    return name


def _value(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, _is_floats)
    inside[key].view(-1)[int(random.integers(inside[key].numel()))] += 0.125
    return name


def _other_kind(random: Generator, state: Any) -> str:
    inside, key, name = _pick(random, state, lambda inside, key: True)
    inside[key] = copy.deepcopy(ODD[int(random.integers(len(ODD)))])
    return f"{name} is {inside[key]!r}"


def _nothing(random: Generator, state: Any) -> str:
    return "written again"


def _code(random: Generator, original: Path, file: Path, ran: Path) -> str:
    """A pickle that creates a file: bare, in torch's zip, or in the place of the content."""
    kind = str(random.choice(["bare", "zip", "content"]))
    if kind == "zip":
        torch.save({"module": _Attack(ran)}, file)
        return kind
    payload = pickle.dumps(_Attack(ran))
    checksum = hashlib.sha256(payload).hexdigest().encode()
    file.write_bytes(payload if kind == "bare" else b"\n".join([FORMAT, checksum, payload]))
    return kind


class _Attack:
    def __init__(self, ran: Path) -> None:
        self.ran = ran

    def __reduce__(self) -> Any:
        return Path.touch, (self.ran,)


ATTACKS: tuple[tuple[str, Damage, bool], ...] = (  # name, what it does, whether it has to be refused
    ("flipped", _of_bytes(_flip), True),
    ("truncated", _of_bytes(_truncate), True),
    ("inserted", _of_bytes(_insert), True),
    ("shape", _of_content(_shape), True),
    ("dtype", _of_content(_dtype), True),
    ("name", _of_content(_rename), True),
    ("not finite", _of_content(_not_finite), True),
    ("value", _of_content(_value), False),
    ("other kind", _of_content(_other_kind), False),
    ("nothing", _of_content(_nothing), False),
    ("code", _code, True),
)
