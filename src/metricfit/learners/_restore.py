"""Any trained model from its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricfit._description import check
from metricfit._typing import Floats
from metricfit.learners._ensemble import EnsembleModel
from metricfit.learners._estimator_model import EstimatorModel
from metricfit.learners._formats import restore_estimator
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._mean_model import MAX_MEMBERS, MeanModel
from metricfit.learners._network_model import NetworkModel, build_module
from metricfit.learners._parts import Stored, checked_numbers


class NotInFileError(ValueError):
    """Something that a file cannot hold has to be passed again."""


@dataclass(frozen=True)
class Shape:
    """What the rows are like that a model reads: the number of inputs in each form, the form, the number of classes."""

    n_inputs: Mapping[str, int]
    form: str
    n_classes: int

    @property
    def width(self) -> int:
        return self.n_inputs[self.form]


def restore_model(stored: Stored, given: Any, shape: Shape) -> Any:
    """A model; ``given`` is the user's ``model`` for networks of their own. Raises a DamagedError if parts do not fit."""
    kind = stored.description["kind"]
    check(kind in _KINDS, f"models of the kind {kind!r} are not known")
    return _KINDS[kind](stored, given, shape)


def _linear(stored: Stored, given: Any, shape: Shape) -> LinearModel:
    return LinearModel.from_tensors(stored.tensors, shape.width, shape.n_classes)


def _network(stored: Stored, given: Any, shape: Shape) -> NetworkModel:
    sizes = stored.description["hidden_layer_sizes"]
    if sizes is None and (given is None or isinstance(given, str)):
        raise NotInFileError(
            "This model is a user's own network: pass it to load as `model=`, as it was passed to the estimator."
        )
    if sizes is None:
        return NetworkModel.from_tensors(
            stored.tensors, build_module(given, shape.width, shape.n_classes, ()), shape.n_classes
        )
    return NetworkModel.from_sizes(stored.tensors, sizes, shape.width, shape.n_classes)


def _mean(stored: Stored, given: Any, shape: Shape) -> MeanModel:
    inside = stored.inside()
    check(0 < len(inside) <= MAX_MEMBERS, f"it has {len(inside):,} members, 1 ... {MAX_MEMBERS:,} are read")
    return MeanModel(tuple(restore_model(one, given, shape) for one in inside), _offsets(stored, shape))


def _estimator(stored: Stored, given: Any, shape: Shape) -> EstimatorModel:
    seen = stored.tensor("seen").numpy()
    right = seen.dtype == np.int64 and seen.ndim == 1 and len(seen) > 0
    check(right and np.isin(seen, np.arange(shape.n_classes)).all(), "the classes of a model do not fit")
    check((np.diff(seen) > 0).all(), "the classes of a model do not fit")
    estimator = restore_estimator(stored.description, stored.file, shape.width, len(seen))
    return EstimatorModel(estimator, seen, _offsets(stored, shape))


def _ensemble(stored: Stored, given: Any, shape: Shape) -> EnsembleModel:
    *members, head = stored.inside()
    names, forms = (tuple(stored.description[name]) for name in ("names", "forms"))
    own = given if isinstance(given, list | tuple) and len(given) == len(members) else [given] * len(members)
    models = tuple(
        restore_model(member, one, replace(shape, form=form)) for member, one, form in zip(members, own, forms, strict=True)
    )
    check(len(names) == len(members) and all(isinstance(name, str) for name in names), "the names of its members do not fit")
    n_scores = len(members) * (1 if shape.n_classes == 2 else shape.n_classes)
    return EnsembleModel(models, names, forms, _linear(head, None, Shape({"": n_scores}, "", shape.n_classes)))


def _offsets(stored: Stored, shape: Shape) -> Floats:
    return checked_numbers(stored.tensor("offsets"), (shape.n_classes,))


_KINDS: dict[str, Callable[[Stored, Any, Shape], Any]] = {
    "linear": _linear,
    "network": _network,
    "mean": _mean,
    "estimator": _estimator,
    "ensemble": _ensemble,
}
