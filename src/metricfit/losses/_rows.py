"""Rows, from scores and targets in the layouts of ``nn.CrossEntropyLoss`` and ``nn.BCEWithLogitsLoss``.

A logit z of two classes is the pair of scores (0, z), and K labels are K problems of two classes. So all modes share one
layout: scores (n, k, ...) with the classes in dimension 1. Pixels stay behind the classes, where torch's softmax is fast.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

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
from metricfit.confusion import exact_product, one_hot, sums_by_class
from metricfit.losses._layout import Layout, RowOptions, mode_of
from metricfit.scores import bounded_scores, flat_rows, saturate, working_precision

_ORDINARY = (1e-6, 1e6)  # weights that no dtype makes huge or tiny
_ROUNDED = 0.01  # by which a sum of class probabilities may differ from one, in half precision too
_FEW_SCORES = 2**15  # up to which a product with the labels as one-hot rows is faster than to gather and to scatter
_SMALL = {dtype: torch.finfo(dtype).max ** 0.5 for dtype in (torch.float32, torch.float64)}


@dataclass(frozen=True)
class ScoreRows:
    """One row per sample, pixel, token or label of these; class weights and sample weights are already applied."""

    scores: Tensor  # (n, k, ...), float32 or float64
    weight: Tensor | None  # (n, ...), the row's weight in a mean; None: 1
    scale: float | Tensor | None  # a number, () or (n, ...)
    shape: torch.Size  # the caller's layout of one value per row
    ends: Ends  # of the scores
    extreme: bool = field(default=True, kw_only=True)  # whether some weights are far from 1, or may be
    groups: tuple[int, ...] = field(default=(), kw_only=True)  # what dimension 0 holds that has sums of its own
    n_labels: int = field(default=0, kw_only=True)  # two-class problems in a row; 0: one problem of k classes
    class_dim: int = field(default=1, kw_only=True)  # of the caller's scores
    masked: bool = field(default=False, kw_only=True)  # whether some scores were minus infinity

    def weighted(self, values: Tensor) -> Tensor:
        """Values (n, ...) or (n, k, ...) times the weights of their rows."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == self.weight.ndim else self.weight.unsqueeze(1))

    def sum_rows(self, values: Tensor) -> Tensor:
        """The sum of values (n, ...): a scalar, or one per group."""
        return values.flatten(1).sum(1).view(self.groups) if self.groups else values.sum()

    def sum_classes(self, values: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The sums of values (n, k, ...) over the rows: (k,), or (..., k) for groups."""
        if self.groups:
            return values.flatten(2).sum(2, dtype=dtype).view(*self.groups, -1)
        return values.sum(0, dtype=dtype) if values.ndim == 2 else values.sum((0, *range(2, values.ndim)), dtype=dtype)

    def total_weight(self) -> Tensor:
        """The sum of the weights, a scalar, or one per group."""
        if self.weight is not None:
            return self.sum_rows(self.weight)
        return self.scores.new_full(self.groups, self.scores.numel() // self.scores.shape[1] // prod(self.groups))

    def per_class(self, numbers: Tensor, name: str, first: float = 0.0) -> Tensor:
        """One number per class (k,), or one per logit beside ``first`` for the negative class, to broadcast with scores."""
        n_classes = self.scores.shape[1]
        if not self.n_labels:
            check_shape(numbers, (n_classes,), name)
            return numbers.to(self.scores).view(-1, *[1] * (self.scores.ndim - 2))
        check_tensor(numbers, name)
        if numbers.numel() != self.n_labels:
            raise ValueError(f"`{name}` should have shape ({self.n_labels},), one per logit, got {tuple(numbers.shape)}.")
        column = numbers.to(self.scores).reshape(-1).repeat(self.scores.shape[0] // self.n_labels)
        return torch.stack([torch.full_like(column, first), column], 1).unsqueeze(2)

    def restore(self, values: Tensor) -> Tensor:
        """Values (n, ...) in the caller's layout."""
        if self.n_labels < 2:
            return values.reshape(self.shape)
        dim = self.class_dim
        return values.reshape(self.n_labels, *self.shape[:dim], *self.shape[dim + 1 :]).movedim(0, dim)

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

    labels: Tensor  # (n, ...)

    def at_label(self, values: Tensor) -> Tensor:
        """The entries (n, ...) at the labels of values (n, k, ...)."""
        return values.gather(1, self.labels.unsqueeze(1)).squeeze(1)

    def sums_at_label(self, values: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
        """The sums of the entries at the labels of values (n, k, ...), by class, and ``support``."""
        if self.weight is None and self.ends is not None and values.numel() <= _FEW_SCORES:  # in few operators
            own = torch.zeros_like(values, requires_grad=False).scatter_(1, self.labels.unsqueeze(1), 1.0)
            return self.sum_classes(values * own, dtype), self.sum_classes(own, dtype)
        return self.sum_by_label(self.at_label(values)), self.support()

    def support(self) -> Tensor:
        """The sum of the weights of each class: (k,), or (..., k) for groups."""
        if self.weight is None and self.ends is not None and not self.groups:  # values can be read, as they cannot under vmap
            labels = self.labels if self.labels.ndim == 1 else self.labels.flatten()
            return torch.bincount(labels, minlength=self.scores.shape[1]).to(self.scores.dtype)
        return self.sum_by_label(torch.ones_like(self.scores[:, 0]) if self.weight is None else self.weight)

    def sum_by_label(self, values: Tensor) -> Tensor:
        """The sums of values (n, ...) over the rows of each class: (k,), or (..., k) for groups."""
        if self.n_labels:  # two classes: two sums of all rows
            positive = self.labels.to(values)
            return torch.stack([self.sum_rows(values * (1.0 - positive)), self.sum_rows(values * positive)], -1)
        n_classes, cells = self.scores.shape[1], self._cells()
        sums = sums_by_class(values if values.ndim == 1 else values.flatten(), cells, n_classes * prod(self.groups))
        return sums.view(*self.groups, n_classes) if self.groups else sums

    def confusion(self, assignment: Tensor) -> Tensor:
        """The confusion matrix (k, k), or (..., k, k) for groups."""
        n_classes, rows = assignment.shape[1], flat_rows(self.weighted(assignment))
        sums = sums_by_class(rows, self._cells(), n_classes * prod(self.groups))
        return sums.view(*self.groups, n_classes, n_classes)

    def _cells(self) -> Tensor:
        """The label of every row, (n * ...,), counted on over the groups."""
        if not self.groups:
            return self.labels if self.labels.ndim == 1 else self.labels.flatten()
        first = self.scores.shape[1] * torch.arange(self.labels.shape[0], device=self.labels.device)
        return (self.labels.flatten(1) + first[:, None]).flatten()


@dataclass(frozen=True)
class ShareRows(ScoreRows):
    """Every row has one share per class: class probabilities, or labels with label smoothing."""

    shares: Tensor  # (n, k, ...), weights included

    def support(self) -> Tensor:
        """The sum of the shares of each class: (k,), or (..., k) for groups."""
        return self.sum_classes(self.shares)

    def confusion(self, assignment: Tensor) -> Tensor:
        """The confusion matrix (k, k), or (..., k, k) for groups."""
        if assignment.ndim == 2:
            return exact_product(self.shares.T, assignment)
        matrices = exact_product(self.shares.flatten(2), assignment.flatten(2).mT)
        return matrices.view(*self.groups, *matrices.shape[1:]) if self.groups else matrices.sum(0)


AnyRows = LabelRows | ShareRows


def as_rows(
    input: Tensor,
    target: Tensor,
    sample_weight: Tensor | None,
    scale: float | Tensor | None,
    options: RowOptions,
    *,
    by_label: bool = False,
    by_image: bool = False,
    only_ratios: bool = False,
) -> AnyRows:
    """Check scores and targets, and bring them to one layout.

    ``by_label`` and ``by_image`` ask for sums per label of mode "multilabel" and per image. ``only_ratios`` says that the loss
    is a mean of these rows alone, so that only ratios of weights count.
    """
    if options.plain and sample_weight is None and not by_image and (rows := _plain_rows(input, target, scale, options)):
        return rows
    check_floating(input, "input")
    check_tensor(target, "target")
    mode = options.mode or mode_of(input, target, options)
    layout = Layout.of(input, mode, options.class_dim, by_label, by_image)
    scores = layout.scores(working_precision(input))
    has_shares = mode == "multiclass" and target.is_floating_point() and target.shape == input.shape

    row_weight: Tensor | None = None
    largest, extreme = 1.0, False
    if sample_weight is not None:
        check_tensor(sample_weight, "sample_weight")
        sample_weight, largest, extreme = as_weights(sample_weight, "sample_weight", scores, only_ratios)
        row_weight = layout.rows(sample_weight, "sample_weight")
    if isinstance(scale, Tensor) and scale.numel() != 1:
        scale = layout.rows(scale, "scale")
    class_weight = options.weight if mode == "multiclass" else options.pos_weight
    if class_weight is not None:
        name = "weight" if mode == "multiclass" else "pos_weight"
        # a mean over class probabilities divides by the number of rows, without the weights of classes
        ratios = only_ratios and mode == "multiclass" and not has_shares
        class_weight, largest_class, extreme_class = as_weights(class_weight, name, scores, ratios)
        largest, extreme = largest * largest_class, extreme or extreme_class
        plain = ScoreRows(scores, None, None, layout.shape, None, n_labels=layout.n_labels)
        class_weight = plain.per_class(class_weight, name, first=1.0)  # to broadcast with scores
    check_total(largest, scores)

    shares: Tensor | None = None
    if has_shares:
        _check_shares(target, layout.class_dim)
        shares, largest_share, _ = as_weights(layout.scores(target), "target", scores, False)
        check_total(largest * largest_share, scores)
        weight = row_weight
    else:
        labels, is_used = _labels(layout, target, input, options.ignore_index)
        weight = row_weight if is_used is None else is_used.to(scores) if row_weight is None else row_weight * is_used
        if labels.is_floating_point():
            shares = torch.stack([1.0 - labels, labels], 1).to(scores)
        if is_used is not None:
            scores = torch.where(is_used.unsqueeze(1), scores, 0.0)  # ignored rows may hold anything
    scores, ends, masked = _finite(scores)
    common: dict[str, Any] = {"groups": layout.groups, "n_labels": layout.n_labels, "class_dim": layout.class_dim}
    common["masked"] = masked
    if shares is None and not options.label_smoothing:
        if class_weight is not None:
            at_label = class_weight.expand_as(scores).gather(1, labels.unsqueeze(1)).squeeze(1)
            weight = at_label if weight is None else weight * at_label
        return LabelRows(scores, weight, scale, layout.shape, ends, labels, extreme=extreme, **common)
    plain_weight = weight
    if shares is None:
        shares = one_hot(labels, scores)
        if class_weight is not None:
            at_label = (shares * class_weight).sum(1)
            plain_weight = at_label if weight is None else weight * at_label
    shares = (1.0 - options.label_smoothing) * shares + options.label_smoothing / scores.shape[1]
    shares = shares if weight is None else shares * weight.unsqueeze(1)
    shares = shares if class_weight is None else shares * class_weight
    return ShareRows(scores, plain_weight, scale, layout.shape, ends, shares, **common)


def _plain_rows(input: Tensor, target: Tensor, scale: float | Tensor | None, options: RowOptions) -> LabelRows | None:
    """Finite scores (n, k) with integer labels (n,) need no change; None for others, some of which are errors."""
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)) or isinstance(scale, Tensor):
        return None
    if input.ndim != 2 or input.dtype not in _SMALL or target.dtype != torch.int64 or target.shape != input.shape[:1]:
        return None
    n_classes, labels = input.shape[1], extremes(target)
    if labels is None or labels[0] < 0 or labels[1] >= n_classes or labels[0] <= options.ignore_index <= labels[1]:
        return None
    ends = extremes(input)
    if ends is None or n_classes < 2 or not (-torch.inf < ends[0] and ends[1] < torch.inf):
        return None
    return LabelRows(input, None, scale, target.shape, ends, target, extreme=False)


