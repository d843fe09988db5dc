"""Checks of shapes, dtypes, options and values, and their error messages.

Checks of shapes, dtypes and options always run. Checks of values (finite scores, labels in range, positive widths) follow
``torch.distributions``: on by default unless Python runs with ``-O``, and only where reading a value costs nothing, that is
for real tensors on the CPU, outside ``torch.compile`` and ``vmap``. Elsewhere NaN inputs give NaN outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from metricfit._printable import did_you_mean

_validate_values = __debug__
Ends = tuple[float, float] | None  # smallest and largest value; None if there is none or reading it has a cost


def set_validation(value: bool) -> None:
    """Turn checks of values on or off for the whole package, as in ``torch.distributions``.

    Shapes and types are always checked.

    Parameters
    ----------
    value : bool
        Whether to check values.

    Examples
    --------
    >>> from metricfit import set_validation
    >>> set_validation(False)                       # in a training loop that is known to work
    >>> set_validation(True)
    """
    global _validate_values
    if not isinstance(value, bool):
        raise TypeError(f"`value` should be True or False, got {value!r}.")
    _validate_values = value


def check_scores(scores: Any, name: str = "scores") -> Ends:
    """Check for a floating tensor (n, k) or (n, k, d1, ...) with k >= 2 and finite values, and return its ends."""
    check_floating(scores, name)
    if scores.ndim < 2 or scores.shape[1] < 2:
        hint = " For one score per sample, use `binary_scores(scores)`." if scores.ndim == 1 else ""
        raise ValueError(f"`{name}` should have shape (n, k) with k >= 2, got {tuple(scores.shape)}.{hint}")
    return check_finite(scores, name)


def check_floating(tensor: Any, name: str) -> None:
    check_tensor(tensor, name)
    if not tensor.is_floating_point():
        raise TypeError(f"`{name}` should have a floating-point dtype, got {tensor.dtype}. Try `{name}.float()`.")


def check_finite(tensor: Tensor, name: str) -> Ends:
    ends = extremes(tensor)
    if ends and not all(map(math.isfinite, ends)):
        bad = int((~torch.isfinite(tensor)).sum())
        raise ValueError(
            f"`{name}` should be finite, got {bad} NaN or infinite of {tensor.numel()} values. "
            "Look for a learning rate that is too high or a division by zero upstream."
        )
    return ends


def check_labels(labels: Any, n_classes: int, shape: torch.Size) -> None:
    """Check for an integer tensor of this shape with values in 0 ... k - 1."""
    check_tensor(labels, "labels")
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise TypeError(f"`labels` should have an integer dtype, got {labels.dtype}. Try `labels.long()`.")
    if labels.shape != shape:
        raise ValueError(f"`labels` should have shape {tuple(shape)} to match the scores, got {tuple(labels.shape)}.")
    check_label_ends(extremes(labels), n_classes, "labels")


def check_label_ends(ends: Ends, n_classes: int, name: str) -> None:
    if ends and not (ends[0] >= 0 and ends[1] < n_classes):
        got = f"{ends[0]:.0f} ... {ends[1]:.0f}"
        raise ValueError(f"`{name}` should lie in 0 ... {n_classes - 1} for scores of {n_classes} classes, got {got}.")


def check_nonnegative(tensor: Tensor, name: str, hint: str = "") -> Ends:
    ends = extremes(tensor)
    if ends and not (ends[0] >= 0.0 and math.isfinite(ends[1])):
        raise ValueError(f"`{name}` should be finite and not negative, got {ends[0]:g} ... {ends[1]:g}.{hint}")
    return ends


def check_width(width: Tensor, name: str, upper: float = math.inf) -> Ends:
    """Check a noise scale or temperature: positive, finite, below ``upper``."""
    ends = extremes(width)
    if ends and not (ends[0] > 0.0 and ends[1] < upper):
        wanted = "positive and finite" if upper == math.inf else f"between 0 and {upper:g}"
        got = f"{ends[0]:g}" if str(ends[0]) == str(ends[1]) else f"{ends[0]:g} ... {ends[1]:g}"
        raise ValueError(f"`{name}` should be {wanted}, got {got}.")
    return ends


def check_number(value: Any, name: str, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """Check for a finite number within [low, high], or (low, high] with ``open_low``, and return it as a float."""
    if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` should be a number, got {value!r}.")
    value = float(value)
    if not (low < value if open_low else low <= value) or not value <= high or not math.isfinite(value):
        least = f"{'greater than' if open_low else 'at least'} {low:g}"
        most = f" and at most {high:g}" if high < math.inf else ""
        raise ValueError(f"`{name}` should be {least}{most}, got {value!r}.")
    return float(value)


def check_count(value: Any, name: str, most: int) -> int:
    """Check for a whole number within [1, most]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{name}` should be a whole number, got {value!r}.")
    return int(check_number(value, name, 1, most))


def check_option(value: Any, name: str, options: Iterable[str]) -> str:
    """Check for one of these strings; the error suggests the closest one."""
    options = list(options)
    if value not in options:
        known = ", ".join(map(repr, options))
        raise ValueError(f"`{name}` should be one of {known}; got {value!r}.{did_you_mean(value, options)}")
    return str(value)


def check_flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` should be True or False, got {value!r}.")
    return value


def check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"`{name}` should be a torch.Tensor, got {type(value).__name__}. Try `torch.as_tensor({name})`.")


def check_shape(tensor: Any, shape: torch.Size | tuple[int, ...], name: str) -> None:
    check_tensor(tensor, name)
    if tensor.shape != shape:
        raise ValueError(f"`{name}` should have shape {tuple(shape)}, got {tuple(tensor.shape)}.")


def extremes(tensor: Tensor) -> Ends:
    """Smallest and largest value (NaN if there is one), or None if there is no value or reading it has a cost."""
    if not _validate_values or torch.compiler.is_compiling() or not tensor.is_cpu or not tensor.numel():
        return None
    try:
        if tensor.numel() == 1:
            value = tensor.item()
            return value, value
        low, high = torch.aminmax(tensor.detach())
        return low.item(), high.item()
    except RuntimeError:  # vmap and fake tensors have no values
        return None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a library's own missing value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
