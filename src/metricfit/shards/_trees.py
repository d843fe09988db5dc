"""Boosted trees by XGBoost's external memory: the fit of an ``XGBClassifier`` to shards. Needs ``metricfit[trees]``.

XGBoost is given the rows a page at a time, several times over. It keeps them in files of the scratch folder, as the numbers of
their bins, and reads these files again for every level of a tree. In memory are a few pages, and per row the label, its
gradients and its leaf.

A first model holds out the rows of the first fold. Its scores of these rows give offsets and probabilities, by the recipe of
:mod:`metricfit.selection` for a single split. The model that predicts is trained on all rows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import clear_frames
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.base import clone
from xgboost.core import XGBoostError

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit._typing import Floats, Ints
from metricfit.learners import Task, Trained, TrainingRows
from metricfit.learners._estimator import EstimatorLearner, with_seed
from metricfit.learners._estimator_model import EstimatorModel
from metricfit.methods import Choice, Method
from metricfit.metrics import Metric
from metricfit.selection import Fitted, fit_method
from metricfit.shards._labels import Codes
from metricfit.shards._questions import ALL_ROWS
from metricfit.shards._rows import Batch, Passes, free_bytes
from metricfit.shards._signals import held_signals

PAGE_CELLS = 2**22  # of a page of rows: 16 MB in float32, and 4 MB as bins
MAX_BIN = 256  # XGBoost's default
HELD_OUT = 0  # the fold that the first model holds out
_PLACE = re.compile(r"^\[[0-9:]+\] \S+:[0-9]+: ")  # the time and the line of C++ before a message
Page = tuple[NDArray[np.float32], Ints]  # features and labels
SUPPORTED: dict[str, tuple[Any, ...]] = {  # values of options that external memory takes, or that files can hold
    "booster": (None, "gbtree"),
    "tree_method": (None, "auto", "hist"),
    "objective": (None, "binary:logistic", "multi:softprob"),
    "device": (None, "cpu"),
    "multi_strategy": (None, "one_output_per_tree"),
    "process_type": (None, "default"),
    **dict.fromkeys(
        ("early_stopping_rounds", "callbacks", "feature_types", "feature_weights", "updater", "num_class"), (None,)
    ),
}
CONSTRAINTS: dict[str, tuple[Any, Any]] = {  # what needs names, which the pages lack, and what does not
    "monotone_constraints": (Mapping, (1, 0, -1)),
    "interaction_constraints": (list | tuple, "[[0, 1], [2, 3]]"),
}


def check_trees(model: Any) -> Any:
    """The estimator to fit: "xgboost" is an ``XGBClassifier`` with its defaults. A ValueError names an option to change."""
    estimator = xgboost.XGBClassifier() if isinstance(model, str) else model
    options = estimator.get_params(deep=False)
    for name, values in SUPPORTED.items():
        value = options.get(name)
        if value is not None and not (isinstance(value, str) and value in values):
            raise ValueError(
                f"`{name}` of XGBClassifier should be {' or '.join(map(repr, values))} where files are read in parts, got "
                f"{value!r}. Leave it out, or read a sample of the rows into memory and fit MetricClassifier."
            )
    for name, (kinds, example) in CONSTRAINTS.items():
        if isinstance(options.get(name), kinds):
            raise ValueError(
                f"`{name}` of XGBClassifier should go by the numbers of columns, such as {example!r}, where files are read in "
                f"parts, got {options[name]!r}. Count from 0: categories first, then numbers, then six parts of each date."
            )
    return estimator


@dataclass(frozen=True)
class TreesRecipe:
    """What is fitted to which rows; ``labels`` and ``folds`` are those of all rows, ``names`` those of all features."""

    passes: Passes
    folder: Path
    labels: Codes
    folds: Codes
    learner: EstimatorLearner
    metric: Metric
    class_weight: Floats
    names: Sequence[str]

    def fit(self, method: Method | Choice) -> Fitted:
        """Offsets from the held-out rows, for the model of all rows: as in memory with the first fold as the only split."""
        first = self._train(HELD_OUT)
        scores = np.concatenate(list(self.passes.each(_HeldOutScorer(first), "held-out scores")))
        labels = self.labels[self.folds == HELD_OUT].astype(np.int64)
        rows = TrainingRows(np.empty((len(labels), 0)), labels, np.ones(len(labels)), self.class_weight)
        split = np.empty(0, np.int64), np.arange(len(labels))
        task = Task(rows, self.metric, [split], seed=self.learner.seed)
        return fit_method(task, self.learner, method, Trained(self.learner, self._train(ALL_ROWS), [first], scores))

    def _train(self, fold: int) -> EstimatorModel:
        """A model of the rows that the fold does not hold out."""
        begin, k = time.monotonic(), len(self.class_weight)
        estimator = with_seed(clone(self.learner.estimator), self.learner.seed)
        options, n_rounds = estimator.get_xgb_params(), estimator.get_num_boosting_rounds()
        options["objective"] = "binary:logistic" if k == 2 else "multi:softprob"
        options |= {} if k == 2 else {"num_class": k}
        n_rows = int((self.folds != fold).sum())
        try:
            with held_signals() as raise_held, xgboost.config_context(verbosity=estimator.verbosity):
                callbacks = [_EachRound(raise_held)]
                booster = xgboost.train(
                    options, self._matrix(fold, n_rows, estimator, raise_held), n_rounds, callbacks=callbacks
                )
                estimator.load_model(booster.save_raw("ubj"))
        except BaseException as error:
            clear_frames(error.__traceback__)  # the matrix ends, and so XGBoost's files, before their folder does
            if isinstance(error, XGBoostError):
                raise _without_stack(error, self.learner.estimator) from None
            raise
        self.passes.tell(f"Training on {n_rows:,} rows: {n_rounds:,} rounds, {time.monotonic() - begin:.1f} s.")
        return EstimatorModel(estimator, np.arange(k), np.zeros(k))

    def _matrix(self, fold: int, n_rows: int, estimator: Any, raise_held: Callable[[], None]) -> xgboost.DMatrix:
        self._check_space(needed_bytes(len(self.labels), len(self.names), estimator.max_bin))  # also of the model of all rows
        pages = _Pages(lambda: self._pages(fold), self.class_weight, str(self.folder / "pages"), raise_held)
        options = {"missing": estimator.missing, "nthread": estimator.n_jobs, "max_bin": estimator.max_bin}
        try:
            matrix = xgboost.ExtMemQuantileDMatrix(pages, **options)
        except XGBoostError as error:
            raise pages.error or error from None  # what XGBoost says of a page that is missing is of no use
        if pages.error is not None:
            raise pages.error.with_traceback(None)  # its frames have the matrix, which has to end before its folder
        if matrix.num_row() != n_rows:
            raise RuntimeError(f"XGBoost was given {n_rows:,} rows and has {matrix.num_row():,}. Please report this.")
        return matrix

    def _check_space(self, needed: int) -> None:
        """XGBoost ends the interpreter if the disk is full while it writes."""
        free = free_bytes(self.folder)
        if needed > free:
            raise UsageError(
                f"--scratch {self.folder.parent} has {free / 2**20:,.1f} MB free, expected at least {needed / 2**20:,.1f} MB "
                "for the pages of XGBoost. Pass a folder with more space."
            )

    def _pages(self, fold: int) -> Iterator[Page]:
        """The rows outside of the fold, in order; always the same pages."""
        least, features, labels, n_rows = max(1, PAGE_CELLS // len(self.names)), list[Any](), list[Ints](), 0
        for shard in self.passes.shards:
            for batch in shard.batches():
                inside = batch.folds != fold
                features.append(self._as_float32(batch.features[inside]))
                labels.append(batch.labels[inside])
                n_rows += len(labels[-1])
                if n_rows >= least:
                    yield np.concatenate(features), np.concatenate(labels)
                    features, labels, n_rows = [], [], 0
        if n_rows:
            yield np.concatenate(features), np.concatenate(labels)

    def _as_float32(self, features: Floats) -> NDArray[np.float32]:
        """XGBoost's own type; a DataError for a number that is too large for it."""
        with np.errstate(over="ignore"):
            small = features.astype(np.float32)
        if np.isinf(small).any():
            row, place = np.argwhere(np.isinf(small))[0]
            raise DataError(
                f"Column {quoted(self.names[place])} has {features[row, place]:.3g}, too much for trees. Correct such values, "
                "or drop the column."
            )
        return small


