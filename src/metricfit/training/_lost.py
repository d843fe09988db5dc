"""One plain line when a process of a training is lost: what happened, and where the last checkpoint is.

The others notice it in one of two ways. Their next exchange fails, at once or by the timeout of the process group. Or torchrun
is faster and tells them to end (SIGTERM), perhaps while they wait for the lost process and Python cannot run.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch.distributed as dist

from metricfit._errors import ProcessLostError
from metricfit._printable import printable

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

# how gloo and NCCL word it; their errors are plain RuntimeErrors, or of one type for all reasons
SIGNS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Timed out waiting",
    "Application timeout caused pair closure",
    "NCCL communicator was aborted",
    "remote process exited",
)
STDERR, ENDED_BY_SIGTERM = 2, 128 + signal.SIGTERM

_writers: list[int] = []  # the pipe of the fit that runs in this process; Python writes the number of each signal there
_forking = threading.local()


@dataclass(frozen=True)
class Saved:
    """The last checkpoint, as far as this process knows: while it is written, the file may still be the one before."""

    file: Path
    step: int
    is_certain: bool = True

    def __str__(self) -> str:
        return f"{printable(str(self.file))}, of step {self.step}{'' if self.is_certain else ' or of the save before'}"


@contextmanager
def lost_process_named(trainer: Trainer) -> Iterator[None]:
    """Turn the error of an exchange with a lost process into a :class:`ProcessLostError`; other errors stay as they are."""
    try:
        yield
    except RuntimeError as error:
        if trainer.fabric.world_size == 1 or not is_lost_process(error):
            raise
        message = _message(trainer, "lost another process", ": it ended, or did not answer in time")
        _say(message)  # at once, for torchrun may end this process before Python prints the error
        raise ProcessLostError(message) from error.with_traceback(None)  # where it was noticed does not matter


def is_lost_process(error: RuntimeError) -> bool:
    """Whether an exchange failed because another process is not there."""
    if isinstance(error, ProcessLostError):
        return False  # it is named already
    return isinstance(error, dist.DistNetworkError) or any(sign in str(error) for sign in SIGNS)


@contextmanager
def end_named(trainer: Trainer) -> Iterator[None]:
    """Say where the last checkpoint is when this process is told to end, then end; a handler that the user set stays.

    Python's own handlers wait until the main thread returns to Python, which an exchange with a lost process may delay for
    minutes. So a thread waits for the signal.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if trainer.fabric.world_size == 1 or not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) != 0:
            if number == signal.SIGTERM:
                _say(_message(trainer, "was told to end (SIGTERM)", ", as torchrun does when another process ended"))
                os._exit(ENDED_BY_SIGTERM)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    _writers.append(writer)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _leave_to_thread)
    try:
        yield
    finally:
        if _writers:  # else this is a forked child, and the thread is its parent's
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            _writers.clear()
            os.write(writer, b"\0")
            thread.join()
            os.close(reader)
            os.close(writer)


def _leave_to_thread(*_: object) -> None:
    """What Python does about SIGTERM while the thread of :func:`end_named` waits for it."""


def _before_fork() -> None:
    """Hold SIGTERM back: a child that is ended at once, as pools do, would write to the pipe of its parent."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM} if _writers else set())


def _after_fork() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _after_fork_in_child() -> None:
    """Let go of the parent's pipe; SIGTERM ends a child as it always does."""
    if _writers:
        _writers.clear()
        signal.set_wakeup_fd(-1)
        if signal.getsignal(signal.SIGTERM) is _leave_to_thread:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _message(trainer: Trainer, event: str, why: str) -> str:
    fabric = trainer.fabric
    if trainer.saved is None:
        after = "No checkpoint was saved; `checkpoint` of `fit` saves them."
    else:
        after = f"The last checkpoint is {trainer.saved}. Start the training again to resume from it."
    return f"process {fabric.global_rank} of {fabric.world_size} {event} after step {trainer.step}{why}. {after}"


def _say(message: str) -> None:
    os.write(STDERR, f"metricfit: {message}\n".encode())  # a thread may say it while Python prints something else
