"""Open a folder written by ``metricfit fit``: the model and the columns that it needs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError

if TYPE_CHECKING:
    from metricfit.data import Column, TableSchema
    from metricfit.estimators import MetricClassifier

TABLE_FILE, SCORES_FILE, REPORT_FILE = "table.json", "scores.json", "report.html"


@dataclass(frozen=True)
class Model:
    """A model; ``target`` and ``scores`` are empty if it was saved from Python."""

    classifier: MetricClassifier
    schema: TableSchema
    target: str
    scores: dict[str, Any]


def open_model(folder: Path) -> Model:
    """Open a model without running any code from the folder; a missing or invalid file is an error."""
    from metricfit.data import TableSchema
    from metricfit.estimators import MetricClassifier

    if not folder.is_dir():
        raise UsageError(f"Folder {folder} does not exist.")
    try:
        classifier = MetricClassifier.load(folder)
    except ValueError as error:
        raise DataError(str(error)) from error
    if not (folder / TABLE_FILE).exists():
        columns = tuple(_columns(classifier, folder))
        return Model(classifier, TableSchema(columns, hasattr(classifier, "feature_names_in_"), len(columns)), "", {})
    found = read_json(folder / TABLE_FILE)
    try:
        schema = TableSchema.from_json(found)
        target = str(found["target"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / TABLE_FILE} is damaged: columns or target are missing or invalid.") from error
    n_columns = len(schema.columns)
    if n_columns != classifier.n_features_in_:
        raise DataError(
            f"{folder} holds a damaged model: {TABLE_FILE} has {n_columns} columns, expected {classifier.n_features_in_}."
        )
    scores = read_json(folder / SCORES_FILE) if (folder / SCORES_FILE).exists() else {}
    return Model(classifier, schema, target, scores if isinstance(scores, dict) else {})


def read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not valid JSON: {error}") from error


def _columns(classifier: MetricClassifier, folder: Path) -> list[Column]:
    """The columns of a model saved from Python, from its feature names and preprocessor."""
    from metricfit.data import Column

    names = [str(name) for name in getattr(classifier, "feature_names_in_", range(1, classifier.n_features_in_ + 1))]
    if not classifier.reads_frames_:
        return [Column(name, "number", place) for place, name in enumerate(names)]
    reader = classifier.preprocessor_
    if not (reader.automatic and reader.transformers):
        raise DataError(
            f"{folder} was saved from Python with a custom preprocessor. Load it in Python with MetricClassifier.load."
        )
    types = dict.fromkeys(range(len(names)), "string")
    for kind, _, places in next(iter(reader.transformers.values())).transformers_:  # every form splits the columns alike
        if kind in ("numbers", "dates"):
            types |= dict.fromkeys(places, "number" if kind == "numbers" else "date")
    return [Column(name, types[place], place) for place, name in enumerate(names)]
