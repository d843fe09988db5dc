"""A folder that ``metricfit fit`` wrote: the model, and which columns of a file it takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError

if TYPE_CHECKING:
    from metricfit.data import Column, Known
    from metricfit.estimators import MetricClassifier

TABLE_FILE, SCORES_FILE, REPORT_FILE = "table.json", "scores.json", "report.html"


@dataclass(frozen=True)
class Model:
    """``target`` and ``scores`` are empty for a model that was saved from Python."""

    classifier: MetricClassifier
    known: Known
    target: str
    scores: dict[str, Any]


def open_model(folder: Path) -> Model:
    """Nothing in the folder is run; what is missing or foreign is an error that says so."""
    from metricfit.data import Known
    from metricfit.estimators import MetricClassifier

    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    try:
        classifier = MetricClassifier.load(folder)
    except ValueError as error:
        raise DataError(str(error)) from error
    if not (folder / TABLE_FILE).exists():
        columns = tuple(_columns(classifier, folder))
        return Model(classifier, Known(columns, hasattr(classifier, "feature_names_in_"), len(columns)), "", {})
    found = _json(folder / TABLE_FILE)
    try:
        known = Known.from_json(found)
        target = str(found["target"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / TABLE_FILE} does not describe the columns of a model.") from error
    n_columns = len(known.columns)
    if n_columns != classifier.n_features_in_:
        raise DataError(
            f"{folder} holds a damaged model: {TABLE_FILE} has {n_columns} columns, the model {classifier.n_features_in_}."
        )
    scores = _json(folder / SCORES_FILE) if (folder / SCORES_FILE).exists() else {}
    return Model(classifier, known, target, scores if isinstance(scores, dict) else {})


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not a file of a metricfit model: {error}") from error


def _columns(classifier: MetricClassifier, folder: Path) -> list[Column]:
    """Of a model saved from Python, by the names and kinds that its preprocessing learned."""
    from metricfit.data import Column

    names = [str(name) for name in getattr(classifier, "feature_names_in_", range(1, classifier.n_features_in_ + 1))]
    if not classifier.reads_frames_:
        return [Column(name, "number", place) for place, name in enumerate(names)]
    types = dict.fromkeys(range(len(names)), "string")
    for kind, _, places in getattr(classifier.preprocessor_, "transformers_", ()):
        if kind in ("numbers", "dates"):
            types |= dict.fromkeys(places, "number" if kind == "numbers" else "date")
    if not hasattr(classifier.preprocessor_, "transformers_"):
        raise DataError(
            f"{folder} was saved from Python with a preprocessor of its own: load it there, by MetricClassifier.load."
        )
    return [Column(name, types[place], place) for place, name in enumerate(names)]
