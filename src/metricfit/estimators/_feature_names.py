"""Names of the features that a transformer of ``_preprocess`` makes: "age", "colour = red", "income is missing"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from metricfit.estimators._kinds import CATEGORIES, DATES, TEXT, is_missing
from metricfit.estimators._preprocess import Part, TableTransformer

DATE_PARTS = ("year", "month", "day", "weekday", "hour", "time")


def feature_names(transformer: Any, columns: Sequence[str]) -> list[str]:
    """One name per feature, in the order of the transformer's output; ``columns`` are those of the table."""
    if transformer is None:
        return list(columns)
    if isinstance(transformer, TableTransformer):
        return [name for part in transformer.parts for name in _of_part(part, [columns[place] for place in part.places])]
    if isinstance(transformer, Pipeline) and {"impute", "scale"} >= set(transformer.named_steps):
        return _with_gaps(transformer.named_steps.get("impute"), columns)
    return [str(name) for name in transformer.get_feature_names_out()]  # the user's own


def _of_part(part: Part, columns: list[str]) -> list[str]:
    if part.kind == TEXT:
        return [f"{columns[0]}: {word}" for word in part.steps[0].get_feature_names_out()]
    if part.kind == CATEGORIES:
        return _of_categories(part.steps[0], columns)
    if part.kind == DATES:
        columns = [f"{name} of {column}" for column in columns for name in DATE_PARTS]
    return _with_gaps(part.steps[0] if part.steps and hasattr(part.steps[0], "indicator_") else None, columns)


def _with_gaps(imputer: Any, columns: Sequence[str]) -> list[str]:
    """The columns, and one more for each that had gaps."""
    gaps = [] if imputer is None or imputer.indicator_ is None else imputer.indicator_.features_.tolist()
    return [*columns, *(f"{columns[place]} is missing" for place in gaps)]


def _of_categories(encoder: Any, columns: list[str]) -> list[str]:
    names = []
    for column, values, rare in zip(columns, encoder.categories_, encoder.infrequent_categories_, strict=True):
        rare = set() if rare is None else set(rare.tolist())
        frequent = [value for value in values.tolist() if value not in rare]
        names += [f"{column} is missing" if is_missing(value) else f"{column} = {value}" for value in frequent]
        names += [f"{column} is rare"] if rare else []
    return names
