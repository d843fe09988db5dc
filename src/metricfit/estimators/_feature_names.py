"""Names of the features that a transformer of ``_preprocess`` makes: "age", "colour = red", "income is missing"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from metricfit.estimators._preprocess import CATEGORIES, DATES, is_missing

DATE_PARTS = ("year", "month", "day", "weekday", "hour", "time")


def feature_names(transformer: Any, columns: Sequence[str]) -> list[str]:
    """One name per feature, in the order of the transformer's output; ``columns`` are those of the table."""
    if transformer is None:
        return list(columns)
    if isinstance(transformer, ColumnTransformer):
        parts = transformer.transformers_
        return [name for kind, steps, places in parts for name in _of_kind(kind, steps, [columns[place] for place in places])]
    if isinstance(transformer, Pipeline) and {"impute", "scale"} >= set(transformer.named_steps):
        return _with_gaps(transformer.named_steps.get("impute"), columns)
    return [str(name) for name in transformer.get_feature_names_out()]  # the user's own


def _of_kind(kind: str, steps: Any, columns: list[str]) -> list[str]:
    """The names of one kind of columns; ``steps`` is its pipeline."""
    found = steps.named_steps
    if "tfidfvectorizer" in found:
        return [f"{columns[0]}: {word}" for word in found["tfidfvectorizer"].get_feature_names_out()]
    if "onehotencoder" in found:
        return _of_categories(found["onehotencoder"], columns)
    if kind == CATEGORIES:
        return columns
    if kind == DATES:
        columns = [f"{part} of {column}" for column in columns for part in DATE_PARTS]
    return _with_gaps(found.get("simpleimputer"), columns)


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
