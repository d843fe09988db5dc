"""Save a trainer to a file, and go on from it: all of the file is checked before any of it is applied.

The file has the state of the first process. What each process has of its own, its random numbers and its place in its batches,
is there as ``processes``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim.lr_scheduler import LRScheduler

from metricfit._files import new_file
from metricfit.training._batches import count_batches
from metricfit.training._checkpoint import from_bytes, one_line, read_state, to_bytes, write_state
from metricfit.training._fabric import SHARDED, Fabric
from metricfit.training._lost import Saved
from metricfit.training._position import Annealing, Epoch, batches_state, check_annealing, check_epoch
from metricfit.training._rate import check_schedule, load_schedule
from metricfit.training._state import (
    COUNTERS,
    RULES,
    State,
    check_counters,
    check_loss,
    check_module,
    check_names,
    check_normalizer,
    check_optimizer,
    check_random,
)
from metricfit.training._together import check_loading, gather_bytes

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

POSITIONS = ("unfinished", "annealing")
OWN = ("random", "unfinished", "batches")  # what each process has of its own; some batches have no state
LEAST_LIMIT, MOST_COPIES = 2**28, 256  # bytes of a file, and copies of the weights in it: LBFGS keeps 200


def save_trainer(trainer: Trainer, file: Path, batches: Any) -> None:
    """Write the state by the first process; an error in one process is one in all."""
    _check_strategy(trainer.fabric)
    state = _current(trainer, batches)
    if trainer.unfinished is not None and trainer.unfinished.batches is not None:
        state["batches"] = trainer.unfinished.batches
    state["optimizer"] = trainer.optimizer.state_dict()  # of all processes, where they share it

    elsewhere = f"{file} could not be written by another process."
    if trainer.fabric.world_size > 1:
        state["processes"] = _gather_own(trainer.fabric, state, elsewhere)

    before = trainer.saved

    def write() -> None:
        if not trainer.fabric.is_global_zero:
            return
        try:
            with new_file(file, overwrite=True) as beside:
                write_state(beside, state)
        except BaseException:
            trainer.saved = before
            raise
        trainer.saved = Saved(file, trainer.step)

    trainer.saved = Saved(file, trainer.step, is_certain=False)
    try:
        _in_all_processes(trainer.fabric, write, elsewhere)
    except ValueError:  # it was not written; after a lost process, a RuntimeError, only the first process knows
        trainer.saved = before
        raise
    trainer.saved = Saved(file, trainer.step)


def load_trainer(trainer: Trainer, file: Path, batches: Any) -> None:
    """Check the file in every process, then apply it; what fails half-way is undone."""
    _check_strategy(trainer.fabric)
    check_loading(trainer.fabric)
    elsewhere, state = f"{file} cannot be loaded by another process. Nothing was changed.", State()

    def check() -> None:
        try:
            found = _of_process(read_state(file, _limit(trainer)), trainer.fabric)
            _check(found, trainer, batches)
        except OSError:
            raise
        except Exception as error:  # what a crafted file may raise is not known
            raise ValueError(f"{file} cannot be loaded: {one_line(error)}. Nothing was changed.") from error
        state.update(found)

    def apply() -> None:
        try:
            _apply(state, trainer, batches)
        except Exception as error:  # a module, a loss or batches of the user's own
            raise ValueError(f"{file} cannot be loaded: {one_line(error)}. Nothing was changed.") from error

    _in_all_processes(trainer.fabric, check, elsewhere)
    before = copy.deepcopy(_current(trainer, batches))
    try:
        _in_all_processes(trainer.fabric, apply, elsewhere)
    except BaseException:
        _apply(before, trainer, batches)
        raise
    trainer.saved = Saved(file, trainer.step)


def _gather_own(fabric: Fabric, state: State, elsewhere: str) -> list[State]:
    """What each process has of its own; an error in one process is one in all."""
    parts: list[bytes] = []
    _in_all_processes(fabric, lambda: parts.extend(to_bytes({name: state[name] for name in OWN if name in state})), elsewhere)
    trees, numbers = (gather_bytes(fabric, part) for part in parts)
    return [from_bytes(*pair) for pair in zip(trees, numbers, strict=True)]


def _of_process(state: Any, fabric: Fabric) -> Any:
    """The state with what this process had of its own; if the number of processes is another, with that of the first."""
    if not isinstance(state, dict) or "processes" not in state:
        return state
    processes = state.pop("processes")
    if not isinstance(processes, list) or not processes:
        raise ValueError("'processes' should be a list")
    mine = processes[fabric.global_rank if len(processes) == fabric.world_size else 0]
    check_names(mine, {"random", "unfinished"}, "a process", ("batches",))
    return {name: value for name, value in state.items() if name not in OWN} | mine


def _current(trainer: Trainer, batches: Any) -> State:
    state = {name: getattr(trainer, name) for name in COUNTERS} | {"stop_by": trainer.stop_by}
    state |= {"module": trainer.module.state_dict(), "best": trainer.best, "random": torch.get_rng_state()}
    state["optimizer"] = trainer.optimizer.optimizer.state_dict()
    if isinstance(trainer.loss, nn.Module):
        state["loss"] = trainer.loss.state_dict()
    if trainer.normalizer is not None:
        state["normalizer"] = trainer.normalizer.state_dict()
    if isinstance(trainer.lr, LRScheduler):
        state["schedule"] = trainer.lr.state_dict()
    if (of_batches := batches_state(batches)) is not None:
        state["batches"] = of_batches
    for name in POSITIONS:
        position = getattr(trainer, name)
        state[name] = None if position is None else position.state_dict()
    return state


def _check(state: Any, trainer: Trainer, batches: Any) -> None:
    """Raise a ValueError unless this state is one of this trainer."""
    own = _current(trainer, batches)
    check_names(state, set(own), "it", () if "batches" in own else ("batches",))
    check_module(state["module"], own["module"], "the module")
    if state["best"] is not None:
        check_module(state["best"], own["module"], "the best module")
    check_optimizer(state["optimizer"], trainer.optimizer.optimizer)
    check_counters(state)
    if state["stop_by"] not in (None, *RULES):
        raise ValueError(f"'stop_by' should be one of {RULES}, got {one_line(state['stop_by'])}")
    check_random(state["random"])
    if state["unfinished"] is not None:
        if "batches" in state and "batches" not in own:
            raise ValueError("it is in the middle of an epoch and needs its batches, `load(file, batches)`")
        check_epoch(state["unfinished"], count_batches(batches))
    if state["annealing"] is not None:
        check_annealing(state["annealing"], state["history"])
    if "loss" in own:
        check_loss(state["loss"], own["loss"])
    if "normalizer" in own:
        check_normalizer(state["normalizer"], own["normalizer"])
    if isinstance(trainer.lr, LRScheduler):
        check_schedule(state["schedule"], trainer.lr, state["optimizer"]["param_groups"])


def _apply(state: State, trainer: Trainer, batches: Any) -> None:
    _load_module(trainer.module, state["module"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    if isinstance(trainer.loss, nn.Module):
        _load_module(trainer.loss, state["loss"])
    if trainer.normalizer is not None:
        _load_module(trainer.normalizer, state["normalizer"])
    if isinstance(trainer.lr, LRScheduler):
        load_schedule(trainer.lr, state["schedule"])
    if batches_state(batches) is not None:
        batches.load_state_dict(state["batches"])
    for name in COUNTERS:
        setattr(trainer, name, state[name])
    trainer.best_value, trainer.best, trainer.stop_by = tuple(state["best_value"]), state["best"], state["stop_by"]
    epoch, annealing = (state[name] for name in POSITIONS)
    start = copy.deepcopy(state.get("batches"))
    trainer.unfinished = None if epoch is None else Epoch.from_state_dict(epoch, start, trainer.fabric.device)
    trainer.annealing = None if annealing is None else Annealing.from_state_dict(annealing)
    torch.set_rng_state(state["random"])


def _load_module(module: nn.Module, state: State) -> None:
    """Load a state with the versions of the module's parts, which a file does not keep."""
    versions = getattr(module.state_dict(), "_metadata", None)
    complete = type(module.state_dict())(state)
    if versions is not None:
        complete._metadata = versions  # type: ignore[attr-defined]
    module.load_state_dict(complete)


def _limit(trainer: Trainer) -> int:
    """The most bytes that a file for this trainer can have."""
    values = trainer.module.state_dict().values()
    tensors = [value for value in values if isinstance(value, torch.Tensor) and not is_lazy(value)]
    return LEAST_LIMIT + MOST_COPIES * sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _in_all_processes(fabric: Fabric, work: Callable[[], None], elsewhere: str) -> None:
    """Do the work; raise its error, or a ValueError where it failed in another process."""
    error: Exception | None = None
    try:
        work()
    except Exception as raised:
        error = raised
    if fabric.world_size > 1:
        n_failed = fabric.all_reduce(torch.tensor(float(error is not None), device=fabric.device), reduce_op="sum")
        if error is None and float(n_failed) > 0.0:  # type: ignore[arg-type]
            raise ValueError(elsewhere)
    if error is not None:
        raise error


def _check_strategy(fabric: Fabric) -> None:
    if isinstance(fabric.strategy, SHARDED):
        name = type(fabric.strategy).__name__
        raise ValueError(f"`fabric` should have all weights in every process for checkpoints, got {name}. Try strategy='ddp'.")
