"""Methods: the ways to train, by name. The model is a separate choice (:mod:`metricfit.learners`)."""

from metricfit.methods._method import CROSS_ENTROPY, SCRATCH, Choice, Method, NetworkTraining
from metricfit.methods._registry import (
    AUTO,
    BASELINE,
    NOISY_LABELS,
    MethodLike,
    find,
    get,
    is_registered,
    names,
    register,
)

__all__ = [
    "AUTO",
    "BASELINE",
    "CROSS_ENTROPY",
    "NOISY_LABELS",
    "SCRATCH",
    "Choice",
    "Method",
    "MethodLike",
    "NetworkTraining",
    "find",
    "get",
    "is_registered",
    "names",
    "register",
]
