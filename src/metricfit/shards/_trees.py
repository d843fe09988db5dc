"""Boosted trees of blocks by XGBoost: by its external memory, or on a Dask cluster by its Dask interface. Needs ``trees``.

XGBoost's external memory reads the rows a page at a time, several times over, and keeps the numbers of their bins in files of
the scratch folder. On a cluster the workers hold the rows in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import clear_frames
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.base import clone
from xgboost.core import XGBoostError

from metricfit._errors import UsageError
from metricfit._extras import require
from metricfit._parallel import cluster_client, runs_here
from metricfit._typing import Ints
from metricfit.learners import COLUMNS, EstimatorLearner, EstimatorModel, Fold, TrainingRows, with_seed
from metricfit.shards._blocks import free_bytes

PAGE_CELLS = 2**22  # of a page of rows: 16 MB in float32, and 4 MB as bins
BYTES_PER_CELL = 5  # that XGBoost writes, where values are missing
_SOURCE = re.compile(r"^\[[0-9:]+\] \S+:[0-9]+: ")  # the time and the line of C++ before a message
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
CONSTRAINTS: dict[str, tuple[Any, Any]] = {  # kinds that need names, which the pages lack, and examples that do not
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
class BlockTrees(EstimatorLearner):
    """Fits clones of an ``XGBClassifier`` to blocks of rows."""

    folder: Path = field(default=Path(), kw_only=True)  # for XGBoost's pages
    reads = COLUMNS

    def fit_fold(self, fold: Fold) -> EstimatorModel:
        rows = fold.rows
        estimator, k = with_seed(clone(self.estimator), self.seed), rows.n_classes
        options, n_rounds = estimator.get_xgb_params(), estimator.get_num_boosting_rounds()
        options["objective"] = "binary:logistic" if k == 2 else "multi:softprob"
        options |= {} if k == 2 else {"num_class": k}
        here = runs_here(rows.features.n_jobs) or cluster_client() is None
        try:
            with xgboost.config_context(verbosity=estimator.verbosity):
                booster = (self._train_here if here else self._train_on_cluster)(rows, options, n_rounds)
                estimator.load_model(booster.save_raw("ubj"))
        except BaseException as error:
            clear_frames(error.__traceback__)  # the matrix ends, and so XGBoost's files, before their folder does
            if isinstance(error, XGBoostError):
                raise _without_stack(error, self.estimator) from None
            raise
        return EstimatorModel(estimator, np.arange(k), np.zeros(k))

    def _train_here(self, rows: TrainingRows, options: dict[str, Any], n_rounds: int) -> xgboost.Booster:
        n_rows, n_features = rows.features.shape
        needed, free = BYTES_PER_CELL * n_rows * n_features, free_bytes(self.folder)
        if needed > free:  # XGBoost ends the interpreter if the disk is full while it writes
            raise UsageError(
                f"--scratch {self.folder.parent} has {free / 2**20:,.1f} MB free, expected at least {needed / 2**20:,.1f} MB "
                "for the pages of XGBoost. Pass a folder with more space."
            )
        matrix = xgboost.ExtMemQuantileDMatrix(
            _Pages(rows, str(self.folder / "pages")), nthread=options["n_jobs"], **self._matrix_options()
        )
        if matrix.num_row() != n_rows:  # Python drops an interrupt in a call from C
            raise RuntimeError(f"XGBoost read {matrix.num_row():,} of {n_rows:,} rows: it was interrupted.")
        return xgboost.train(options, matrix, n_rounds)

    def _train_on_cluster(self, rows: TrainingRows, options: dict[str, Any], n_rounds: int) -> xgboost.Booster:
        require("pandas", "trees", "XGBoost on a cluster")
        from dask import array
        from dask.delayed import delayed
        from xgboost import dask as xgboost_dask

        columns: list[list[Any]] = [[], [], []]  # features, labels and weights
        for part in rows.parts():
            shapes = (len(part.labels), part.features.n_features), (len(part.labels),), (len(part.labels),)
            page = delayed(_page_of, nout=3)(part)
            for column, values, shape in zip(columns, page, shapes, strict=True):
                if len(part.labels):
                    column.append(array.from_delayed(values, shape, np.float32))
        features, labels, weight = map(array.concatenate, columns)
        client, of_matrix = cluster_client(), self._matrix_options()
        with client.as_current():  # type: ignore[union-attr]
            matrix = xgboost_dask.DaskQuantileDMatrix(client, features, labels, weight=weight, **of_matrix)
            return xgboost_dask.train(client, options, matrix, n_rounds)["booster"]

    def _matrix_options(self) -> dict[str, Any]:
        return {"missing": self.estimator.missing, "max_bin": self.estimator.max_bin}


def _page_of(rows: TrainingRows) -> tuple[Any, ...]:
    """Features, labels and weights of a block."""
    batches = list(rows.batches())
    columns = ([getattr(batch, name) for batch in batches] for name in ("features", "labels", "training_weight"))
    return tuple(np.concatenate(column).astype(np.float32) for column in columns)


class _Pages(xgboost.DataIter):
    """Pages of rows as XGBoost asks for them, from the start after each reset; always the same pages."""

    def __init__(self, rows: TrainingRows, prefix: str) -> None:
        super().__init__(cache_prefix=prefix)
        self._rows, self._pages = rows, iter(list[Page]())

    def reset(self) -> None:
        self._pages = self._read()

    def next(self, input_data: Callable[..., None]) -> bool:
        page = next(self._pages, None)
        if page is None:
            return False
        features, labels = page
        weight = self._rows.class_weight
        input_data(data=features, label=labels, **({} if (weight == 1.0).all() else {"weight": weight[labels]}))
        return True

    def _read(self) -> Iterator[Page]:
        least = max(1, PAGE_CELLS // self._rows.features.n_features)
        features, labels, n_rows = list[Any](), list[Ints](), 0
        for batch in self._rows.batches():
            features.append(batch.features.astype(np.float32))
            labels.append(batch.labels)
            n_rows += len(batch.labels)
            if n_rows >= least:
                yield np.concatenate(features), np.concatenate(labels)
                features, labels, n_rows = [], [], 0
        if n_rows:
            yield np.concatenate(features), np.concatenate(labels)


def _without_stack(error: XGBoostError, estimator: Any) -> Exception:
    """The first line of an error, without C++'s stack. It is a mistake of the user only if there are options to correct."""
    line = _SOURCE.sub("", str(error).strip().splitlines()[0]).rstrip(".")
    defaults = xgboost.XGBClassifier().get_params(deep=False)
    options = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    given = ", ".join(f"{name}={value}" for name, value in options.items() if value != repr(defaults.get(name)))
    if not given:
        return RuntimeError(f"XGBoost cannot train: {line}.")
    return ValueError(f"XGBoost cannot train XGBClassifier({given}): {line}. Correct an option, or leave it out.")