def _labels(layout: Layout, target: Tensor, input: Tensor, ignore_index: int) -> tuple[Tensor, Tensor | None]:
    """Labels (n, ...) with 0 in ignored rows, and which rows are used, None for all.

    The labels of logits may be probabilities of the positive class, as in ``nn.BCEWithLogitsLoss``. They are integers where
    all are known to be 0 or 1.
    """
    n_classes = 2
    if layout.mode == "multiclass":
        _check_label_layout(target, input, layout.shape)
        n_classes = input.shape[layout.class_dim]
    elif target.is_complex():
        raise TypeError(f"`target` should be 0 and 1 of any dtype, got {target.dtype}.")
    elif layout.mode == "multilabel" and target.shape != layout.shape:
        raise ValueError(f"`target` should have shape {tuple(layout.shape)}, 0 or 1 per logit, got {tuple(target.shape)}.")
    labels = target if target.ndim == 1 and layout.mode == "multiclass" else layout.rows(target, "target")
    labels = labels if labels.is_floating_point() else labels.long()
    ends = extremes(labels)
    is_used: Tensor | None = None
    if ends is None or ends[0] <= ignore_index <= ends[1]:
        is_used = labels != ignore_index
        labels = torch.where(is_used, labels, 0)
        ends = extremes(labels)
    if not labels.is_floating_point():
        check_label_ends(ends, n_classes, "target")
        return labels, is_used
    if ends is None:
        return labels, is_used
    if not (ends[0] >= 0.0 and ends[1] <= 1.0):
        raise ValueError(
            f"`target` should be 0 or 1, or a probability, in mode={layout.mode!r}, got {ends[0]:g} ... {ends[1]:g}."
        )
    whole = labels.long()
    return (whole if torch.equal(whole.to(labels), labels) else labels), is_used


