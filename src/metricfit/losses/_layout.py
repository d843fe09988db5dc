"""Where the caller's scores, targets and weights go: the options and layouts of torch's losses."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import torch
from torch import Tensor

from metricfit._checks import check_number, check_option, check_shape

MODES = ("multiclass", "binary", "multilabel")


@dataclass(frozen=True)
class RowOptions:
    """How targets are read: the options of ``nn.CrossEntropyLoss`` and ``nn.BCEWithLogitsLoss`` that concern rows."""

    weight: Tensor | None = None
    ignore_index: int = -100
    label_smoothing: float = 0.0
    mode: str | None = None
    pos_weight: Tensor | None = None
    class_dim: int = 1
    plain: bool = field(init=False)  # whether rows of scores and labels need none of them

    def __post_init__(self) -> None:
        for name, each in (("weight", "class"), ("pos_weight", "label")):
            if not isinstance(getattr(self, name), Tensor | None):
                raise TypeError(f"`{name}` should be a torch.Tensor with one entry per {each}, got {getattr(self, name)!r}.")
        if not isinstance(self.ignore_index, int):
            raise TypeError(f"`ignore_index` should be an integer, got {self.ignore_index!r}.")
        object.__setattr__(self, "label_smoothing", check_number(self.label_smoothing, "label_smoothing", 0.0, 1.0))
        if self.mode is not None:
            check_option(self.mode, "mode", MODES)
        if self.class_dim not in (1, -1):
            raise ValueError(f"`class_dim` should be 1 as for (N, C, H, W), or -1 as for (N, L, C), got {self.class_dim!r}.")
        if self.mode == "multiclass" and self.pos_weight is not None:
            raise ValueError('`pos_weight` is for mode="binary" and "multilabel". For classes pass `weight`.')
        if self.mode in ("binary", "multilabel") and self.weight is not None:
            raise ValueError(f'`weight` is per class, for mode="multiclass". In mode={self.mode!r} pass `pos_weight`.')
        weighted = self.weight is not None or self.pos_weight is not None or self.label_smoothing > 0.0
        object.__setattr__(self, "plain", self.mode in (None, "multiclass") and not weighted)


@dataclass(frozen=True)
class Layout:
    """Where the caller's scores, and values per row, go in (n, k, ...)."""

    mode: str
    class_dim: int
    shape: torch.Size  # the caller's layout of one value per row
    row_shape: tuple[int, ...]  # (n, ...)
    groups: tuple[int, ...] = ()
    n_labels: int = 0

    @classmethod
    def of(cls, input: Tensor, mode: str, class_dim: int, by_label: bool, by_image: bool) -> Layout:
        shape, size = input.shape, input.numel()
        if input.ndim == 0:
            raise ValueError("`input` should have shape (k,), (n, k) or (n, k, d1, ...), got ().")
        if by_image and input.ndim < 3:
            raise ValueError(f'`over="image"` is for scores of images, (N, C, H, W), got shape {tuple(shape)}.')
        dim = min(class_dim % input.ndim, input.ndim - 1) if class_dim < 0 else min(class_dim, input.ndim - 1)
        images = (shape[0],) if by_image else ()
        if mode == "binary":
            n_rows = prod(images)
            groups = (*images, 1) if by_label else images
            return cls(mode, dim, shape, (n_rows, size // max(n_rows, 1)), groups, 1)
        n_classes = shape[dim]
        if mode == "multilabel":
            if input.ndim < 2:
                raise ValueError(f'`input` should have shape (N, K, ...) in mode="multilabel", got {tuple(shape)}.')
            n_rows = n_classes * prod(images)
            groups = (*images, n_classes) if by_label or by_image else ()
            return cls(mode, dim, shape, (n_rows, size // max(n_rows, 1)), groups, n_classes)
        if n_classes < 2:
            raise ValueError(
                f"`input` should have at least 2 classes in dimension {dim}, got shape {tuple(shape)}. "
                'For one logit per row pass mode="binary".'
            )
        kept = shape[:dim] + shape[dim + 1 :]
        flat = not by_image and dim == input.ndim - 1
        return cls(mode, dim, kept, (prod(kept),) if flat else (shape[0], prod(kept[1:])), images)

    def scores(self, values: Tensor) -> Tensor:
        """Scores of the caller as (n, k, ...)."""
        if self.mode != "multiclass":
            logits = self._moved(values).reshape(self.row_shape)
            return torch.stack([torch.zeros_like(logits), logits], 1)
        if values.ndim == 2:  # rows already, and each operator would be a node of the graph
            return values
        if len(self.row_shape) == 1:
            return values.reshape(-1, values.shape[-1])
        return values.movedim(self.class_dim, 1).flatten(2)

    def rows(self, values: Tensor, name: str) -> Tensor:
        """Values of the caller, one per row, as (n, ...); for logits one per sample is enough."""
        if values.shape != self.shape:
            per_sample = self.shape[: self.class_dim] + self.shape[self.class_dim + 1 :]
            if self.mode == "binary" and values.shape == per_sample and self.shape[self.class_dim] > 1:
                raise ValueError(
                    f'mode="binary" is for one logit per row, and `input` of shape {tuple(self.shape)} has '
                    f"{self.shape[self.class_dim]} scores for each `{name}`. For one score per class leave out `mode`."
                )
            if self.mode == "multiclass" or values.shape != per_sample:
                check_shape(values, self.shape, name)
            values = values.unsqueeze(self.class_dim).expand(self.shape)
        return self._moved(values).reshape(self.row_shape)

    def _moved(self, values: Tensor) -> Tensor:
        """Labels come first, or after the images if these are groups."""
        if self.mode != "multilabel":
            return values
        return values.movedim(self.class_dim, 1 if len(self.groups) == 2 else 0)


def mode_of(input: Tensor, target: Tensor, options: RowOptions) -> str:
    """The mode, from the shapes: a channel of one is a logit, and so is (n,) against integers (n,)."""
    if options.pos_weight is not None:
        raise ValueError('`pos_weight` needs `mode`: pass mode="binary" for one logit per row, or mode="multilabel".')
    is_logit = input.ndim > 1 and input.shape[min(1, input.ndim - 1) if options.class_dim == 1 else -1] == 1
    if input.ndim == 1 and target.shape == (len(input), 1):
        raise ValueError(
            f"`target` should have the shape of `input`, {tuple(input.shape)}, got {tuple(target.shape)}. "
            'For one logit per row try `target.squeeze(1)` and mode="binary".'
        )
    if input.ndim == 1 and target.shape == input.shape:
        if target.is_floating_point():
            raise ValueError(
                f"`input` and `target` of shape {tuple(input.shape)} may be logits of {len(input)} rows, or one row of "
                f'{len(input)} classes with their probabilities. Pass mode="binary" for logits as in '
                '`nn.BCEWithLogitsLoss`, or mode="multiclass".'
            )
        is_logit = True
    if is_logit and options.weight is not None:
        raise ValueError(
            f'`weight` is per class, and `input` of shape {tuple(input.shape)} has one logit per row. Pass mode="binary" and '
            "`pos_weight`."
        )
    return "binary" if is_logit else "multiclass"
