"""Fitted transformers of ``_preprocess`` as plain data, and back.

A file keeps what was learned: medians, means, categories, words. Which transformers there are, and with which options, is in
this program alone, so that no file can change it. To come back, scikit-learn's transformers are fitted to a small table that
teaches them the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from metricfit._description import check
from metricfit._typing import Floats, Ints
from metricfit.estimators._kinds import CATEGORIES, DATES, MAX_NUMBER, TEXT
from metricfit.estimators._preprocess import (
    CODES,
    DATE_PARTS,
    KINDS_OF,
    Part,
    TableTransformer,
    code_encoder,
    number_pipeline,
    one_hot_encoder,
    vectorizer,
)
from metricfit.learners import MATRIX

ARRAY, SPARSE, TABLE = "array", "sparse", "table"
Plain = dict[str, Any]


def keep_transformer(transformer: Any) -> Plain:
    """What a file keeps of a fitted transformer from ``build_preprocessor``."""
    if isinstance(transformer, TableTransformer):
        parts = [{"kind": part.kind, "places": part.places, **_keep_steps(part)} for part in transformer.parts]
        return {"reads": TABLE, "sparse": bool(transformer.sparse_output_), "parts": parts}
    steps = transformer.named_steps
    if "impute" in steps:
        return {"reads": ARRAY, **_keep_numbers(steps["impute"], steps["scale"])}
    return {"reads": SPARSE, "scale": steps["scale"].scale_.tolist()}


def restore_transformer(kept: Any, form: str, n_columns: int) -> Any:
    """The transformer of a table with ``n_columns``; a DamagedError if what was kept does not fit."""
    reads = kept["reads"]
    check(reads in (ARRAY, SPARSE, TABLE) and (form == MATRIX or reads == TABLE), "the form of the table is not known")
    if reads == TABLE:
        return _restore_table(kept, form, n_columns)
    if reads == ARRAY:
        impute, scale = _restore_numbers(kept, n_columns)
        return Pipeline([("impute", impute), ("scale", scale)])
    scale = _numbers(kept["scale"], n_columns)
    return Pipeline([("scale", _restore_scaler(None, scale))])


def _restore_table(kept: Mapping[str, Any], form: str, n_columns: int) -> TableTransformer:
    parts = []
    for one in kept["parts"]:
        kind = one["kind"]
        check(kind in KINDS_OF[form], f"columns of the kind {kind!r} are not known")
        places = _places(one["places"], n_columns)
        check(len(places) > 0 and (kind != TEXT or len(places) == 1), "the columns of a kind are missing")
        parts.append(Part(kind, places.tolist(), _restore_steps(one, len(places), form)))
    used = sorted(place for part in parts for place in part.places)
    check(used == list(range(n_columns)), "a column is read twice, or not at all")
    restored = TableTransformer(parts)
    check(type(kept["sparse"]) is bool, "`sparse` should be true or false")
    restored.sparse_output_ = kept["sparse"]
    return restored


def _keep_steps(part: Part) -> Plain:
    if part.kind == TEXT:
        words = part.steps[0]
        return {"words": words.get_feature_names_out().tolist(), "idf": words.idf_.tolist()}
    if part.kind in (CATEGORIES, CODES):
        return {"categories": _keep_categories(part.steps[0], part.kind)}
    return _keep_numbers(*part.steps) if part.steps else {}


def _restore_steps(kept: Mapping[str, Any], n_columns: int, form: str) -> list[Any]:
    kind = kept["kind"]
    if kind == TEXT:
        words = kept["words"]
        check(all(type(word) is str for word in words) and 0 < len(set(words)) == len(words), "a word occurs twice")
        restored = vectorizer(vocabulary=words)
        restored.idf_ = _numbers(kept["idf"], len(words))
        return [restored]
    if kind == CATEGORIES:
        columns = [(one["frequent"], [_other_than(one["frequent"])] if one["rare"] else []) for one in kept["categories"]]
        return [_taught(one_hot_encoder, columns, n_columns)]
    if kind == CODES:
        columns = [(one["frequent"] or [_other_than([])], one["rare"]) for one in kept["categories"]]  # a column may be empty
        return [_taught(code_encoder, columns, n_columns)]
    return _restore_numbers(kept, n_columns * (len(DATE_PARTS) if kind == DATES else 1)) if form == MATRIX else []


def _keep_numbers(impute: SimpleImputer, scale: StandardScaler) -> Plain:
    return {
        "fill": impute.statistics_.tolist(),
        "gaps": impute.indicator_.features_.tolist(),
        "mean": scale.mean_.tolist(),
        "scale": scale.scale_.tolist(),
    }


def _restore_numbers(kept: Mapping[str, Any], n_columns: int) -> list[Any]:
    fill, gaps = _numbers(kept["fill"], n_columns), _places(kept["gaps"], n_columns)
    table = np.stack([fill, fill])
    table[1, gaps] = np.nan
    n_features = n_columns + len(gaps)
    mean, scale = (_numbers(kept[name], n_features) for name in ("mean", "scale"))
    return [number_pipeline()["impute"].fit(table), _restore_scaler(mean, scale)]


def _restore_scaler(mean: Floats | None, scale: Floats) -> StandardScaler:
    check((scale > 0.0).all(), "a scale is not positive")
    restored = StandardScaler(with_mean=mean is not None)
    restored.mean_, restored.scale_, restored.var_, restored.n_features_in_ = mean, scale, scale**2, len(scale)
    return restored


def _keep_categories(encoder: Any, kind: str) -> list[Plain]:
    """For each column the frequent categories and the rare ones. As columns, rare and unseen ones are the same."""
    kept: list[Plain] = []
    for values, rare in zip(encoder.categories_, encoder.infrequent_categories_, strict=True):
        known, rare = ([value for value in few if value == value] for few in (values.tolist(), () if rare is None else rare))
        seldom = set(rare)
        kept.append({"frequent": [value for value in known if value not in seldom]})
        kept[-1]["rare"] = rare if kind == CODES else bool(rare)
    return kept


def _taught(encoder: Callable[..., Any], columns: Sequence[tuple[list[Any], list[Any]]], n_columns: int) -> Any:
    """An encoder, fitted to a table in which each frequent category occurs once, and no rare one."""
    check(len(columns) == n_columns, "the categories of a column are missing")
    for frequent, rare in columns:
        known = [*frequent, *rare]
        check(all(value is None or type(value) is str for value in known), "a category is not a text")
        check(0 < len(set(known)) == len(known), "a category occurs twice")
    table = np.empty((max(1, *(len(frequent) for frequent, _ in columns)), n_columns), dtype=object)
    for place, (frequent, rare) in enumerate(columns):
        table[:, place] = _other_than([*frequent, *rare])
        table[: len(frequent), place] = frequent
    categories = [np.array([*frequent, *rare], dtype=object) for frequent, rare in columns]
    return encoder(categories=categories, min_frequency=1, max_categories=None).fit(table)


def _other_than(values: Sequence[Any]) -> str:
    """A text that is none of these: it stands for the rare and the unseen."""
    return " " * (1 + max((len(value) for value in values if value is not None), default=0))


def _numbers(values: Any, length: int) -> Floats:
    """Numbers as ``check_size`` allows them."""
    check(isinstance(values, list) and all(type(value) is float for value in values), "something is not a number")
    found = np.array(values, dtype=np.float64)
    check(len(found) == length, "numbers are missing")
    check((np.abs(found) <= MAX_NUMBER).all(), "a number is too large")
    return found


def _places(values: Any, n_columns: int) -> Ints:
    """Different columns of a table."""
    check(isinstance(values, list) and all(type(value) is int for value in values), "a column is not a number")
    check(all(0 <= value < n_columns for value in values) and len(set(values)) == len(values), "a column is out of range")
    return np.array(values, dtype=np.int64)
