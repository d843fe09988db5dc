"""What do boosted trees cost in parts, by XGBoost's external memory, beside the same fit in memory?

    python -m benchmarks.make_rows --rows 1000000 --files 4 --out FOLDER
    python -m benchmarks.trees_in_parts FOLDER [--rounds 100] [--only parts]

Both fits have a process of their own and one thread, hold out the same fifth of the rows, and end with a model of all rows.
Time is processor time, because the machine may be busy with other work. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WAYS = ("parts", "memory")


def measure(way: str, files: Path, n_rounds: int, scratch: Path) -> dict[str, Any]:
    """Seconds, megabytes, and the largest difference from the probabilities of the fit before, if there was one."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet
    from xgboost import XGBClassifier

    import metricfit as mf
    from metricfit import shards
    from metricfit.selection import stratified_folds

    model, imported, begin, clock = XGBClassifier(n_estimators=n_rounds, n_jobs=1), _peak(), time.process_time(), time.time()
    paths = sorted(files.glob("*.parquet"))
    if way == "parts":
        fitted = shards.fit_shards(files, "y", "f1", model=model, random_state=0, scratch=scratch)
    else:
        table = pa.concat_tables([parquet.read_table(path) for path in paths])
        labels = table["y"].to_numpy().astype(np.int64)
        first = stratified_folds(labels, 5, np.random.RandomState(0).randint(2**31))[:1]
        fitted = mf.MetricClassifier("f1", model=model, cv=first, random_state=0).fit(table.drop_columns("y"), labels)
    found = {"seconds": time.process_time() - begin, "clock": time.time() - clock, "imported": imported, "peak": _peak()}
    some = next(parquet.ParquetFile(paths[0]).iter_batches(100_000))
    probabilities, kept = fitted.predict_proba(pa.table(some).drop_columns("y")), scratch / "probabilities.npy"
    if kept.exists():
        found["difference"] = float(np.abs(probabilities - np.load(kept)).max())
    np.save(kept, probabilities)
    return {**found, "f1": fitted.candidates_[0]["metric"]}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, help="folder of Parquet files by benchmarks.make_rows")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", choices=WAYS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.scratch:
        print(json.dumps(measure(given.only, given.files, given.rounds, given.scratch)))
        return
    print("| fit | processor time, s | clock, s | peak, MB | of which imports, MB | held-out F1 | largest difference |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        for way in [given.only] if given.only else WAYS:
            command = [sys.executable, "-m", "benchmarks.trees_in_parts", given.files, "--rounds", str(given.rounds)]
            done = subprocess.run([*command, "--only", way, "--scratch", scratch], stdout=subprocess.PIPE, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            shown = f"{found['seconds']:.0f} | {found['clock']:.0f} | {found['peak']:.0f} | {found['imported']:.0f}"
            print(f"| {way} | {shown} | {found['f1']:.4f} | {found.get('difference', '')} |", flush=True)


if __name__ == "__main__":
    main()
