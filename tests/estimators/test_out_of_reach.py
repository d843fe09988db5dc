"""Numbers far from those of the fit: a score, or an error that names row and column, and never NaN."""

from copy import copy
from dataclasses import replace

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import metricfit as mf
from metricfit.estimators import OutOfReachError
from metricfit.estimators._forms import FormReader
from metricfit.estimators._kinds import as_numbers
from metricfit.learners import COLUMNS, MATRIX

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)


def as_table(values):
    return pa.table({"a": values[:, 0], "b": values[:, 1], "c": values[:, 2]})


@pytest.mark.parametrize("make", [np.asarray, as_table])
@pytest.mark.parametrize("model", ["linear", "mlp", "extra_trees"])
@pytest.mark.parametrize("number", [1e30, 1e39, 1e50, 1e99])
def test_probabilities_are_numbers_or_an_error(make, model, number):
    fitted = _fitted(model, make)
    values = X[:4].copy()
    values[2, 1] = number
    try:
        scores, probabilities = fitted.scores_and_probabilities(make(values))
    except OutOfReachError as error:
        assert list(error.rows) == [2]  # noqa: PT017 - some models have scores for it
        assert f"column {'x1' if make is np.asarray else 'b'!r}" in str(error)  # noqa: PT017
        assert (model, number) not in (("linear", number), (model, 1e30))
    else:
        assert not np.isnan(scores).any()
        np.testing.assert_allclose(probabilities.sum(1), 1.0)


_MODELS = {}


def _fitted(model, make):
    if (model, make) not in _MODELS:
        given = mf.Network(max_epochs=2) if model == "mlp" else model
        _MODELS[model, make] = mf.MetricClassifier("f1", model=given, method="cross_entropy", random_state=0).fit(make(X), Y)
    return _MODELS[model, make]


def test_infinite_scores_are_an_error():
    """The largest of them is a number, but no probability is."""
    fitted = copy(_fitted("linear", np.asarray))
    fitted.model_ = replace(fitted.model_, weight=1e220 * fitted.model_.weight)
    values = X[:4].copy()
    values[3, 0] = 1e90
    with pytest.raises(OutOfReachError, match=r"Row 3 of X, counted from 0, column 'x0' is too far from the rows of the fit"):
        fitted.predict_proba(values)


def test_a_remembering_reader_reads_a_table_once(monkeypatch):
    table, other = as_table(X), as_table(X[:5])
    reader = FormReader.fit(table, Y, np.ones(len(Y)), "auto", {MATRIX, COLUMNS}).remembering()
    read = []
    make = FormReader._make
    monkeypatch.setattr(FormReader, "_make", lambda self, data, form: read.append(form) or make(self, data, form))
    first = reader.read(table, [MATRIX])
    assert reader.read(table, [MATRIX]) is first
    reader.read(table, [COLUMNS])
    assert read == [MATRIX, COLUMNS]
    assert reader.read(other, [MATRIX]).shape == (5, 3)
    np.testing.assert_array_equal(reader.read(table, [MATRIX]), first)
    assert read == [MATRIX, COLUMNS, MATRIX, MATRIX]


def test_many_columns_are_not_looked_up_one_by_one(monkeypatch):
    """Each look at a column asked for the names of all: ten thousand columns took minutes."""
    frame = nw.from_native(pd.DataFrame(np.eye(3)))
    monkeypatch.setattr(type(frame), "__getitem__", None)
    assert (as_numbers(frame) == np.eye(3)).all()
