"""Full disks and folders that cannot be written: ``fit``, ``predict`` and ``compare`` say so in one line, and leave nothing.

A command on such a disk is one case. What this machine or this user cannot set up is skipped, and said.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign._damage import Random, as_csv, draw_table
from campaign._tally import Outcome, Tally

METRICFIT = (sys.executable, "-m", "metricfit")
SHORT = ("--folds", "2", "--repeats", "1")
N_ROWS = 3000
FEW_BYTES = 4096
TIME_LIMIT = 120.0
SYSTEM = (Path("/dev"), Path("/proc"))
COMMANDS = ("fit", "predict", "compare")


def run(random: Random, n_cases: int, folder: Path) -> Tally:
    """The commands and the kinds of disks take turns."""
    tally = Tally("disk")
    kinds = [small_files, full_disk, full_device, read_only]
    prepare(random, folder)
    for number in range(n_cases):
        kind, command = kinds[number % len(kinds)], COMMANDS[number // len(kinds) % len(COMMANDS)]
        outcome, why = kind(command, folder)
        if outcome is None:
            print(f"disk: {kind.__name__} is skipped: {why}", file=sys.stderr)
        else:
            tally.count(outcome, f"{number}, {command}, {kind.__name__}: {why}")
    return tally


Found = tuple[Outcome | None, str]


def prepare(random: Random, folder: Path) -> None:
    """A table, a long table, and a model."""
    table = draw_table(random, 60)
    (folder / "small.csv").write_bytes(as_csv(table))
    lines = (folder / "small.csv").read_text().splitlines(keepends=True)
    (folder / "large.csv").write_text(lines[0] + "".join(lines[1:]) * (N_ROWS // 60))
    fit = (*METRICFIT, "fit", "small.csv", "--model", "linear", *SHORT, "--out", "model")
    subprocess.run(fit, cwd=folder, check=True, capture_output=True, timeout=TIME_LIMIT)


def arguments(command: str, out: Path) -> tuple[str, ...]:
    """A command that writes to this path."""
    if command == "fit":
        return ("fit", "small.csv", "--model", "linear", *SHORT, "--out", str(out))
    if command == "predict":
        return ("predict", "model", "large.csv", "--probabilities", "--overwrite", "--out", str(out))
    return ("compare", "small.csv", "--models", "linear", *SHORT, "--overwrite", "--report", str(out))


def try_command(command: str, out: Path, folder: Path, before: Callable[[], None] | None = None) -> Found:
    """Run it; it has to fail in one line, and nothing may be there that was not there before."""
    was = _inside(out.parent)
    ended = subprocess.run(
        (*METRICFIT, *arguments(command, out)),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
        preexec_fn=before,
    )
    last = (ended.stderr.strip().splitlines() or [""])[-1]
    if "Traceback" in ended.stderr or ended.returncode not in (0, 1, 2):
        return Outcome.TRACEBACK, f"code {ended.returncode}: {ended.stderr[-300:]}"
    if ended.returncode == 0:
        return Outcome.WRONG, "it ended as if all were well"
    if not last.startswith("metricfit: "):
        return Outcome.TRACEBACK, f"no line of its own: {last!r}"
    left = _inside(out.parent) - was
    return (Outcome.WRONG, f"left: {sorted(map(str, left))}") if left else (Outcome.REFUSED, "")


def _inside(folder: Path) -> set[Path]:
    """What is in a folder; nothing of a folder of the system, where others come and go."""
    return set(folder.iterdir()) if folder.is_dir() and folder not in SYSTEM else set()


def small_files(command: str, folder: Path) -> Found:
    """Files may have a few bytes only: a disk that fills while a file is written."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FEW_BYTES, FEW_BYTES))

    place = folder / "limited"
    place.mkdir(exist_ok=True)
    return try_command(command, place / "out.csv", folder, limit)


def full_disk(command: str, folder: Path) -> Found:
    """A file system with room for 16 KiB."""
    with mounted(folder / "disk", "size=16k") as place:
        return (None, "no right to mount") if place is None else try_command(command, place / "out.csv", folder)


def read_only(command: str, folder: Path) -> Found:
    """A file system that takes no files."""
    with mounted(folder / "disk", "ro") as place:
        return (None, "no right to mount") if place is None else try_command(command, place / "out.csv", folder)


def full_device(command: str, folder: Path) -> Found:
    """A device that is always full; of ``fit`` a folder in a place without room for folders."""
    out = Path("/proc/out") if command == "fit" else folder / "full.csv"
    if command != "fit":
        out.unlink(missing_ok=True)
        out.symlink_to("/dev/full")
    return try_command(command, out, folder)


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path | None]:
    """A small file system in memory, if this user may mount one."""
    place.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False)
    try:
        yield None if made.returncode else place
    finally:
        if not made.returncode:
            subprocess.run(["umount", str(place)], check=True)
