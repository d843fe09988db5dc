"""What does a fit cost in parts, beside the same fit in memory, and is it the same?

    python -m benchmarks.make_rows --rows 1000000 --files 4 --out FOLDER
    python -m benchmarks.in_parts FOLDER [--model linear | xgboost] [--rounds 100] [--only parts]

Both fits have a process of their own and one thread, the same folds, and end with a model of all rows. Trees, by XGBoost's
external memory, hold out the first fold only, as in parts. ``--rounds`` are theirs. Differences are the largest ones of
probabilities of 100,000 rows and, for the linear model, of coefficients, intercepts and offsets. Time is processor time,
because the machine may be busy with other work. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._script import memory, new_parser, write_page
from reproductions._markdown import table

WAYS = ("parts", "memory")
MODELS = ("linear", "xgboost")


def measure(way: str, files: Path, model: Any, n_rounds: int, scratch: Path) -> dict[str, Any]:
    """Seconds, megabytes, and the largest differences from the fit before, if there was one."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    import metricfit as mf
    from metricfit import shards
    from metricfit.learners import stratified_folds

    is_linear = model == "linear"
    if not is_linear:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=n_rounds, n_jobs=1)
    imported, begin, clock = memory() / 2**20, time.process_time(), time.time()
    paths = sorted(files.glob("*.parquet"))
    if way == "parts":
        fitted = shards.fit_shards(files, "y", "f1", model=model, random_state=0, scratch=scratch)
    else:
        rows = pa.concat_tables([parquet.read_table(path) for path in paths])
        labels = rows["y"].to_numpy().astype(np.int64)
        folds: Any = 5 if is_linear else stratified_folds(labels, 5, np.random.RandomState(0).randint(2**31))[:1]
        fitted = mf.MetricClassifier("f1", model=model, cv=folds, random_state=0).fit(rows.drop_columns("y"), labels)
    found = {"seconds": time.process_time() - begin, "clock": time.time() - clock, "imported": imported}
    found["peak"] = memory() / 2**20
    some = next(parquet.ParquetFile(paths[0]).iter_batches(100_000))
    results = {"probabilities": fitted.predict_proba(pa.table(some).drop_columns("y"))}
    if is_linear:
        results["coefficients"] = np.concatenate([fitted.coef_.ravel(), fitted.intercept_, fitted.offsets_])
    for name, values in results.items():
        kept = scratch / f"{name}.npy"
        if kept.exists():
            found[name] = float(np.abs(values - np.load(kept)).max())
        np.save(kept, values)
    return {**found, "chosen": fitted.chosen_, "f1": max(one["metric"] for one in fitted.candidates_)}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("files", type=Path, help="folder of Parquet files by benchmarks.make_rows")
    parser.add_argument("--model", choices=MODELS, default="linear")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", choices=WAYS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.scratch:
        print(json.dumps(measure(given.only, given.files, given.model, given.rounds, given.scratch)))
        return
    heads = ["fit", "processor time, s", "clock, s", "peak, MB", "of which imports, MB", "chosen", "held-out F1"]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for way in [given.only] if given.only else WAYS:
            options = ["--model", given.model, "--rounds", str(given.rounds), "--only", way, "--scratch", scratch]
            command = [sys.executable, "-m", "benchmarks.in_parts", given.files, *options]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            sizes = (f"{found[name]:.0f}" for name in ("seconds", "clock", "peak", "imported"))
            differences = (f"{found[name]:.1e}" if name in found else "" for name in ("probabilities", "coefficients"))
            rows.append([way, *sizes, found["chosen"], f"{found['f1']:.4f}", *differences])
    write_page(given.out, "in_parts.md", table([*heads, "difference of probabilities", "of coefficients"], rows))


if __name__ == "__main__":
    main()
