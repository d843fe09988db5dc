"""The command, data and versions of a run, so that it can be repeated."""

from __future__ import annotations

import platform
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from metricfit._extras import is_installed


@dataclass(frozen=True)
class Run:
    """Data, command, time and versions of a run."""

    data: str
    target: str
    command: str
    moment: str
    versions: dict[str, str]
    next_command: str = ""  # to type after this one

    @classmethod
    def now(cls, data: str, target: str, next_command: str = "") -> Run:
        """The run of the current process."""
        read_by = ("pyarrow",) if is_installed("pyarrow") else ()  # a comparison in Python works without
        names = ("metricfit", "torch", "scikit-learn", "numpy", "scipy", *read_by)
        return cls(
            data=data,
            target=target,
            command=shlex.join(["metricfit" if "metricfit" in sys.argv[0] else Path(sys.argv[0]).name, *sys.argv[1:]]),
            moment=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            versions={"Python": platform.python_version(), **{name: version(name) for name in names}},
            next_command=next_command,
        )
