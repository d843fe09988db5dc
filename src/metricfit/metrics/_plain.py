"""A metric as plain data for files: the name of its class, and its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from metricfit.metrics._base import Custom, Metric


def metric_to_plain(metric: Metric) -> dict[str, Any] | None:
    """Describe a metric for a file.

    Parameters
    ----------
    metric : Metric
        The metric.

    Returns
    -------
    dict or None
        The type and its fields; None for a function, which a file cannot store.

    Examples
    --------
    >>> from metricfit.metrics import Precision, metric_to_plain
    >>> metric_to_plain(Precision("binary"))
    {'type': 'Precision', 'fields': {'average': 'binary', 'positive': 1, 'ignore_classes': []}}
    """
    if _types().get(type(metric).__name__) is not type(metric):
        return None
    fields = [field for field in dataclasses.fields(metric) if field.init]  # type: ignore[arg-type]
    return {"type": type(metric).__name__, "fields": {field.name: _to_json(getattr(metric, field.name)) for field in fields}}


def metric_from_plain(plain: dict[str, Any]) -> Metric:
    """Build a metric from the description that :func:`metric_to_plain` returned.

    Parameters
    ----------
    plain : dict
        The description.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    ValueError
        If the type is not the name of a metric.

    Examples
    --------
    >>> from metricfit.metrics import metric_from_plain
    >>> metric_from_plain({"type": "BalancedAccuracy", "fields": {"adjusted": True}})
    BalancedAccuracy(adjusted=True)
    """
    if (kind := _types().get(plain["type"])) is None:
        raise ValueError(f"the metric {plain['type']!r} is not known")
    return kind(**{name: _from_json(value) for name, value in plain["fields"].items()})


def _types() -> dict[str, Any]:
    """The metrics of this package that are their class and its fields, by name; a Custom one is a function."""
    return {
        kind.__name__: kind for kind in _subclasses(Metric) if kind.__module__.startswith(__package__) and kind is not Custom
    }


def _subclasses(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        if dataclasses.is_dataclass(one):
            yield one
        yield from _subclasses(one)


def _to_json(value: Any) -> Any:
    """Numbers, texts, sequences, dictionaries and metrics as JSON holds them."""
    if isinstance(value, Metric):
        return metric_to_plain(value)
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
    if isinstance(value, dict) and "type" in value:
        return metric_from_plain(value)
    if isinstance(value, dict):
        return {_from_json(key): _from_json(item) for key, item in value["pairs"]}
    return value