def needed_bytes(n_rows: int, n_columns: int, max_bin: int | None) -> int:
    """At least what XGBoost writes: each cell's bin twice, once in four bytes if values are missing, and cuts in each page."""
    n_bins, n_cells = max_bin or MAX_BIN, n_rows * n_columns
    bits = 8 * (4 + np.min_scalar_type(n_bins - 1).itemsize) + 1
    cuts = 8 * min(n_bins, n_rows) * n_columns + 1024
    return n_cells * bits // 8 + 8 * n_rows + (1 + n_cells // PAGE_CELLS) * cuts


class _Pages(xgboost.DataIter):
    """Pages as XGBoost asks for them, from the start after each reset.

    Python forgets what is raised in a call from C, so that a fit that was interrupted would go on with fewer rows. So an error
    is kept, and no page follows.
    """

    def __init__(
        self, read: Callable[[], Iterator[Page]], class_weight: Floats, prefix: str, raise_held: Callable[[], None]
    ) -> None:
        super().__init__(cache_prefix=prefix)
        self._read, self._class_weight, self._pages = read, class_weight, iter(list[Page]())
        self._raise_held = raise_held
        self.error: BaseException | None = None

    def reset(self) -> None:
        self._pages = self._read()

    def next(self, input_data: Callable[..., None]) -> bool:
        try:
            self._raise_held()
            page = next(self._pages, None) if self.error is None else None
            if page is not None:
                features, labels = page
                weighted = {} if (self._class_weight == 1.0).all() else {"weight": self._class_weight[labels]}
                input_data(data=features, label=labels, **weighted)
        except BaseException as error:
            self.error, page = error, None
        return page is not None


class _EachRound(xgboost.callback.TrainingCallback):
    """Calls a function before each round."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self._call = call

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._call()
        return False


def _without_stack(error: XGBoostError, estimator: Any) -> Exception:
    """The first line of an error, without C++'s stack. It is a mistake of the user only if there are options to correct."""
    line = _PLACE.sub("", str(error).strip().splitlines()[0]).rstrip(".")
    defaults = xgboost.XGBClassifier().get_params(deep=False)
    options = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    given = ", ".join(f"{name}={value}" for name, value in options.items() if value != repr(defaults.get(name)))
    if not given:
        return RuntimeError(f"XGBoost cannot train: {line}.")
    return ValueError(f"XGBoost cannot train XGBClassifier({given}): {line}. Correct an option, or leave it out.")


@dataclass(frozen=True)
class _HeldOutScorer:
    """The scores (n, k) of those rows that the first model holds out."""

    model: EstimatorModel

    def __call__(self, batch: Batch) -> Floats:
        held_out = batch.folds == HELD_OUT
        if not held_out.any():
            return np.empty((0, len(self.model.offsets)))
        return self.model.logits(batch.features[held_out])
