"""What the scripts have in common: their options, steps that take turns, the memory of a process, and the page they write."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from metricfit._files import new_file
from reproductions._machine import hardware

RESULTS = Path("benchmarks/results")
Times = dict[str, list[float]]  # by step: seconds of each turn


def new_parser(about: str | None, out: Path | None = None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of the script, with ``--out`` for the folder of the results."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=out, help="folder for the results")
    return parser


def written_by(on: str | None = None) -> str:
    """How a page came about: the command that runs, and the machine."""
    command = shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]])
    return f"Written by `{command}` on {on or hardware()}."


def write_page(out: Path | None, name: str, text: str) -> None:
    """Print a page, and write it to the folder of the results if there is one."""
    print(text)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        with new_file(out / name, overwrite=True) as file:
            file.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def take_turns(
    steps: Mapping[str, Callable[[], object]],
    seconds: float = 0.0,
    least: int = 5,
    repeats: int | Mapping[str, int] = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Time all steps in turn, so that noise of the machine affects all of them, for so long and at least so often.

    Quick steps may be repeated within a turn. The first call of each is not counted.
    """
    for step in steps.values():
        step()
    times: Times = {name: [] for name in steps}
    n_turns, until = 0, time.perf_counter() + seconds
    while n_turns < least or time.perf_counter() < until:
        n_turns += 1
        for name, step in steps.items():
            n_repeats = repeats if isinstance(repeats, int) else repeats[name]
            start = clock()
            for _ in range(n_repeats):
                step()
            times[name].append((clock() - start) / n_repeats)
    return times


def memory(entry: str = "VmHWM") -> float:
    """Bytes of this process (Linux): the most that it has had, or with "VmRSS" what it has now."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(float(line.split()[1]) for line in status if line.startswith(entry))
