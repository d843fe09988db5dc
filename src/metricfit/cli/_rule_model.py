"""A rule that ``metricfit decide`` wrote, as a model that predicts from a file of scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metricfit.cli._model import Model
    from metricfit.decisions import DecisionRule


@dataclass(frozen=True)
class RuleClassifier:
    """What the command needs of a classifier: scores to decide by. A rule has no probabilities of its own."""

    rule: DecisionRule
    columns: tuple[str, ...]
    reads_frames_ = False

    @property
    def classes_(self) -> NDArray[Any]:
        return self.rule.classes_

    def scores_and_probabilities(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from metricfit.estimators import OutOfReachError

        if (empty := np.isnan(scores)).any():
            first = empty.argmax(1)
            rows = np.flatnonzero(empty.any(1)).tolist()
            raise OutOfReachError({row: f"column {quoted(self.columns[first[row]])} has no number" for row in rows})
        found = self.rule.decision_function(scores)
        return (np.stack([-found, found], 1) if found.ndim == 1 else found), np.empty((len(scores), 0))


def open_rule(file: Path, data: Path, delimiter: str | None, encoding: str | None, header: bool | None) -> Model:
    """The rule in a JSON file as a model; ``data`` has the scores, and tells where their columns are."""
    from metricfit.cli._score_files import ScoreColumns, find_score_columns, score_schema
    from metricfit.data import Column, TableSchema, layout_of
    from metricfit.decisions import DecisionRule

    try:
        rule = DecisionRule.load(file)
    except ValueError as error:
        raise DataError(str(error)) from error
    if not rule.attainable_ and rule.fallback is None:
        raise DataError(f"{file} does not decide. {rule.refusal_} Run `metricfit decide` with --fallback best.")
    if str(data) == "-":  # it can be read once only
        if not rule.columns_:
            raise UsageError(f"{file} does not name its columns, as it was fitted to an array. Pass a file instead of stdin.")
        columns = tuple(Column(name, "number", index) for index, name in enumerate(rule.columns_))
        return _model(rule, TableSchema(columns, True, len(columns)))
    layout = layout_of(data, delimiter=delimiter, encoding=encoding, header=header)
    names, classes = rule.columns_, rule.classes_.tolist()
    if not names:
        found = find_score_columns(layout.names, classes, header=layout.header)
        if (len(found.names) == 1) != rule.is_single_:
            raise DataError(f"{data} should have {'one column' if rule.is_single_ else 'a column for each class'} of scores.")
    elif all(name in layout.names for name in names):
        found = ScoreColumns(names, tuple(classes))
    else:
        missing = next(name for name in names if name not in layout.names)
        raise DataError(f"{data} lacks column {quoted(missing)} that the rule was fitted to.")
    return _model(rule, score_schema(found, layout))


def _model(rule: DecisionRule, schema: Any) -> Model:
    from metricfit.cli._model import Model

    return Model(RuleClassifier(rule, tuple(column.name for column in schema.columns)), schema)
