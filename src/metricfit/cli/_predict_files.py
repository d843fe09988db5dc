"""Predict many files, several at a time: here, or on a cluster that sees the same files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from metricfit._errors import ClusterError, DataError, UsageError
from metricfit.cli._options import say

if TYPE_CHECKING:
    from metricfit.cli._prediction import Prediction
    from metricfit.data import Drift

Pair = tuple[Path, Path]  # a file, and where its predictions go


@dataclass
class Done:
    """A file that was predicted, or what was wrong with it; and what there was to say."""

    n_rows: int = 0
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    drift: Drift | None = None


def pair_files(files: Sequence[Path], out: Path | None, overwrite: bool) -> list[Pair]:
    """Every file with its output in the folder ``out``; an error before anything is read if one of these cannot be written."""
    from metricfit._files import check_free

    if out is None:
        raise UsageError(f"{len(files)} files need --out FOLDER, which gets one output for each of them.")
    if Path("-") in files:
        raise UsageError("- (stdin) is a file alone: pass it without other files and without --cluster.")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, expected a folder for the outputs of {len(files)} files.")
    pairs = [(file, out / output_name(file)) for file in files]
    taken: dict[Path, Path] = {}
    inputs = {file.resolve() for file in files}
    for file, target in pairs:
        if target in taken:
            raise UsageError(f"{taken[target]} and {file} would both be written to {target}. Pass them one after the other.")
        if target.resolve() in inputs:
            raise UsageError(f"The output {target} would replace an input. Choose another folder for --out.")
        taken[target] = file
        check_free(target, "pass --overwrite", overwrite)
    return pairs


def output_name(file: Path) -> str:
    """The name of a file's output: its own, and as CSV what cannot be written in its format.

    >>> [output_name(Path(name)) for name in ("a/may.parquet", "may.csv.gz", "may.jsonl", "may.2.tsv")]
    ['may.parquet', 'may.csv.gz', 'may.csv', 'may.2.csv']
    """
    name = file.name
    if name.lower().endswith((".parquet", ".csv", ".csv.gz")):
        return name
    return file.with_suffix("").name.removesuffix(".jsonl").removesuffix(".tsv").removesuffix(".arff") + ".csv"


def predict_files(prediction: Prediction, pairs: Sequence[Pair], n_jobs: int | None, overwrite: bool) -> None:
    """Write the outputs. A file that cannot be predicted leaves the others as they are; the error at the end counts them."""
    from metricfit._parallel import parallel
    from metricfit.cli._prediction import say_moved
    from metricfit.data import Drift

    pairs = [(file.absolute(), target.absolute()) for file, target in pairs]  # a worker has another working folder
    items = [(file, target, overwrite) for file, target in pairs]
    failed, drift = 0, Drift(prediction.model.schema)
    for (file, target), done in zip(pairs, parallel(_predict_file, prediction, items, n_jobs), strict=True):
        for note in done.notes:
            say(note if str(file) in note or str(target) in note else f"{file}: {note}")
        if not done.problem and not target.exists():
            raise ClusterError(f"{target} was written by a worker, but is not here: --out should be on a disk that all share.")
        if done.drift is not None:
            drift.join(done.drift)
        if done.problem:
            failed += 1
            say(done.problem if str(file) in done.problem else f"{file}: {done.problem}")
    say_moved(drift, say)
    if failed:
        folder = pairs[0][1].parent
        raise DataError(f"{failed} of {len(pairs)} files could not be predicted, see above. The others are in {folder}.")


def _predict_file(prediction: Prediction, file: Path, target: Path, overwrite: bool) -> Done:
    from metricfit.data import Drift

    done, drift = Done(), Drift(prediction.model.schema)
    try:
        done.n_rows = prediction.write(file, target, overwrite, done.notes.append, drift, progress=False)
        done.drift = drift
    except (DataError, UsageError, OSError) as error:
        done.problem = str(error)
    return done
