"""Open what predicts, and its columns: a folder written by ``metricfit fit``, or a rule of ``metricfit decide``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._description import DamagedError, SavedFiles, check, read_description
from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit._printable import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metricfit.data import Column, TableSchema
    from metricfit.decisions import DecisionRule
    from metricfit.estimators import MetricClassifier

TABLE_FILE, SCORES_FILE, REPORT_FILE = "table.json", "scores.json", "report.html"


@dataclass(frozen=True)
class Model:
    """A model, and the columns that it reads."""

    classifier: MetricClassifier | RuleClassifier
    schema: TableSchema


def open_model(folder: Path, trusted: Sequence[str] = ()) -> Model:
    """Open a model; a missing or invalid file is an error, and so is an object of a type that is not ``trusted``."""
    from metricfit.data import TableSchema
    from metricfit.estimators import MetricClassifier, UntrustedError

    if not folder.is_dir():
        raise UsageError(f"Folder {folder} does not exist.")
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


def describe(folder: Path) -> tuple[dict[str, Any], SavedFiles]:
    """The description of a model, and the files that it names; others in the folder are not read."""
    try:
        found = read_description(folder)
        return found, SavedFiles(folder, found.get("sha256", {}))
    except ValueError as error:
        raise DataError(str(error)) from error


def read_json(files: SavedFiles, name: str) -> dict[str, Any]:
    try:
        found = files.read_json(name)
        check(isinstance(found, dict), f"{name} is not an object")
    except DamagedError as error:
        raise DataError(f"{files.folder} contains a damaged model: {error}.") from error
    return found


def _columns(classifier: MetricClassifier, folder: Path) -> list[Column]:
    """The columns of a model saved from Python, from its feature names and preprocessor."""
    from metricfit.data import Column

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
        import numpy as np

        from metricfit.estimators import OutOfReachError

        if (empty := np.isnan(scores)).any():
            first = empty.argmax(1)
            rows = np.flatnonzero(empty.any(1)).tolist()
            raise OutOfReachError({row: f"column {quoted(self.columns[first[row]])} is not a number" for row in rows})
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
        raise DataError(f"{file} makes no decisions. {rule.refusal_} Run `metricfit decide` with --fallback best.")
    if rule.actions_ is not None or rule.has_lists_ is not None:
        raise UsageError(
            f"{file} was written in Python for costs per row, a budget, abstention or several labels per row, which this "
            "command cannot apply. Use DecisionRule.load and predict in Python."
        )
    if str(data) == "-":  # it can be read once only
        if not rule.columns_:
            raise UsageError(f"{file} has no column names, because it was fitted to an array. Pass a file instead of stdin.")
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
    return Model(RuleClassifier(rule, tuple(column.name for column in schema.columns)), schema)