def _finite(scores: Tensor) -> tuple[Tensor, Ends, bool]:
    """Scores without minus infinity, which masks a class as in ``nn.CrossEntropyLoss``; their ends; whether there was one."""
    ends = extremes(scores)
    if ends is not None and -torch.inf < ends[0] and ends[1] < torch.inf:
        return scores, ends, False
    scores = scores.clamp(min=torch.finfo(scores.dtype).min)
    return scores, check_finite(scores, "input"), ends is not None


def _check_shares(target: Tensor, class_dim: int) -> None:
    """Refuse numbers that are not class probabilities: 0 and 1 for one logit, or several labels per row."""
    ends = extremes(target.sum(class_dim))
    if ends is not None and not (abs(ends[0] - 1.0) < _ROUNDED and abs(ends[1] - 1.0) < _ROUNDED):
        raise ValueError(
            f"`target` should be class probabilities that sum to one over dimension {class_dim}, got sums of {ends[0]:g} to "
            f'{ends[1]:g}. For several labels per row pass mode="multilabel", for one logit per row mode="binary".'
        )


def _check_label_layout(target: Tensor, input: Tensor, shape: torch.Size) -> None:
    if target.shape == input.shape and not target.is_floating_point():
        raise ValueError(
            f"`target` should be labels of shape {tuple(shape)}, got {target.dtype} of the shape of `input`, "
            f'{tuple(input.shape)}. For several labels per row pass mode="multilabel"; for one-hot targets try '
            "`target.argmax(1)`."
        )
    if target.is_floating_point():
        raise ValueError(
            f"`target` should be integer labels of shape {tuple(shape)} or probabilities of shape {tuple(input.shape)}, "
            f"got {target.dtype} of shape {tuple(target.shape)}."
        )
    if target.dtype == torch.bool or target.is_complex():
        raise TypeError(f"`target` should have an integer dtype, got {target.dtype}. Try `target.long()`.")
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
    """Raise a ValueError if the dtype of ``like`` (n, k, ...) does not hold the total of its rows, each of this weight."""
    if largest <= 1.0:
        return
    n_rows = like.numel() // like.shape[1] if like.ndim > 1 else len(like)
    limit = torch.finfo(like.dtype).max ** 0.5  # gradients are such totals over the width of a smoothing
    if largest * n_rows > limit:
        raise ValueError(
            f"The weights of {n_rows} rows should sum to less than {limit:.0e} for scores of {like.dtype}, "
            f"got weights of up to {largest:g}. Divide them by the largest of them."
        )
