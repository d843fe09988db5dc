"""The base class of all smoothings."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metricfit._checks import Ends, check_floating, check_labels, check_number, check_scores, check_width
from metricfit.scores import bounded_scores, label_gaps, working_precision

Width = float | Tensor
_LIMITS = {dtype: (torch.finfo(dtype).tiny, torch.finfo(dtype).max) for dtype in (torch.float32, torch.float64)}


class Smoothing(nn.Module, ABC):
    """Base class of the smoothings: from scores to soft assignments, which become hard as the width goes to zero.

    A subclass defines ``_log_assign(scores, width)`` and may override ``_assign`` or ``_log_label`` if it has a better
    formula. These receive checked scores in float32 or float64, (n, k) or (n, k, ...) with the classes in dimension 1, and a
    width: a number, or a tensor (1, 1, ...) or (n, 1, ...).

    Parameters
    ----------
    width : float or Tensor
        The ``scale`` or ``temperature``, by subclass. It is a buffer, so it follows the module's device and is part of its
        ``state_dict``; an ``nn.Parameter`` is learned. ``scale`` overrides it in each call.

    Examples
    --------
    >>> import torch
    >>> from metricfit.smoothing import Smoothing
    >>> class Squared(Smoothing):
    ...     def _log_assign(self, scores, width):
    ...         return (-((scores / width) ** 2)).log_softmax(1)     # scores are relative to the best of their row
    >>> Squared(1.0).assign(torch.tensor([[0.0, 1.0]]))
    tensor([[0.2689, 0.7311]])
    """

    width_name: str = "scale"
    width_limit: float = math.inf
    centres_itself: bool = False  # whether ``_assign`` accepts scores that are not relative to the best
    divides_by_width: bool = True  # so the quotient has to be finite
    width_power: float = 0.4  # the least width is tiny**0.4, 6e-16 in float32, so that 1 / width**2 is finite

    def __init__(self, width: Width) -> None:
        super().__init__()
        if isinstance(width, nn.Parameter):
            self.register_parameter(self.width_name, width)
        elif isinstance(width, Tensor):
            self.register_buffer(self.width_name, width)
        else:
            check_number(width, self.width_name, 0.0, open_low=True)
            # float64, so that 0.1 has all its digits for float64 scores
            self.register_buffer(self.width_name, torch.tensor(float(width), dtype=torch.float64))
        if self.width.ndim > 1:
            raise ValueError(
                f"`{self.width_name}` should be a number or have one entry per row, got shape {tuple(self.width.shape)}."
            )
        check_floating(self.width, self.width_name)
        check_width(self.width, self.width_name, self.width_limit)

    @property
    def width(self) -> Tensor:
        """The scale or temperature."""
        return getattr(self, self.width_name)

    def assign(self, scores: Tensor, scale: Width | None = None) -> Tensor:
        """Assign every sample softly to the classes.

        Parameters
        ----------
        scores : Tensor of shape (n, k) or (n, k, d1, ...)
            The scores.
        scale : float or Tensor of shape (n,), default=None
            Overrides the width for this call. A tensor may require a gradient.

        Returns
        -------
        Tensor of the shape of ``scores``
            Shares that sum to one over the classes.
        """
        return self.assign_checked(*_checked(scores), scale)

    def log_assign(self, scores: Tensor, scale: Width | None = None) -> Tensor:
        """Logarithm of :meth:`assign`, accurate where the assignment underflows.

        Parameters
        ----------
        scores, scale : Tensor or float
            As in :meth:`assign`.

        Returns
        -------
        Tensor of the shape of ``scores``
            The logarithms.
        """
        return self.log_assign_checked(*_checked(scores), scale)

    def label_probability(
        self, scores: Tensor, labels: Tensor, margin: float | None = None, scale: Width | None = None
    ) -> Tensor:
        """Share that is assigned to each sample's label.

        Parameters
        ----------
        scores : Tensor of shape (n, k) or (n, k, d1, ...)
            The scores.
        labels : Tensor of shape (n,) or (n, d1, ...)
            The classes.
        margin : float, default=None
            Upper limit on how far the label's score counts as ahead of another.
        scale : float or Tensor of shape (n,), default=None
            Overrides the width for this call.

        Returns
        -------
        Tensor of the shape of ``labels``
            The shares.
        """
        return self.log_label_probability(scores, labels, margin, scale).exp()

    def log_label_probability(
        self, scores: Tensor, labels: Tensor, margin: float | None = None, scale: Width | None = None
    ) -> Tensor:
        """Logarithm of :meth:`label_probability`; its gradient does not vanish for confidently wrong samples.

        Parameters
        ----------
        scores, labels, margin, scale : Tensor or float
            As in :meth:`label_probability`.

        Returns
        -------
        Tensor of the shape of ``labels``
            The logarithms.
        """
        scores, ends = _checked(scores)
        check_labels(labels, scores.shape[1], scores.shape[:1] + scores.shape[2:])
        if margin is not None:
            check_number(margin, "margin", 0.0)
        return self.log_label_checked(scores, ends, labels.long(), margin, scale)

    # the same for scores in working precision and labels that are checked; ``ends`` are those of the scores, if they are known

    def assign_checked(self, scores: Tensor, ends: Ends, scale: Width | None = None) -> Tensor:
        scores, width = self._prepare(scores, ends, scale)
        return self._assign(scores if self.centres_itself else subtract_best(scores), width)

    def log_assign_checked(self, scores: Tensor, ends: Ends, scale: Width | None = None) -> Tensor:
        scores, width = self._prepare(scores, ends, scale)
        return self._log_assign(subtract_best(scores), width)

    def log_label_checked(
        self, scores: Tensor, ends: Ends, labels: Tensor, margin: float | None = None, scale: Width | None = None
    ) -> Tensor:
        scores, width = self._prepare(scores, ends, scale)
        return self._log_label(scores, labels, margin, width)

    def label_checked(
        self, scores: Tensor, ends: Ends, labels: Tensor, margin: float | None = None, scale: Width | None = None
    ) -> Tensor:
        scores, width = self._prepare(scores, ends, scale)
        return self._label(scores, labels, margin, width)

    def forward(self, scores: Tensor) -> Tensor:
        """Call :meth:`assign`.

        Parameters
        ----------
        scores : Tensor
            As in :meth:`assign`.

        Returns
        -------
        Tensor of the shape of ``scores``
            The assignment.
        """
        return self.assign(scores)

    def extra_repr(self) -> str:
        known = self.width.numel() == 1 and not self.width.is_meta
        return f"{self.width_name}={self.width.item():g}" if known else f"{self.width_name}=..."

    @abstractmethod
    def _log_assign(self, scores: Tensor, width: Width) -> Tensor: ...

    def _assign(self, scores: Tensor, width: Width) -> Tensor:
        return self._log_assign(scores, width).exp()

    def _label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Width) -> Tensor:
        return self._log_label(scores, labels, margin, width).exp()

    def _log_label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Width) -> Tensor:
        gaps = label_gaps(scores, labels, margin)
        return self._log_assign(gaps, width).gather(1, labels[:, None]).squeeze(1)

    def _prepare(self, scores: Tensor, ends: Ends, scale: Width | None) -> tuple[Tensor, Width]:
        """Scores whose quotients by the width are finite, and the width as a subclass takes it."""
        width, width_ends = self._checked_width(scores, scale)
        tiny, largest = _LIMITS[scores.dtype]
        least = tiny**self.width_power
        if width_ends is not None and width.numel() == 1 and not width.requires_grad:
            number = min(max(width_ends[0], least), largest)
            return bounded_scores(scores, ends, number if self.divides_by_width else 1.0), number
        column = width.to(scores).clamp(least, largest)
        column = column.reshape([1] * scores.ndim) if width.numel() == 1 else column.unsqueeze(1)
        return bounded_scores(scores, ends, column if self.divides_by_width else 1.0), column

    def _checked_width(self, scores: Tensor, scale: Width | None) -> tuple[Tensor, Ends]:
        """The width of this call, a tensor with one entry or one per row, and its ends if they are known."""
        if isinstance(scale, Tensor):
            name, width = "scale", scale
            check_floating(width, name)
        elif scale is not None:
            name, width = "scale", torch.tensor(check_number(scale, "scale", -math.inf), dtype=torch.float64)
        else:
            name, width = self.width_name, self.width
        if width.numel() != 1 and width.shape != (per_row := scores.shape[:1] + scores.shape[2:]):
            raise ValueError(f"`{name}` should be a number or have shape {tuple(per_row)}, got {tuple(width.shape)}.")
        return width, check_width(width, name, self.width_limit)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        """A checkpoint of a model that was trained on another loss has no width: then that of this smoothing stays."""
        if not isinstance(self.width, nn.Parameter):
            state_dict = {prefix + self.width_name: self.width, **state_dict}
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        try:
            return super()._apply(fn, recurse)
        except TypeError:  # a device without float64
            return super()._apply(lambda tensor: fn(tensor.float()), recurse)


def _checked(scores: Tensor) -> tuple[Tensor, Ends]:
    """The caller's scores in working precision, and their ends."""
    ends = check_scores(scores)
    return working_precision(scores), ends


def as_column(width: Width, scores: Tensor) -> Tensor:
    """The width as a tensor (1, 1, ...) or (n, 1, ...)."""
    return width if isinstance(width, Tensor) else scores.new_full([1] * scores.ndim, width)


def subtract_best(scores: Tensor) -> Tensor:
    """Scores minus the best of their row: only differences matter, and these keep their digits when divided by a width."""
    return scores - scores.detach().amax(1, keepdim=True)
