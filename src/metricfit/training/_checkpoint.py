"""Checkpoints by Fabric, with the state of the random numbers and the position in the data of each process."""

from __future__ import annotations

import copy
import pickle
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from metricfit._files import new_file
from metricfit._printable import printable
from metricfit.training._distributed import check_same_call, gather
from metricfit.training._epoch import Epoch, State, batches_state

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

# equal in all processes
PROGRESS = ("step", "epoch", "since_best", "history", "best", "best_value", "stop_by", "annealing")
MAX_LETTERS = 300  # of a message: torch lists every weight that does not fit


def save_trainer(trainer: Trainer, file: Path, batches: Any) -> None:
    """Write the state of all processes; the first one writes."""
    fabric, epoch = trainer.fabric, trainer.unfinished
    position = {
        "random": torch.get_rng_state(),
        "batches": batches_state(batches) if epoch is None else epoch.batches,
        "epoch": None if epoch is None else epoch.state_dict(),
    }
    state = _parts(trainer) | {name: getattr(trainer, name) for name in PROGRESS}
    state["processes"] = gather(fabric, position)
    with new_file(file, overwrite=True) if fabric.is_global_zero else nullcontext(file) as temporary:
        fabric.save(temporary, state)
        if fabric.is_global_zero:
            _check_can_be_loaded(temporary)
    fabric.barrier()  # no process reads it before it has its name


def load_trainer(trainer: Trainer, file: Path, batches: Any) -> None:
    """Load what :func:`save_trainer` wrote; a ValueError says in one line why a file does not load."""
    fabric = trainer.fabric
    check_same_call(fabric, "`load`")
    try:
        _check_archive(file)
        state = fabric.load(file, _parts(trainer), weights_only=True)
        processes = state.pop("processes")
        position = processes[fabric.global_rank if len(processes) == fabric.world_size else 0]
        _load_position(trainer, position, batches)
        for name in PROGRESS:
            setattr(trainer, name, state.pop(name))
        if state:
            raise ValueError(f"it has a state of {', '.join(map(repr, state))}, which this trainer lacks")
    except OSError:
        raise
    except Exception as error:  # a foreign file may raise anything
        raise ValueError(f"{file} cannot be loaded: {_reason(error)}.") from error


def _parts(trainer: Trainer) -> State:
    """The parts with a ``state_dict``, by their name in a checkpoint."""
    parts: State = {"module": trainer.module, "optimizer": trainer.optimizer}
    if isinstance(trainer.loss, nn.Module):
        parts["loss"] = trainer.loss
    if trainer.normalizer is not None:
        parts["normalizer"] = trainer.normalizer
    if isinstance(trainer.lr, LRScheduler):
        parts["schedule"] = trainer.lr
    return parts


def _load_position(trainer: Trainer, position: State, batches: Any) -> None:
    epoch, start = position["epoch"], position["batches"]
    if not hasattr(batches, "load_state_dict"):
        if epoch is not None and start is not None:
            raise ValueError("it was saved in the middle of an epoch: pass its batches, `load(file, batches)`")
    elif start is None:
        raise ValueError("it was saved without batches: pass them, `save(file, batches)`")
    else:
        batches.load_state_dict(copy.deepcopy(start))
    trainer.unfinished = None if epoch is None else Epoch.from_state_dict(epoch, trainer.fabric.device)
    torch.set_rng_state(position["random"])


def _check_can_be_loaded(file: Path) -> None:
    """Raise a TypeError now rather than at the load, if the state of a loss or of batches has objects that are no data."""
    if unsafe := torch.serialization.get_unsafe_globals_in_checkpoint(file):
        raise TypeError(
            f"A checkpoint should contain tensors, numbers, texts, lists and dictionaries, got {', '.join(sorted(unsafe))}. "
            "Convert them in `state_dict`, such as a number of numpy by `float()`."
        )


def _check_archive(file: Path) -> None:
    """Verify the checksums of the archive; torch skips them."""
    with zipfile.ZipFile(file) as archive:
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def _reason(error: Exception) -> str:
    if isinstance(error, zipfile.BadZipFile):
        return "it is damaged or incomplete, or not a checkpoint of this version"
    if isinstance(error, pickle.UnpicklingError):
        return "it contains objects other than tensors, numbers, texts, lists and dictionaries"
    text = printable(" ".join(str(error.args[0] if error.args else error).split())).rstrip(".")
    return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]} ..."
