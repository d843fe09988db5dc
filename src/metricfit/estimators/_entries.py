"""Entries of ``model.json`` and back: parameters, classes, metric, method."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metricfit import methods, metrics
from metricfit._description import check
from metricfit.methods import Choice, Method
from metricfit.metrics import Custom, Metric
from metricfit.metrics._resolve import resolve_metric

CLASS_TYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "|O")  # and texts
_METRICS = {name: getattr(metrics, name) for name in metrics.__all__ if isinstance(getattr(metrics, name), type)}


def restore_classes(found: Mapping[str, Any]) -> NDArray[Any]:
    """Two or more different labels of one type."""
    values, dtype = found["values"], found["dtype"]
    check(isinstance(values, list) and isinstance(dtype, str), "`classes` should be a list")
    kinds = {type(value) for value in values}
    check(len(kinds) == 1 and kinds <= {bool, int, float, str}, "the classes should be texts or numbers")
    check(all(value == value and abs(value) < math.inf for value in values if type(value) is float), "a class is not finite")
    check(len(set(values)) == len(values) >= 2, "a class is there twice")
    if kinds == {str} and dtype.startswith("<U"):
        return np.array(values)
    check(dtype in CLASS_TYPES, f"classes of the type {dtype!r} are not known")
    classes = np.array(values, dtype=dtype)
    check(classes.tolist() == values, f"the classes are not of the type {dtype!r}")
    return classes


def restore_order(found: Mapping[str, Any], classes: NDArray[Any]) -> tuple[Any, list[Any]]:
    """The positive class and the order, if there are any."""
    known, positive, order = classes.tolist(), found["pos_label"], found["class_order"]
    check(positive is None or positive in known, "the positive class is not one of the classes")
    check(isinstance(order, list) and (not order or sorted(order) == sorted(known)), "the order has other classes")
    return positive, order


def plain_params(estimator: Any) -> dict[str, Any]:
    """Parameters that JSON can hold; a warning names the others."""
    params, left_out = {}, []
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, Method | Choice) and methods.is_registered(value):
            value = value.name
        if name == "model":
            value = _model_in_words(value)
        try:
            params[name] = to_json(value)
        except TypeError:
            if name != "metric":  # stored otherwise, or passed again
                left_out.append(name)
    if left_out:
        warnings.warn(f"A model file cannot hold {', '.join(left_out)}: after loading these are defaults.", stacklevel=4)
    return params


def _model_in_words(model: Any) -> Any:
    """The name of a model as it is, any other in words: what was fitted is in the files, but it cannot be fitted again."""
    if isinstance(model, list | tuple):
        return [_model_in_words(one) for one in model]
    if isinstance(model, str):
        return model
    return " ".join(repr(model).split()) if hasattr(model, "get_params") else getattr(model, "__name__", type(model).__name__)


def restore_params(found: dict[str, Any], model: Any, metric: Any) -> dict[str, Any]:
    params = {name: _from_json(value) for name, value in found["params"].items()}
    params["model"] = found["params"]["model"]  # a list stays one
    if metric is not None:
        params["metric"] = metric
    elif "metric" not in params and found["given_metric"] is not None:
        params["metric"] = _metric_from(found["given_metric"])
    return params if model is None else {**params, "model": model}


def method_description(method: Method) -> dict[str, Any]:
    """A method in words: for readers, a model does not need it to predict."""
    return {"name": method.name, "title": method.title, "summary": method.summary, "papers": list(method.papers)}


def restore_method(description: dict[str, Any], given: Any) -> Method:
    """The registered method of that name, or else what the file says about it."""
    name, title, summary, papers = (description[key] for key in ("name", "title", "summary", "papers"))
    if not all(isinstance(text, str) for text in (name, title, summary, *papers)):
        raise TypeError(f"`method` should hold texts, got {description!r}")
    return methods.find(name, given) or Method(name, title, summary, tuple(papers))


def metric_description(metric: Metric) -> dict[str, Any] | None:
    """A metric by the name of its class and its fields; a function cannot be stored."""
    if isinstance(metric, Custom) or type(metric).__name__ not in _METRICS:
        return None
    fields = {item.name: to_json(getattr(metric, item.name)) for item in dataclasses.fields(metric) if item.init}  # type: ignore[arg-type]
    return {"type": type(metric).__name__, "fields": fields}


def restore_metric(description: dict[str, Any] | None, given: Any, classes: Any, order: list[Any]) -> Metric:
    """The metric for the classes in the order of the file; a function has to be given."""
    if description is not None:
        return _metric_from(description)
    if given is None:
        return metrics.get(_not_stored)
    return resolve_metric(given, None, None, classes, order or None).metric


def _metric_from(description: dict[str, Any]) -> Metric:
    check(description["type"] in _METRICS, f"the metric {description['type']!r} is not known")
    return _METRICS[description["type"]](**{name: _from_json(value) for name, value in description["fields"].items()})


def _not_stored(matrix: torch.Tensor) -> torch.Tensor:
    raise ValueError("The metric was a function, which a model file cannot hold: pass it to load as `metric=` to score.")


def to_json(value: Any) -> Any:
    """Numbers, texts, sequences and dictionaries as JSON holds them; a TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} cannot be stored as JSON.")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    if isinstance(value, dict):
        return {_from_json(key): _from_json(item) for key, item in value["pairs"]}
    return value
