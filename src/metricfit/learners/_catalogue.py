"""The learner that ``model=`` means, and how its models are kept in files: a new learner has its one entry here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from metricfit._checks import check_option
from metricfit._extras import require
from metricfit.learners._learner import Learner
from metricfit.learners._linear import LinearLearner
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._network_model import NetworkModel, build_module

MODELS = ("linear", "mlp")


def build_learner(options: Mapping[str, Any], strengths: Sequence[float], seed: int) -> Learner:
    """The learner for the options of ``MetricClassifier``."""
    model = options["model"]
    if isinstance(model, str):
        check_option(model, "model", MODELS)
        if model == "linear":
            return LinearLearner(strengths)
    require("lightning_fabric", "train", f"model={model!r}" if isinstance(model, str) else "a network")
    from metricfit.learners._network import NetworkLearner  # Lightning takes a second to import

    names = ("max_epochs", "batch_size", "learning_rate", "patience")
    given = {name: options[name] for name in names}
    return NetworkLearner(model, hidden_layer_sizes=_sizes(options), seed=seed, **given)


def describe_model(options: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`restore_model` needs beside the tensors, as JSON holds it."""
    kind = options["model"] if isinstance(options["model"], str) else "own"
    return {"kind": kind} if kind == "linear" else {"kind": kind, "hidden_layer_sizes": list(_sizes(options))}


def restore_model(
    description: Mapping[str, Any], tensors: dict[str, Tensor], model: Any, n_inputs: int, n_classes: int
) -> LinearModel | NetworkModel:
    """A model from its description and tensors; ``model`` is that of the estimator."""
    if description["kind"] == "linear":
        return LinearModel.from_tensors(tensors, n_inputs, n_classes)
    if description["kind"] == "own" and isinstance(model, str):
        raise ValueError("This model is a user's own network: pass it to load as `model=`, as it was passed to the estimator.")
    sizes = tuple(description["hidden_layer_sizes"])
    return NetworkModel.from_tensors(tensors, build_module(model, n_inputs, n_classes, sizes))


def _sizes(options: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(np.atleast_1d(options["hidden_layer_sizes"]).tolist())
