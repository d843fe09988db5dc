"""The losses as functions, with arguments in the order of ``torch.nn.functional.cross_entropy``.

Each takes ``input`` and ``target`` in the layouts of ``nn.CrossEntropyLoss``, its own parameters, and as keywords
``weight``, ``ignore_index``, ``reduction``, ``label_smoothing`` and ``sample_weight``.
"""

from metricfit.losses import (
    dice_loss,
    east_loss,
    exact_loss,
    expected_error_loss,
    hinge_loss,
    leaky_expected_error_loss,
    metric_loss,
)

__all__ = [
    "dice_loss",
    "east_loss",
    "exact_loss",
    "expected_error_loss",
    "hinge_loss",
    "leaky_expected_error_loss",
    "metric_loss",
]
