"""What was frozen when fresh sets were judged: the rules, the list of sets, the splits, and the versions of packages.

It is written beside the results when a run starts. A run that goes on later with other rules is refused: sets are fresh once.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import metricfit
from benchmarks._fresh_sets import LIST
from metricfit._errors import UsageError

LIBRARIES = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "lightgbm")
FROZEN = ("rules", "list", "rows", "plan")


def describe(rows: int, sets: Path = LIST, **more: str) -> dict[str, Any]:
    """The protocol of a run that starts now: the most rows of a table, the list of sets, and what else is fixed."""
    rules = Path(metricfit.__file__).parent
    return {
        "rules": digest(rules),
        "list": hashlib.sha256(sets.read_bytes()).hexdigest(),
        "rows": rows,
        **more,
        "commit": _git(rules, "rev-parse", "HEAD"),
        "commit of the list": _git(sets.parent, "log", "-1", "--format=%H", "--", sets.name),
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
    }


def digest(folder: Path) -> str:
    """SHA-256 of all Python files below a folder: their paths and contents."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        total.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def freeze(file: Path, rows: int, sets: Path = LIST, **more: str) -> dict[str, Any]:
    """Write the protocol, or read it if a run has started before. Raises UsageError if the rules are others now."""
    now = describe(rows, sets, **more)
    if not file.exists():
        file.write_text(json.dumps(now, indent=2) + "\n")
        return now
    then = json.loads(file.read_text())
    changed = [part for part in FROZEN if then.get(part) != now.get(part)]
    if changed:
        differences = "; ".join(f"{part} was {then[part]}, is {now[part]}" for part in changed)
        raise UsageError(
            f"{file} was written with another protocol: {differences}. Sets are fresh once. Go back to commit "
            f"{then['commit']}, or pass another folder by --out and call the result a second look."
        )
    return then


def _git(folder: Path, *words: str) -> str:
    """The answer of git, or an empty string without git or a repository."""
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
