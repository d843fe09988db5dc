"""A metric as plain data for files: the name of its class, and its fields."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from metricfit.metrics._accuracy import Accuracy, BalancedAccuracy, GMean
from metricfit.metrics._agreement import CohenKappa, MatthewsCorrelation
from metricfit.metrics._averaged import FBeta, FowlkesMallows, Jaccard, Precision, Recall
from metricfit.metrics._base import Metric
from metricfit.metrics._cost import Cost

_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Accuracy,
        BalancedAccuracy,
        CohenKappa,
        Cost,
        FBeta,
        FowlkesMallows,
        GMean,
        Jaccard,
        MatthewsCorrelation,
        Precision,
        Recall,
    )
}


def metric_to_plain(metric: Metric) -> dict[str, Any] | None:
    """What a file says of a metric; None for a function, which no file can hold.

    >>> metric_to_plain(Precision("binary"))
    {'type': 'Precision', 'fields': {'average': 'binary', 'positive': 1}}
    """
    if type(metric).__name__ not in _TYPES:
        return None
    fields = [field for field in dataclasses.fields(metric) if field.init]  # type: ignore[arg-type]
    return {"type": type(metric).__name__, "fields": {field.name: _to_json(getattr(metric, field.name)) for field in fields}}


def metric_from_plain(plain: dict[str, Any]) -> Metric:
    """The metric of such a description; a ValueError if no metric has this name."""
    if plain["type"] not in _TYPES:
        raise ValueError(f"the metric {plain['type']!r} is not known")
    return _TYPES[plain["type"]](**{name: _from_json(value) for name, value in plain["fields"].items()})


def _to_json(value: Any) -> Any:
    """Numbers, texts, sequences and dictionaries as JSON holds them."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    if isinstance(value, dict):
        return {_from_json(key): _from_json(item) for key, item in value["pairs"]}
    return value
