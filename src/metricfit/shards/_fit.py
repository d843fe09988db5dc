"""``fit_shards``: a ``MetricClassifier`` of Parquet files that need not fit in memory, linear or of boosted trees."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from metricfit import methods
from metricfit._checks import check_option
from metricfit._extras import require
from metricfit._threads import single_threaded
from metricfit._typing import Floats, Ints
from metricfit.estimators import MetricClassifier
from metricfit.estimators._feature_names import feature_names
from metricfit.estimators._folds import check_cv_argument
from metricfit.learners import COLUMNS, Given, LinearLearner, build_learner
from metricfit.learners._catalogue import STRENGTHS
from metricfit.learners._estimator import EstimatorLearner
from metricfit.metrics import resolve_metric
from metricfit.selection import iterate_folds
from metricfit.shards._columns import fit_code_reader, fit_reader
from metricfit.shards._files import Files, check_scratch, find_files, open_files
from metricfit.shards._labels import NO_LABEL, Codes, Labels, count_codes, read_all_labels
from metricfit.shards._recipe import Recipe
from metricfit.shards._rows import FileShard, Map, Passes, free_bytes
from metricfit.shards._scores import Scratch
from metricfit.shards._workers import ClusterMap, shard_map

ONLY_LINEAR = (
    "The model is linear: ensembles and networks are not trained on files that are read in parts. For boosted trees pass "
    "model='xgboost' (on the command line --model xgboost); for an ensemble, fit a sample of the rows in memory."
)
HELD_OUT_NOTE = (
    "Offsets and probabilities come from one of {} folds, whose rows a first model held out. The model that predicts was "
    "trained on all rows."
)
LINEAR = ("linear", "auto")
NOT_READ = ("preprocess", "warm_start")  # options that keep their defaults here


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
    map: Map | None = None,
    tell: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> MetricClassifier:
    """Fit a :class:`metricfit.MetricClassifier` to Parquet files of the same columns, in bounded memory.

    Row groups are read one after the other, several times. The result is that of ``MetricClassifier(metric, model="linear",
    ...)`` on all rows in memory, but for rounding. The folds, and what is sorted to tune offsets, take about 40 bytes per row
    for two classes; nothing else grows with the number of rows.

    ``model="xgboost"`` trains boosted trees by XGBoost's external memory (extra ``trees``). A first model holds out one of the
    ``cv`` folds, whose rows give offsets and probabilities; the model that predicts is trained on all rows.

    Args:
        files: a pattern such as ``"part-*.parquet"``, a folder, a file, or a list of these.
        target: the column to predict, by default the last.
        metric: as in ``MetricClassifier``.
        drop, numeric, categorical: columns to leave out, to read as numbers, and to read as categories.
        merge_rare: classes with fewer rows become one class, "other".
        scratch: a folder for temporary files, by default that of the system. If the numbers of all rows take no more than half
            of its free space, they are kept there, which makes each pass several times faster. The workers of a cluster
            write there only if a folder is passed, which all of them have to see.
        map: what maps a function over shards, as the built-in ``map`` does, such as ``executor.map`` of
            ``concurrent.futures``. By default ``n_jobs`` processes, or the Dask cluster that joblib is configured for, whose
            workers have to see the files.
        tell: called with a line about every pass.
        options: of ``MetricClassifier``: ``pos_label``, ``class_order``, ``average``, ``class_weight``, ``cv`` (a number of
            folds), ``method`` ("auto", "direct", "leaky", "expected_error", "threshold" or "cross_entropy"), ``smoothing``,
            ``C``, ``n_jobs`` and ``random_state``. ``model`` is "linear", or "auto", which is the linear model too, and
            ``notes_`` says so; or "xgboost", or an ``XGBClassifier`` with options of its own, for ``method`` "auto",
            "threshold" or "cross_entropy".
    """
    check_scratch(scratch)
    found = open_files(find_files(files), target, drop, numeric, categorical)
    labels = read_all_labels(found, merge_rare)
    classifier = MetricClassifier(metric, **{"model": "linear", **options})
    return fit_files(found, labels, classifier, scratch, map or shard_map(classifier.n_jobs), tell)


def fit_files(
    files: Files,
    labels: Labels,
    classifier: MetricClassifier,
    scratch: str | Path | None,
    map: Map,
    tell: Callable[[str], None],
) -> MetricClassifier:
    """Fit a classifier with a ``model`` of :func:`fit_shards` to these files; "xgboost" becomes an ``XGBClassifier``."""
    method = _check_options(classifier)
    classifier.classes_, counts = labels.classes, labels.counts
    metric = resolve_metric(
        classifier.metric, classifier.average, classifier.pos_label, labels.classes, classifier.class_order, counts
    )
    classifier.metric_, classifier.pos_label_, classifier.class_order_ = metric.metric, metric.positive, list(metric.order)
    seed = check_random_state(classifier.random_state).randint(2**31)
    n_folds = _count_folds(classifier, method, labels)
    learner, class_weight = _learner(classifier, method, seed, labels, n_folds), _class_weights(classifier, counts)
    trees = isinstance(learner, EstimatorLearner)
    known = labels.codes if counts.sum() == len(labels.codes) else labels.known
    folds = _fold_numbers(known, n_folds, seed)
    names = [column.name for column in files.schema.columns]
    with single_threaded(), tempfile.TemporaryDirectory(prefix="metricfit-", dir=scratch) as folder:
        shards = _shards(files, labels, known, folds)
        passes = Passes(shards, map, tell)
        reader = (fit_code_reader if trees else fit_reader)(passes, names)
        passes = replace(passes, shards=[replace(shard, reader=reader) for shard in shards])
        first = next(batch.features for shard in passes.shards for batch in shard.batches())
        n_features = int(first.shape[1])
        writes = scratch is not None or not isinstance(map, ClusterMap)  # a folder of this machine is not one of the workers
        if writes and isinstance(first, np.ndarray) and 16 * len(known) * n_features <= free_bytes(folder):
            passes = passes.on_scratch(Path(folder).resolve(), "numbers to the scratch folder")
        recipe: Any
        if trees:
            from metricfit.shards._trees import TreesRecipe  # XGBoost is an extra

            inputs = feature_names(reader.transformers[COLUMNS], names)
            recipe = TreesRecipe(passes, Path(folder), known, folds, learner, metric.metric, class_weight, inputs)
        else:
            kept, support = Scratch(Path(folder), known, folds, len(counts)), _support(known, folds, n_folds, len(counts))
            recipe = Recipe(passes, kept, metric.metric, class_weight, support, n_features, learner.strengths, learner.seed)
        fitted = recipe.fit(method)
    classifier.n_features_in_, classifier.feature_names_in_ = len(names), np.array(names, dtype=object)
    classifier.reads_frames_, classifier.frame_library_, classifier.preprocessor_ = True, "pyarrow", reader
    classifier.n_inputs_ = {learner.reads: n_features}
    classifier._keep(fitted, learner)
    return classifier


def _check_options(classifier: MetricClassifier) -> methods.Method | methods.Choice:
    if classifier.model not in LINEAR:
        classifier.model = _trees(classifier.model)
    defaults = MetricClassifier().get_params(deep=False)
    for name in NOT_READ:
        value = getattr(classifier, name)
        if value is not defaults[name] and value != defaults[name]:
            raise ValueError(f"`{name}` should stay {defaults[name]!r} where files are read in parts, got {value!r}.")
    check_option(classifier.smoothing, "smoothing", ("auto", "normal", "softmax"))
    check_cv_argument(classifier.cv)
    if not isinstance(classifier.cv, int | np.integer):
        raise ValueError(f"`cv` should be a number of folds where files are read in parts, got {classifier.cv!r}.")
    if classifier.C is not None and not classifier.C > 0.0:
        raise ValueError(f"`C` should be positive, got {classifier.C!r}.")
    return classifier._method()


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


def _learner(
    classifier: MetricClassifier, method: methods.Method | methods.Choice, seed: int, labels: Labels, n_folds: int
) -> Any:
    if classifier.model in LINEAR:
        strengths = STRENGTHS if classifier.C is None else (float(classifier.C),)
        return LinearLearner(strengths, seed, notes=(ONLY_LINEAR,) if classifier.model == "auto" else ())
    given = Given(len(labels.codes), len(labels.classes), False, n_folds)
    note = HELD_OUT_NOTE.format(n_folds)
    return replace(build_learner(classifier.get_params(deep=False), method, seed, given), notes=(note,))


def _count_folds(classifier: MetricClassifier, method: methods.Method | methods.Choice, labels: Labels) -> int:
    if classifier.model in LINEAR and classifier.C is not None and not methods.has_choice(method):
        return 0
    n_folds, counts = int(classifier.cv), labels.counts
    if counts.min() < n_folds:
        rare = labels.classes.tolist()[counts.argmin()]
        raise ValueError(
            f"Class {rare!r} has {counts.min()} rows for {n_folds} folds. Pass merge_rare={n_folds} (on the command line "
            f"--merge-rare {n_folds}), or a smaller `cv`."
        )
    return n_folds


def _fold_numbers(labels: Codes, n_folds: int, seed: int) -> Codes:
    """Which fold holds each row out: the folds of the in-memory fit."""
    found = np.zeros(len(labels), np.min_scalar_type(-max(1, n_folds)))
    for number, (_, test) in enumerate(iterate_folds(labels, n_folds, seed) if n_folds else ()):
        found[test] = number
    return found


def _shards(files: Files, labels: Labels, known: Codes, folds: Codes) -> list[FileShard]:
    shards, row, place = [], 0, 0
    for part in files.parts:
        codes = labels.codes[row : row + part.n_rows]
        row += part.n_rows
        own = slice(place, place + int((codes != NO_LABEL).sum()))
        place = own.stop
        elsewhere = replace(part, path=part.path.resolve())  # a worker may have another working folder
        shards.append(FileShard(known[own], folds[own], files.schema, elsewhere, codes))
    return shards


def _support(labels: Codes, folds: Codes, n_folds: int, n_classes: int) -> Ints:
    total = count_codes(labels, n_classes)
    return np.stack([*(total - count_codes(labels[folds == fold], n_classes) for fold in range(n_folds)), total])


def _class_weights(classifier: MetricClassifier, counts: Ints) -> Floats:
    if isinstance(classifier.class_weight, str):
        check_option(classifier.class_weight, "class_weight", ("balanced",))
        return counts.sum() / (len(counts) * counts)
    return classifier._class_weights(np.arange(len(counts)))
