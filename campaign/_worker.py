"""Commands of ``metricfit`` in a process that has imported everything already, because that takes seconds."""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

import torch

TIME_LIMIT = 60.0  # seconds for a command


@dataclass(frozen=True)
class CommandResult:
    """How a command ended; ``code`` is None if it had to be stopped, or if the process crashed."""

    code: int | None
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        return self.code is None or "Traceback (most recent call last)" in self.err

    @property
    def last_line(self) -> str:
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


class CommandWorker:
    """Runs commands of ``metricfit`` one after the other, in a folder; the process is replaced if it crashes or hangs."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, arguments: Sequence[object], folder: Path) -> CommandResult:
        """Run ``metricfit arguments ...`` in the folder."""
        given = [str(one) for one in arguments]
        self._here.send((given, folder))
        why = f"no answer within {self.time_limit:g} s"
        try:
            if self._here.poll(self.time_limit):
                return self._here.recv()
        except (EOFError, ConnectionError) as error:
            why = str(error) or "the process ended"
        self._end()
        self._start()
        return CommandResult(None, "", f"{why}: {' '.join(given)}")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._here.close()


def _serve(there: Connection) -> None:
    torch.set_num_threads(1)
    while True:
        try:
            command = there.recv()
        except EOFError:
            return
        there.send(run_command(*command))


def run_command(arguments: list[str], folder: Path) -> CommandResult:
    """Run a command in this process."""
    from metricfit.cli import app, run_app

    os.chdir(folder)
    before = sys.stdout, sys.stderr, sys.argv
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdout, sys.stderr = io.TextIOWrapper(out, "utf-8"), io.TextIOWrapper(err, "utf-8", write_through=True)
    sys.argv = ["metricfit", *arguments]
    try:
        code: int | None = run_app(app, "metricfit")
    except BaseException:  # a panic of a library in Rust is no Exception
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        streams = sys.stdout, sys.stderr  # they would close the bytes
        sys.stdout, sys.stderr, sys.argv = before
    ended = CommandResult(code, out.getvalue().decode("utf-8", "replace"), err.getvalue().decode("utf-8", "replace"))
    del streams
    return ended
