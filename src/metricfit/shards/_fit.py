"""``fit_shards``: a ``MetricClassifier`` of Parquet files that need not fit in memory, linear or of boosted trees."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from metricfit import metrics
from metricfit._checks import check_option
from metricfit._extras import require
from metricfit._parallel import cluster_client, runs_here
from metricfit._progress import Progress, bar_or_lines
from metricfit._threads import single_threaded
from metricfit.estimators import MOST_FRAME_ROWS, MetricClassifier
from metricfit.learners import Blocks, DataFacts, Learner, LinearLearner, TrainingRows, build_learner, is_summed, spread_rows
from metricfit.methods import Choice, Method
from metricfit.selection import fit_method
from metricfit.shards._blocks import ParquetBlock, fits_on_disk, read_rows, write_blocks
from metricfit.shards._files import NO_LABEL, Files, Labels, check_scratch, find_files, open_files, read_all_labels

ONLY_LINEAR = (
    "The model is linear: ensembles and networks are not trained on files that are read in parts. For boosted trees pass "
    "model='xgboost' (on the command line --model xgboost); for an ensemble, fit a sample of the rows in memory."
)
HELD_OUT_NOTE = (
    "Offsets and probabilities come from one of {} folds, whose rows a first model held out. The model that predicts was "
    "trained on all rows."
)
# options that keep their defaults here
NOT_READ = ("preprocess", "warm_start", "subject_to", "confidence", "calibration", "fallback")


def fit_shards(
    files: str | Path | Sequence[str | Path],
    target: str | None = None,
    metric: Any = "accuracy",
    *,
    drop: Sequence[str] = (),
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    merge_rare: int = 0,
    scratch: str | Path | None = None,
    **options: Any,
) -> MetricClassifier:
    """Fit a :class:`metricfit.MetricClassifier` to Parquet files of the same columns, in bounded memory.

    Rows are read in blocks, many times. The model is the one that ``MetricClassifier(metric, model="linear", ...)`` fits to
    all rows in memory: probabilities agree within 0.001, and 99.9 % of the decisions are the same. Labels and folds stay in
    memory, a few bytes per row; features do not.

    Parameters
    ----------
    files : str, Path or sequence of these
        A pattern such as ``"part-*.parquet"``, a folder, a file, or a list of these.
    target : str, default=None
        The column to predict; by default the last one.
    metric : str, Metric or callable, default="accuracy"
        As in :class:`MetricClassifier`.
    drop : sequence of str, default=()
        Columns to leave out.
    numeric : sequence of str, default=()
        Columns to read as numbers.
    categorical : sequence of str, default=()
        Columns to read as categories.
    merge_rare : int, default=0
        Classes with fewer rows become one class, "other".
    scratch : str or Path, default=None
        Folder for temporary files; by default that of the system. If the numbers of all rows take at most half of its free
        space, they are kept there, which makes each pass several times faster. Workers of a cluster write there only if you
        pass a folder that all of them can see.
    **options : dict
        Options of :class:`MetricClassifier`: ``model``, ``pos_label``, ``class_order``, ``average``, ``class_weight``, ``cv``
        (a number of folds), ``method`` (any but "exact" and "east"), ``smoothing``, ``C``, ``n_jobs``, ``random_state`` and
        ``verbose``. ``model`` is "linear" (also for "auto"), "xgboost" or an ``XGBClassifier``.

    Returns
    -------
    MetricClassifier
        The fitted classifier.

    Notes
    -----
    ``model="xgboost"`` trains boosted trees in XGBoost's external memory (extra ``trees``), or on a Dask cluster through its
    Dask interface, with ``method`` "auto", "threshold" or "cross_entropy". A first model holds out one of the ``cv`` folds,
    whose rows give the offsets and probabilities. The model that predicts is trained on all rows.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from sklearn.datasets import load_iris
    >>> from metricfit import fit_shards
    >>> table = load_iris(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table[::2].to_parquet(f"{folder}/part-0.parquet")
    ...     table[1::2].to_parquet(f"{folder}/part-1.parquet")
    ...     classifier = fit_shards(f"{folder}/part-*.parquet", "target", "f1_macro", method="threshold", random_state=0)
    >>> classifier.score(table.drop(columns="target"), table["target"]) > 0.9
    True
    """
    check_scratch(scratch)
    found = open_files(find_files(files), target, drop, numeric, categorical)
    labels = read_all_labels(found, merge_rare)
    return fit_files(found, labels, MetricClassifier(metric, **{"model": "linear", **options}), scratch)


def fit_files(files: Files, labels: Labels, classifier: MetricClassifier, scratch: str | Path | None) -> MetricClassifier:
    """Fit a classifier with a ``model`` of :func:`fit_shards` to these files; "xgboost" becomes an ``XGBClassifier``."""
    method, counts, n_jobs = _check_options(classifier), labels.counts, classifier.n_jobs
    _check_folds(classifier, labels)
    facts = DataFacts(int(counts.sum()), len(counts), False, int(classifier.cv))
    blocks, codes, classifier.classes_ = _parquet_blocks(files, labels), labels.known, labels.classes
    order = classifier.class_order
    table = classifier._table(None, codes, np.ones(len(codes), np.int8), np.ones(len(codes), np.bool_), order)
    _check_method(method, classifier.metric_, len(counts))
    some = spread_rows(len(codes), MOST_FRAME_ROWS)
    progress = bar_or_lines(metrics.name_of(classifier.metric)) if classifier.verbose else Progress()
    with single_threaded(), tempfile.TemporaryDirectory(prefix="metricfit-", dir=scratch) as name, progress:
        folder = Path(name).resolve()
        learner = _learner(classifier, method, table.seed, facts, folder)
        sample = classifier._check_features(read_rows(blocks, some, n_jobs), reset=True)
        classifier._fit_preprocessor(sample, codes[some].astype(np.int64), np.ones(len(some)), {learner.reads})
        reader = classifier.preprocessor_
        decoded = [replace(block, reader=reader, form=learner.reads) for block in blocks]
        here = runs_here(n_jobs) or cluster_client() is None
        writes = (scratch is not None or here) and fits_on_disk(folder, reader.read(sample, {learner.reads}), len(codes))
        numbers = write_blocks(decoded, folder, n_jobs) if writes else decoded
        features = Blocks.of(numbers, classifier.n_inputs_[learner.reads], n_jobs)
        rows = TrainingRows(features, codes, table.weight, table.class_weight, reader.n_codes)
        task = classifier._task(table, learner, rows, progress=progress)
        if not isinstance(learner, LinearLearner):
            task = replace(task, splits=task.splits[:1])
        classifier._keep(fit_method(task, learner, method), learner)
    return classifier


def _check_options(classifier: MetricClassifier) -> Method | Choice:
    if classifier.model not in ("linear", "auto"):
        classifier.model = _trees(classifier.model)
    defaults = MetricClassifier().get_params(deep=False)
    for name in NOT_READ:
        value = getattr(classifier, name)
        if value is not defaults[name] and value != defaults[name]:
            raise ValueError(f"`{name}` should stay {defaults[name]!r} where files are read in parts, got {value!r}.")
    check_option(classifier.smoothing, "smoothing", ("auto", "normal", "softmax"))
    if not isinstance(classifier.cv, int | np.integer):
        raise ValueError(f"`cv` should be a number of folds where files are read in parts, got {classifier.cv!r}.")
    return classifier._method()


def _check_method(method: Method | Choice, metric: metrics.Metric, n_classes: int) -> None:
    for one in method.candidates if isinstance(method, Choice) else (method,):
        if not is_summed(one, metric, n_classes):
            raise ValueError(
                f"`method` {one.name!r} is not trained on files that are read in parts, because it needs all rows at once. "
                "Pass method='auto', 'direct', 'threshold' or 'cross_entropy'."
            )


def _trees(model: Any) -> Any:
    """The ``XGBClassifier`` that is meant; a ValueError for any other model."""
    if model != "xgboost" and f"{type(model).__module__}.{type(model).__qualname__}" != "xgboost.sklearn.XGBClassifier":
        raise ValueError(
            f"`model` should be 'linear', 'xgboost' or an XGBClassifier where files are read in parts, got {model!r}. For "
            "other models, read a sample of the rows into memory and fit MetricClassifier."
        )
    require("xgboost", "trees", "model='xgboost'")
    from metricfit.shards._trees import check_trees

    return check_trees(model)


def _learner(classifier: MetricClassifier, method: Method | Choice, seed: int, facts: DataFacts, folder: Path) -> Learner:
    is_linear = classifier.model in ("linear", "auto")
    options = classifier.get_params(deep=False)
    learner = build_learner({**options, "model": "linear"} if is_linear else options, method, seed, facts)
    if is_linear:
        return replace(learner, notes=(ONLY_LINEAR,) if classifier.model == "auto" else ())
    from metricfit.shards._trees import BlockTrees  # XGBoost is an extra

    return BlockTrees(classifier.model, seed, folder=folder, notes=(HELD_OUT_NOTE.format(facts.n_splits),))


def _check_folds(classifier: MetricClassifier, labels: Labels) -> None:
    counts, n_folds = labels.counts, int(classifier.cv)
    if counts.min() < n_folds:
        rare = labels.classes.tolist()[counts.argmin()]
        raise ValueError(
            f"Class {rare!r} has {counts.min()} rows for {n_folds} folds. Pass merge_rare={n_folds} (on the command line "
            f"--merge-rare {n_folds}), or a smaller `cv`."
        )


def _parquet_blocks(files: Files, labels: Labels) -> list[ParquetBlock]:
    blocks, end = [], 0
    for part in files.parts:
        begin, end = end, end + part.n_rows
        elsewhere = replace(part, path=part.path.resolve())  # a worker may have another working folder
        blocks.append(ParquetBlock(elsewhere, files.schema, labels.codes[begin:end] != NO_LABEL))
    return blocks
