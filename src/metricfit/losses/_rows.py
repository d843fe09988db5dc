"""Rows, from scores and targets in any layout of ``nn.CrossEntropyLoss``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

import torch
from torch import Tensor

from metricfit._checks import (
    Ends,
    check_finite,
    check_floating,
    check_label_ends,
    check_nonnegative,
    check_shape,
    check_tensor,
    extremes,
)
from metricfit.confusion import one_hot, sums_by_class
from metricfit.scores import bounded_scores, saturate, working_precision

_ORDINARY = (1e-6, 1e6)  # weights that no dtype makes huge or tiny
_ROUNDED = 0.01  # by which a sum of class probabilities may differ from one, in half precision too
_SMALL = {dtype: torch.finfo(dtype).max ** 0.5 for dtype in (torch.float32, torch.float64)}


@dataclass(frozen=True)
class ScoreRows:
    """One row per sample (or pixel, or token); class weights and sample weights are already applied."""

    scores: Tensor  # (n, k), float32 or float64
    weight: Tensor | None  # (n,), the row's weight in a mean; None: 1
    scale: float | Tensor | None  # a number, () or (n,)
    shape: torch.Size  # the caller's layout of one value per row
    ends: Ends  # of the scores
    extreme: bool = field(default=True, kw_only=True)  # whether some weights are far from 1, or may be

    def weighted(self, values: Tensor) -> Tensor:
        """Values (n,) or (n, k) times the weights of their rows."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == 1 else self.weight[:, None])

    def total_weight(self) -> Tensor:
        """The sum of the weights, a scalar."""
        return self.scores.new_full((), len(self.scores)) if self.weight is None else self.weight.sum()

    def bounded(self) -> Tensor:
        """Scores whose differences in a row are finite, see ``bounded_scores``."""
        return bounded_scores(self.scores, self.ends)

    def finite(self, losses: Tensor) -> Tensor:
        """The largest number instead of losses that overflow, as they may if scores are huge."""
        ends, limit = self.ends, _SMALL[self.scores.dtype]
        return losses if ends is not None and -limit < ends[0] and ends[1] < limit else saturate(losses)


@dataclass(frozen=True)
class LabelRows(ScoreRows):
    """Every row has one label."""

    labels: Tensor  # (n,)

    def support(self) -> Tensor:
        """The sum of the weights of each class, (k,)."""
        n_classes = self.scores.shape[1]
        if self.weight is None and self.ends is not None:  # values can be read, as they cannot under vmap
            return torch.bincount(self.labels, minlength=n_classes).to(self.scores.dtype)
        weight = torch.ones_like(self.scores[:, 0]) if self.weight is None else self.weight
        return sums_by_class(weight, self.labels, n_classes)


@dataclass(frozen=True)
class ShareRows(ScoreRows):
    """Every row has one share per class: class probabilities, or labels with label smoothing."""

    shares: Tensor  # (n, k), weights included


AnyRows = LabelRows | ShareRows


class RowOptions(TypedDict):
    """The options of ``nn.CrossEntropyLoss`` that concern rows."""

    weight: Tensor | None
    ignore_index: int
    label_smoothing: float


def as_rows(
    input: Tensor,
    target: Tensor,
    sample_weight: Tensor | None = None,
    scale: float | Tensor | None = None,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    only_ratios: bool = False,
) -> AnyRows:
    """Check and flatten (k,), (n, k) or (n, k, d1, ...) scores with labels, or with class probabilities of the same shape.

    ``only_ratios`` says that the loss is a mean of these rows alone, so that only ratios of weights count.
    """
    check_floating(input, "input")
    check_tensor(target, "target")
    if input.ndim == 0:
        raise ValueError("`input` should have shape (k,), (n, k) or (n, k, d1, ...), got ().")
    class_dim = min(1, input.ndim - 1)
    n_classes = input.shape[class_dim]
    if n_classes < 2:
        raise ValueError(
            f"`input` should have at least 2 classes in dimension {class_dim}, got shape {tuple(input.shape)}. "
            "For one score per sample, use `mf.binary_scores(input)`."
        )
    ends = check_finite(input, "input")
    shape = input.shape[:class_dim] + input.shape[class_dim + 1 :]
    scores = _flatten(working_precision(input), class_dim)

    has_shares = target.is_floating_point() and target.shape == input.shape
    row_weight: Tensor | None = None
    largest, extreme = 1.0, False
    if sample_weight is not None:
        check_shape(sample_weight, shape, "sample_weight")
        sample_weight, largest, extreme = as_weights(sample_weight, "sample_weight", scores, only_ratios)
        row_weight = sample_weight.reshape(-1)
    if isinstance(scale, Tensor) and scale.numel() != 1:
        check_shape(scale, shape, "scale")
        scale = scale.reshape(-1)
    if weight is not None:
        check_shape(weight, (n_classes,), "weight")
        # a mean over class probabilities divides by the number of rows, without the weights of classes
        weight, largest_class, extreme_class = as_weights(weight, "weight", scores, only_ratios and not has_shares)
        largest, extreme = largest * largest_class, extreme or extreme_class

    def weighted_shares(shares: Tensor, row_weight: Tensor | None) -> Tensor:
        smooth = (1.0 - label_smoothing) * shares + label_smoothing / n_classes
        smooth = smooth if row_weight is None else smooth * row_weight[:, None]
        return smooth if weight is None else smooth * weight

    if has_shares:
        _check_shares(target, class_dim)
        target, largest_share, _ = as_weights(target, "target", scores, False)
        check_total(largest * largest_share, scores)
        shares = weighted_shares(_flatten(target, class_dim), row_weight)
        return ShareRows(scores, row_weight, scale, shape, ends, shares)
    if largest > 1.0:
        check_total(largest, scores)
    _check_label_layout(target, input, shape)
    labels = target.long() if target.ndim == 1 else target.reshape(-1).long()
    labels, used_weight = _used_labels(labels, row_weight, ignore_index, n_classes, scores)
    label_weight = _times_class_weight(used_weight, weight, labels)
    if label_smoothing:
        return ShareRows(scores, label_weight, scale, shape, ends, weighted_shares(one_hot(labels, scores), used_weight))
    return LabelRows(scores, label_weight, scale, shape, ends, labels, extreme=extreme)


