"""Commands in a process that has imported everything already, because that takes seconds; it is ended if one takes too long.

The process is ``python -m campaign._worker``: it reads a command per line, and answers with a line of JSON.
"""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

TIME_LIMIT = 60.0  # seconds for a command
START_LIMIT = 120.0


@dataclass(frozen=True)
class Ended:
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


class Worker:
    """Runs commands of ``metricfit`` one after the other, in a folder."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, arguments: Sequence[object], folder: Path) -> Ended:
        """Run ``metricfit arguments ...`` in the folder."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        print(
            json.dumps({"arguments": [str(one) for one in arguments], "folder": str(folder)}), file=process.stdin, flush=True
        )
        ready, _, _ = select.select([process.stdout], [], [], self.time_limit)
        line = process.stdout.readline() if ready else ""
        if not line:
            self._stop()
            return Ended(None, "", f"{'crashed' if ready else 'took too long'}: {' '.join(map(str, arguments))}")
        return Ended(**json.loads(line))

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "campaign._worker"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            assert self._process.stdout is not None
            select.select([self._process.stdout], [], [], START_LIMIT)
            self._process.stdout.readline()
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Answer commands until stdin ends."""
    import torch  # noqa: F401

    import metricfit.comparison
    import metricfit.data
    import metricfit.estimators
    import metricfit.profile
    import metricfit.report  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints by itself is no answer
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        os.chdir(asked["folder"])
        print(json.dumps(_run(asked["arguments"])), file=answers, flush=True)


def _run(arguments: list[str]) -> dict[str, Any]:
    from metricfit.cli import app, run_app

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
    found = {"code": code, "out": out.getvalue().decode("utf-8", "replace"), "err": err.getvalue().decode("utf-8", "replace")}
    del streams
    return found


if __name__ == "__main__":
    serve()
