"""``metricfit fit`` of several Parquet files, or of one with ``--stream``: in parts, by :mod:`metricfit.shards`."""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metricfit._errors import DataError, UsageError
from metricfit._extras import require
from metricfit._printable import printable
from metricfit.cli import _options as options
from metricfit.cli._inputs import check_options, say_contents
from metricfit.cli._metric_choice import choose_metric
from metricfit.cli._workers import workers

if TYPE_CHECKING:
    from metricfit.cli._fit import FitOptions
    from metricfit.estimators import MetricClassifier
    from metricfit.shards import Files

_COLUMNS = {"dropped": "drop", "numeric": "numeric", "categorical": "categorical"}  # arguments and options
IN_PARTS = "xgboost"  # the model of trees for files that are read in parts, and for these alone
NOT_IN_PARTS = {  # options for a single table in memory, and their defaults
    **dict.fromkeys(("group", "time", "test", "header", "delimiter", "encoding")),
    "drop_rare": 0,
    "keep_shared": False,
    "folds": 5,
    "repeats": 2,
    "method": "auto",
}


def reads_in_parts(paths: Sequence[Path]) -> bool:
    """Whether there are several files: given one by one, by a pattern, or as a folder."""
    first = paths[0]
    return len(paths) > 1 or first.is_dir() or (glob.has_magic(str(first)) and not first.exists())


def fit_in_parts(given: FitOptions) -> None:
    """Fit a model and write it to a folder; ``given`` are the options of ``fit``."""
    from metricfit._files import check_free
    from metricfit.cli._model import TABLE_FILE
    from metricfit.estimators import save

    _check_given(given)
    check_free(given.out)
    with workers(given.jobs, given.cluster) as n_jobs:  # connect before reading all labels: the cluster may be down
        files, classifier = _fit(given, n_jobs)
    table = {"target": files.target, **files.schema.as_json()}
    with options.ignore_warnings():
        untrusted = save(classifier, given.out, {TABLE_FILE: json.dumps(table, indent=1)})
    if given.as_json:
        about = {"learner": classifier.learner_, "chosen": classifier.chosen_, "notes": list(classifier.notes_)}
        more = {"candidates": list(classifier.candidates_), "trusted": untrusted}
        print(json.dumps({"model": str(given.out), **about, **more}, indent=1))
        return
    for line in f"Fitted to all rows: {classifier.summary()}".splitlines():
        print(printable(line))
    print(f"Model, without a report: {given.out}")
    if untrusted:
        print(f"To predict with it, pass --trusted {','.join(untrusted)}")


def _fit(given: FitOptions, n_jobs: int | None) -> tuple[Files, MetricClassifier]:
    """The files that were read, and the model."""
    from metricfit.estimators import MetricClassifier
    from metricfit.shards import check_scratch, find_files, fit_files, open_files, read_all_labels

    check_options(given)
    check_scratch(given.scratch)
    columns = {into: options.split_names(getattr(given, name)) for into, name in _COLUMNS.items()}
    files = open_files(find_files(given.data), given.target, say=options.say, **columns)
    labels = read_all_labels(files, given.merge_rare, options.say)
    say_contents(files.name, files.schema, files.target, labels.classes, labels.counts)
    choice = choose_metric(given, labels.classes, labels.counts)
    for note in choice.notes:
        options.say(note)
    classifier = MetricClassifier(
        choice.metric,
        model=given.model,
        pos_label=choice.pos_label,
        class_order=choice.class_order,
        random_state=given.seed,
        n_jobs=n_jobs,
        verbose=1,
    )
    try:
        return files, fit_files(files, labels, classifier, given.scratch)
    except DataError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def _check_given(given: FitOptions) -> None:
    """Refuse options that need all rows in memory."""
    if given.model not in ("auto", "linear", IN_PARTS):
        raise UsageError(
            f"--model {given.model} is not fitted to files that are read in parts. Pass --model linear or --model "
            f"{IN_PARTS}, or one file with a sample of the rows."
        )
    if given.model == IN_PARTS:
        for package in ("xgboost", "skops"):  # skops saves it
            require(package, "trees", f"--model {IN_PARTS}")
    for name, default in NOT_IN_PARTS.items():
        if getattr(given, name) != default:
            raise UsageError(
                f"--{name.replace('_', '-')} does not apply to files that are read in parts. Leave it out, or pass one file."
            )
