"""Does a Dask cluster give the same bytes, also when a worker is killed, and what does it cost beside joblib's processes?

    python -m benchmarks.cluster [--folds 2] [--repeats 2] [--rounds 2] [--models linear] [--out benchmarks/results]

A scheduler and two workers run on this machine. ``metricfit compare`` on mammography takes turns: in this process, in two
processes of joblib, on the cluster. Then once more on the cluster, and a worker is killed (SIGKILL) when the first split is
done. The bytes of ``--json`` are compared, but for seconds. Last, a reproduction runs ``--quick``, here and on the cluster.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks._script import RESULTS, new_parser, write_page, written_by
from metricfit.cli import app, run_app
from reproductions._markdown import table
from reproductions._tables import data_folder
from tests.clusters import Cluster

REPRODUCTION = "exact-ablation"
PLACES = ("this process", "two processes", "cluster")


class Watched(io.StringIO):
    """stderr that kills a process when the first split is done."""

    def __init__(self, victim: subprocess.Popen[bytes] | None) -> None:
        super().__init__()
        self.victim = victim

    def write(self, text: str) -> int:
        if self.victim is not None and ("Split 1 of" in text or "The first of" in text):
            threading.Timer(0.2, self.victim.kill).start()  # while it works on its next split
            self.victim = None
        return super().write(text)


def compare(arguments: Sequence[Any], victim: subprocess.Popen[bytes] | None = None) -> tuple[float, str]:
    """Seconds, and a hash of what the command printed without seconds."""
    out, err, begin = io.StringIO(), Watched(victim), time.perf_counter()
    sys.argv = ["metricfit", "compare", *map(str, arguments), "--json"]
    with redirect_stdout(out), redirect_stderr(err):
        code = run_app(app, "metricfit")
    seconds = time.perf_counter() - begin
    if code:
        raise SystemExit(err.getvalue())
    found = json.loads(out.getvalue())
    for row in found["results"]:
        del row["seconds"]
    return seconds, _hash(json.dumps(found).encode())


def reproduce(out: Path, *options: str) -> str:
    """A hash of the CSV and of the Markdown, but for the line with the command."""
    command = [sys.executable, "-m", "reproductions", REPRODUCTION, "--quick", "--out", str(out), *options]
    subprocess.run(command, check=True, capture_output=True)
    page = (out / f"{REPRODUCTION}-quick.md").read_text().splitlines()
    kept = [line for line in page if not line.startswith("Written by ")]
    return _hash((out / f"{REPRODUCTION}-quick.csv").read_bytes() + "\n".join(kept).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--models", default="linear")
    given, about = parser.parse_args(), written_by()  # the comparisons change the arguments of this process
    file = data_folder() / "mammography" / "mammography.csv"
    asked = [file, "--folds", given.folds, "--repeats", given.repeats, "--models", given.models]
    times: dict[str, list[float]] = {place: [] for place in PLACES}
    seen: dict[str, set[str]] = {place: set() for place in (*PLACES, "a worker killed")}
    with tempfile.TemporaryDirectory() as name:
        cluster = Cluster(Path(name))
        try:
            cluster.repair()
            where: dict[str, list[Any]] = {"two processes": ["--jobs", 2], "cluster": ["--cluster", cluster.address]}
            for turn in range(given.rounds + 1):  # the first round starts processes and imports, and is not counted
                for place in PLACES:
                    seconds, found = compare([*asked, *where.get(place, [])])
                    seen[place].add(found)
                    times[place] += [seconds] if turn else []
                    print(f"{place}: {seconds:.1f} s, {found}", flush=True)
            reproduced = {"this process": reproduce(Path(name) / "here")}
            reproduced["cluster"] = reproduce(Path(name) / "there", "--cluster", cluster.address)
            print(reproduced, flush=True)
            seconds, found = compare([*asked, *where["cluster"]], cluster.workers[0])
            seen["a worker killed"].add(found)
            print(f"a worker killed: {seconds:.1f} s, {found}, its exit code {cluster.workers[0].wait()}", flush=True)
        finally:
            cluster.stop()
    ratios = [there / here for there, here in zip(times["cluster"], times["two processes"], strict=True)]
    rows = [
        [place, f"{statistics.median(times[place]):.1f}" if times.get(place) else "", ", ".join(sorted(found))]
        for place, found in seen.items()
    ]
    same = len(set().union(*seen.values())) == 1
    text = "\n\n".join(
        [
            "# A cluster of two workers on one machine",
            f"{about} Load {os.getloadavg()[0]:.1f}.",
            f"`metricfit compare` on mammography: {'the same bytes everywhere' if same else 'DIFFERENT BYTES'}. "
            f"The cluster takes {statistics.median(ratios):.2f} times as long as two processes of joblib "
            f"({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds).",
            table(["where", "seconds, median", "SHA-256 of the output without seconds"], rows),
            f"`python -m reproductions {REPRODUCTION} --quick`: "
            f"{'the same bytes' if len(set(reproduced.values())) == 1 else 'DIFFERENT BYTES'} with and without the cluster.",
        ]
    )
    write_page(given.out, "cluster.md", text)


if __name__ == "__main__":
    main()
