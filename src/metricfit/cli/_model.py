"""Open a folder written by ``metricfit fit``: the model and the columns that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._description import DamagedError, SavedFiles, check, read_description
from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError

if TYPE_CHECKING:
    from metricfit.cli._rule_model import RuleClassifier
    from metricfit.data import Column, TableSchema
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
        raise DataError(f"{folder} holds an estimator of a package that is not installed: {error}.") from error
    except ValueError as error:
        raise DataError(str(error)) from error
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
            f"{folder} holds a damaged model: {TABLE_FILE} has {n_columns} columns, expected {classifier.n_features_in_}."
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
        raise DataError(f"{files.folder} holds a damaged model: {error}.") from error
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
