"""Train a classifier for the metric it will be judged on.

``scores -> smoothing -> confusion -> metric -> objective``: each arrow is a function on tensors, and one can stop half-way.

Names are imported when they are first asked for: a training loop does not wait for scikit-learn, nor ``metricfit --help`` for
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metricfit._extras import is_installed
from metricfit._printable import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import version

    from metricfit import functional, links, methods, metrics, schedules, smoothing, training
    from metricfit._checks import set_validation
    from metricfit.comparison import compare
    from metricfit.confusion import confusion_matrix
    from metricfit.decisions import Constraint, DecisionRule, decide, tune_offsets
    from metricfit.estimators import MetricClassifier, OffsetClassifier
    from metricfit.gradients import GradientNormalizer
    from metricfit.learners import Network
    from metricfit.losses import (
        DiceLoss,
        EastLoss,
        ExactLoss,
        ExpectedErrorLoss,
        HingeLoss,
        LeakyExpectedErrorLoss,
        MetricLoss,
        accumulate_gradients,
    )
    from metricfit.methods import Method
    from metricfit.scores import binary_scores
    from metricfit.shards import fit_shards

    __version__ = version("metricfit")

_HOME = {
    "Constraint": "decisions",
    "DecisionRule": "decisions",
    "DiceLoss": "losses",
    "EastLoss": "losses",
    "ExactLoss": "losses",
    "ExpectedErrorLoss": "losses",
    "GradientNormalizer": "gradients",
    "HingeLoss": "losses",
    "LeakyExpectedErrorLoss": "losses",
    "Method": "methods",
    "MetricClassifier": "estimators",
    "MetricLoss": "losses",
    "Network": "learners",
    "OffsetClassifier": "estimators",
    "accumulate_gradients": "losses",
    "binary_scores": "scores",
    "compare": "comparison",
    "confusion_matrix": "confusion",
    "decide": "decisions",
    "fit_shards": "shards",
    "set_validation": "_checks",
    "tune_offsets": "decisions",
}
_MODULES = ("functional", "links", "methods", "metrics", "schedules", "smoothing", "training")

__all__ = [
    "Constraint",
    "DecisionRule",
    "DiceLoss",
    "EastLoss",
    "ExactLoss",
    "ExpectedErrorLoss",
    "GradientNormalizer",
    "HingeLoss",
    "LeakyExpectedErrorLoss",
    "Method",
    "MetricClassifier",
    "MetricLoss",
    "Network",
    "OffsetClassifier",
    "__version__",
    "accumulate_gradients",
    "binary_scores",
    "compare",
    "confusion_matrix",
    "decide",
    "fit_shards",
    "functional",
    "links",
    "methods",
    "metrics",
    "schedules",
    "set_validation",
    "smoothing",
    "training",
    "tune_offsets",
]
if not TYPE_CHECKING and not is_installed("lightning_fabric"):
    __all__.remove("training")  # `import *` and help() ask for every name here, and this one would fail
if not TYPE_CHECKING and not is_installed("pyarrow"):
    __all__.remove("fit_shards")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("metricfit")
    if name in _HOME:
        return getattr(import_module(f"metricfit.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"metricfit.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return __all__
