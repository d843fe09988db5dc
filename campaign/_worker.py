"""Commands of ``metricfit`` in a process that has imported everything already, because that takes seconds."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign._process import CrashError, Worker

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


class CommandWorker(Worker):
    """Runs commands of ``metricfit`` one after the other, in a folder."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    def run(self, arguments: Sequence[object], folder: Path) -> CommandResult:
        """Run ``metricfit arguments ...`` in the folder."""
        given = [str(one) for one in arguments]
        try:
            return self.call(run_command, given, folder, limit=self.time_limit)
        except CrashError as error:
            return CommandResult(None, "", f"{error}: {' '.join(given)}")


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