def _used_labels(
    labels: Tensor, weight: Tensor | None, ignore_index: int, n_classes: int, like: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Labels with 0 instead of ``ignore_index``, and weights that are zero there."""
    ends = extremes(labels)
    if ends is not None and not ends[0] <= ignore_index <= ends[1]:  # no row is ignored
        check_label_ends(ends, n_classes, "target")
        return labels, weight
    is_used = labels != ignore_index
    labels = labels.where(is_used, 0)
    check_label_ends(extremes(labels), n_classes, "target")
    return labels, is_used.to(like) if weight is None else weight * is_used


def _times_class_weight(weight: Tensor | None, class_weight: Tensor | None, labels: Tensor) -> Tensor | None:
    if class_weight is None:
        return weight
    return class_weight[labels] if weight is None else weight * class_weight[labels]


def _check_shares(target: Tensor, class_dim: int) -> None:
    """Refuse numbers that are not class probabilities: 0 and 1 for one logit, or several labels per row."""
    ends = extremes(target.sum(class_dim))
    if ends is not None and not (abs(ends[0] - 1.0) < _ROUNDED and abs(ends[1] - 1.0) < _ROUNDED):
        raise ValueError(
            f"`target` should be class probabilities that sum to one over dimension {class_dim}, got sums of {ends[0]:g} to "
            f"{ends[1]:g}. For one logit per row pass `mf.binary_scores(input)` and integer labels. Several labels per row "
            "are not supported."
        )


def _flatten(tensor: Tensor, class_dim: int) -> Tensor:
    if tensor.ndim == 2:  # rows already, and each operator would be a node of the graph
        return tensor
    return tensor.movedim(class_dim, -1).reshape(-1, tensor.shape[class_dim])


def _check_label_layout(target: Tensor, input: Tensor, shape: torch.Size) -> None:
    if target.is_floating_point():
        raise ValueError(
            f"`target` should be integer labels of shape {tuple(shape)} or probabilities of shape {tuple(input.shape)}, "
            f"got {target.dtype} of shape {tuple(target.shape)}."
        )
    if target.dtype == torch.bool or target.is_complex():
        raise TypeError(f"`target` should be of an integer dtype, got {target.dtype}. Try `target.long()`.")
    if target.shape == input.shape:
        raise ValueError(
            f"`target` should be labels of shape {tuple(shape)}, got integers of the shape of `input`, {tuple(input.shape)}. "
            "For one-hot targets try `target.argmax(1)`; several labels per row are not supported."
        )
    if target.shape != shape:
        raise ValueError(
            f"`target` should have shape {tuple(shape)} for `input` of shape {tuple(input.shape)}, got {tuple(target.shape)}."
        )


def as_weights(weights: Tensor, name: str, like: Tensor, only_ratios: bool) -> tuple[Tensor, float, bool]:
    """Weights in the dtype of ``like``; an upper limit of them, 1 if not known; and whether some may be far from 1.

    If only ratios of weights count, as in a weighted mean, extreme weights are first divided by the largest of them.

    >>> as_weights(torch.tensor([1e300, 5e299], dtype=torch.float64), "weight", torch.zeros(1), True)
    (tensor([1.0000, 0.5000]), 1.0, True)
    """
    ends = check_nonnegative(weights, name)
    largest = 1.0 if ends is None else ends[1]
    is_extreme = ends is None or not _ORDINARY[0] <= ends[0] <= ends[1] <= _ORDINARY[1]
    if only_ratios and largest > 0.0 and not _ORDINARY[0] <= largest <= _ORDINARY[1]:
        weights, largest = weights / largest, 1.0
    check_total(largest, like)
    return weights.to(like), largest, is_extreme


def check_total(largest: float, like: Tensor) -> None:
    """Raise a ValueError if the rows of ``like`` (n, k), each of this weight, have a total far beyond what its dtype holds."""
    limit = torch.finfo(like.dtype).max ** 0.5  # gradients are such totals over the width of a smoothing
    if largest * len(like) > limit:
        raise ValueError(
            f"The weights of {len(like)} rows should sum to less than {limit:.0e} for scores of {like.dtype}, "
            f"got weights of up to {largest:g}. Divide them by the largest of them."
        )
