"""Open what predicts, and its columns: a folder written by ``metricfit fit``, or a rule of ``metricfit decide``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit._printable import quoted
from metricfit._typing import Floats
from metricfit.cli._arguments import find_layout, ignore_warnings
from metricfit.cli._inspect import TABLE_FILE, describe, read_json
from metricfit.cli._options import PredictOptions
from metricfit.cli._score_files import ScoreColumns, find_score_columns, score_schema
from metricfit.data import Column, TableSchema
from metricfit.decisions import DecisionRule
from metricfit.estimators import MetricClassifier, OutOfReachError, UntrustedError
from metricfit.metrics import Cost

PREDICTION = "prediction"


@dataclass(frozen=True)
class Model:
    """A model, and the columns that it reads."""

    classifier: MetricClassifier
    schema: TableSchema
    reads_whole_files = False

    def output_names(self, probabilities: bool) -> list[str]:
        return [PREDICTION, *(f"probability_{label}" for label in self.classifier.classes_ if probabilities)]

    def answer(self, rows: pa.Table, probabilities: bool) -> dict[str, pa.Array]:
        """The columns of the output: ``prediction``, and if asked for ``probability_<class>``."""
        classes = self.classifier.classes_
        scores = probability = np.empty((0, len(classes)))
        if rows.num_rows:
            table: Any = rows if self.classifier.reads_frames_ else _numbers(rows)
            with ignore_warnings():
                scores, probability = self.classifier.scores_and_probabilities(table)
        columns = [classes[scores.argmax(1)], *(probability.T if probabilities else ())]
        return dict(zip(self.output_names(probabilities), map(pa.array, columns), strict=True))


@dataclass(frozen=True)
class RuleModel:
    """A rule of ``metricfit decide``, and the columns that it reads: of scores, and after them of costs."""

    rule: DecisionRule
    schema: TableSchema

    @property
    def reads_whole_files(self) -> bool:
        """Whether the answer to a row depends on the others: a file is one batch."""
        return self.rule.actions_ is not None and self.rule.actions_.budget is not None

    def output_names(self, probabilities: bool) -> list[str]:
        """``prediction``, or ``prediction_<label>`` for each of several labels per row."""
        has_many = self.rule.has_lists_ is not None
        return [f"{PREDICTION}_{label}" for label in self.rule.classes_] if has_many else [PREDICTION]

    def answer(self, rows: pa.Table, probabilities: bool) -> dict[str, pa.Array]:
        """The labels, and what stands for no answer, as text if these are of two types; 0 and 1 for several labels."""
        rule, numbers, costs = self.rule, _numbers(rows), costs_of(self.rule)
        if (empty := np.isnan(numbers)).any():
            first = empty.argmax(1)
            missing = np.flatnonzero(empty.any(1)).tolist()
            raise OutOfReachError({row: f"column {quoted(rows.column_names[first[row]])} is not a number" for row in missing})
        if rule.has_lists_ is not None:
            found: Any = rule.predict(numbers) if len(numbers) else []
            if rule.has_lists_:
                found = [[label in row for label in rule.classes_.tolist()] for row in found]
            table = np.array(found, np.int64).reshape(-1, len(rule.classes_))
            return dict(zip(self.output_names(False), map(pa.array, table.T), strict=True))
        n_scores = len(self.schema.columns) - len(costs)
        by_name = dict(zip(costs, numbers[:, n_scores:].T, strict=True)) if costs else None
        labels = rule.predict(numbers[:, :n_scores], costs=by_name) if len(numbers) else rule.classes_[:0]
        may_abstain = rule.abstain is not None or rule.abstain_cost is not None
        if may_abstain and (rule.classes_.dtype.kind == "b" or isinstance(rule.abstain_label, str)):
            texts = [one if isinstance(one, str) else json.dumps(one) for one in labels.tolist()]
            return {PREDICTION: pa.array(texts, pa.string())}
        return {PREDICTION: pa.array(labels)}


def _numbers(rows: pa.Table) -> Floats:
    return np.stack([column.to_numpy() for column in rows.columns], 1) if rows.num_rows else np.empty((0, rows.num_columns))


def costs_of(rule: DecisionRule) -> tuple[str, ...]:
    """The columns of costs that the rule needs."""
    return rule.metric.columns if isinstance(rule.metric, Cost) else ()


def open_model(folder: Path, trusted: Sequence[str]) -> Model:
    """Open a model; a missing or invalid file is an error, and so is an object of a type that is not ``trusted``."""
    if not folder.is_dir():
        raise UsageError(f"{'File' if folder.suffix == '.json' else 'Folder'} {folder} does not exist.")
    try:
        classifier = MetricClassifier.load(folder, trusted=tuple(trusted))
    except UntrustedError as error:
        raise DataError(str(error).replace(f"trusted={error.types!r}", f"--trusted {','.join(error.types)}")) from error
    except MissingExtraError:
        raise
    except ImportError as error:
        raise DataError(f"{folder} contains an estimator of a package that is not installed: {error}.") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    rule = getattr(classifier, "rule_", None)
    if rule is not None and not rule.attainable_ and rule.fallback is None:
        raise DataError(f"{folder} makes no decisions. {rule.refusal_} Run `metricfit fit` with --fallback best.")
    _, files = describe(folder)
    if TABLE_FILE not in files:
        columns = tuple(_columns(classifier, folder))
        return Model(classifier, TableSchema(columns, hasattr(classifier, "feature_names_in_"), len(columns)))
    found = read_json(files, TABLE_FILE)
    try:
        schema = TableSchema.from_json(found)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / TABLE_FILE} is damaged: columns are missing or invalid.") from error
    n_columns = len(schema.columns)
    if n_columns != classifier.n_features_in_:
        raise DataError(
            f"{folder} contains a damaged model: {TABLE_FILE} has {n_columns} columns, expected {classifier.n_features_in_}."
        )
    return Model(classifier, schema)


def _columns(classifier: MetricClassifier, folder: Path) -> list[Column]:
    """The columns of a model saved from Python, from its feature names and preprocessor."""
    names = [str(name) for name in getattr(classifier, "feature_names_in_", range(1, classifier.n_features_in_ + 1))]
    if not classifier.reads_frames_:
        return [Column(name, "number", index) for index, name in enumerate(names)]
    reader = classifier.preprocessor_
    if not (reader.automatic and reader.transformers):
        raise DataError(
            f"{folder} was saved from Python with a custom preprocessor. Load it in Python with MetricClassifier.load."
        )
    types = dict.fromkeys(range(len(names)), "string")
    for part in next(iter(reader.transformers.values())).parts:  # every form splits the columns alike
        if part.kind in ("numbers", "dates"):
            types |= dict.fromkeys(part.places, "number" if part.kind == "numbers" else "date")
    return [Column(name, types[index], index) for index, name in enumerate(names)]


def open_rule(options: PredictOptions) -> RuleModel:
    """The rule in a JSON file as a model; the first file of scores tells where their columns are."""
    file, data = options.model, options.data[0]
    try:
        rule = DecisionRule.load(file)
    except ValueError as error:
        raise DataError(str(error)) from error
    if not rule.attainable_ and rule.fallback is None:
        raise DataError(f"{file} makes no decisions. {rule.refusal_} Run `metricfit decide` with --fallback best.")
    costs = costs_of(rule)
    if str(data) == "-":  # it can be read once only
        if not rule.columns_:
            raise UsageError(f"{file} has no column names, because it was fitted to an array. Pass a file instead of stdin.")
        columns = tuple(Column(name, "number", index) for index, name in enumerate((*rule.columns_, *costs)))
        return RuleModel(rule, TableSchema(columns, True, len(columns)))
    layout = find_layout(data, options)
    names, classes = rule.columns_, rule.classes_.tolist()
    for name in costs:
        if name not in layout.names:
            raise DataError(f"{data} lacks column {quoted(name)}, the cost of an answer in each row, which the rule needs.")
    if not names:
        others = [name for name in layout.names if name not in costs]
        found = find_score_columns(others, classes, header=layout.header, advice=f"Rename the columns of {data}.")
        if (len(found.names) == 1) != rule.is_single_:
            raise DataError(f"{data} should have {'one column' if rule.is_single_ else 'a column for each class'} of scores.")
    elif all(name in layout.names for name in names):
        found = ScoreColumns(names, tuple(classes))
    else:
        missing = next(name for name in names if name not in layout.names)
        raise DataError(f"{data} lacks column {quoted(missing)} that the rule was fitted to.")
    return RuleModel(rule, score_schema(replace(found, costs=costs), layout))
