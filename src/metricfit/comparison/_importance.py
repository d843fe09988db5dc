"""Permutation importance: what the metric loses on held-out rows if one column is shuffled (Breiman 2001)."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import _safe_indexing

from metricfit._typing import Floats, Ints
from metricfit.comparison._outcome import score_of
from metricfit.estimators import MetricClassifier

MOST_ROWS = 1000  # of a split that are shuffled and predicted again for every column


def importance_of(fitted: MetricClassifier, data: Any, labels: Ints, seed: int) -> Floats:
    """For every column of the table the metric of the rows as they are, less that with the column shuffled."""
    random = np.random.default_rng(seed)
    if len(labels) > MOST_ROWS:
        rows = random.permutation(len(labels))[:MOST_ROWS]
        data, labels = _safe_indexing(data, rows), labels[rows]
    n_classes, order = len(fitted.classes_), random.permutation(len(labels))

    def score(table: Any) -> float:
        return score_of(fitted.metric_, fitted.scores_and_probabilities(table)[0].argmax(1), labels, n_classes)

    whole = score(data)
    return np.array([whole - score(_shuffled(data, place, order)) for place in range(data.shape[1])])


def _shuffled(data: Any, place: int, order: Ints) -> Any:
    """The table with the values of one column in another order."""
    if hasattr(data, "tocsc"):
        columns = data.tolil(copy=True)
        columns[:, place] = data.tocsc()[:, [place]].toarray()[order]
        return columns.tocsr()
    table = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(table, nw.DataFrame):
        column = table[:, place]
        return table.with_columns(column[order.tolist()].alias(column.name)).to_native()
    changed = np.array(data)
    changed[:, place] = changed[order, place]
    return changed
