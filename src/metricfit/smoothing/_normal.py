"""Normal noise on every score: the smoothing of EXACT."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit.numerics import NormalWinAll, genz_log_label, monte_carlo_assign, normal_log_win, safe_log
from metricfit.scores import flat_rows, label_gaps, rows_like
from metricfit.smoothing._base import Smoothing, Width, as_column, subtract_best

METHODS = ("quadrature", "genz", "monte_carlo")
N_SAMPLES = 16  # of the paper


class Normal(Smoothing):
    r"""Probability that each class has the largest score after noise :math:`N(0, \sigma^2)` on every score.

    For two classes it is :math:`\Phi((s_y - s_j) / (\sigma\sqrt2))`.

    Parameters
    ----------
    scale : float or Tensor, default=1.0
        Standard deviation of the noise: a number, or a tensor with one entry or one per row.
    method : {"quadrature", "genz", "monte_carlo"}, default="quadrature"
        "quadrature" is exact to rounding, deterministic and linear in the number of classes. For comparison, "genz" is the
        algorithm of the paper (random, quadratic) and "monte_carlo" the estimator of its appendix C.
    order : int, default=None
        Number of quadrature nodes; by default 64 for float64 scores and 24 for float32.
    samples : int, default=None
        Number of samples of the random methods; by default 16, as in the paper.
    generator : torch.Generator, default=None
        Random generator of these methods.

    References
    ----------
    Karpukhin et al., "EXACT", arXiv 2205.09615, Eq. (8) to (19).

    Examples
    --------
    >>> import torch
    >>> from metricfit.smoothing import Normal
    >>> Normal().label_probability(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))    # Phi(1 / sqrt 2)
    tensor([0.7602])
    """

    centres_itself = True

    def __init__(
        self,
        scale: Width = 1.0,
        method: str = "quadrature",
        *,
        order: int | None = None,
        samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(scale)
        self.method = check_option(method, "method", METHODS)
        for name, value, least in (("order", order, 4), ("samples", samples, 1)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise ValueError(f"`{name}` should be an integer of at least {least}, got {value!r}.")
        if generator is not None and not isinstance(generator, torch.Generator):
            raise TypeError(f"`generator` should be a torch.Generator, got {generator!r}.")
        exact = self.method == "quadrature"
        unused: dict[str, Any] = {"samples": samples, "generator": generator} if exact else {"order": order}
        for name, given in unused.items():
            if given is not None:
                other = "'genz' or 'monte_carlo'" if exact else "'quadrature'"
                raise ValueError(f"`{name}` applies to method={other}, got {given!r} with method={self.method!r}.")
        self.order = order
        self.samples = N_SAMPLES if samples is None else samples
        self.generator = generator

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.method == "quadrature" else f", method={self.method!r}")

    def _assign(self, scores: Tensor, width: Width) -> Tensor:
        if scores.ndim > 2:
            return rows_like(self._assign(*_as_rows(scores, width)), scores)
        if self.method == "quadrature":
            return NormalWinAll.apply(scores, _per_row(width, scores), self.order or 0)
        if self.method == "monte_carlo":
            return monte_carlo_assign(subtract_best(scores) / width, self.samples, self.generator)
        return self._log_assign(scores, width).softmax(1)  # k independent estimates do not sum to one

    def _log_assign(self, scores: Tensor, width: Width) -> Tensor:
        if scores.ndim > 2:
            return rows_like(self._log_assign(*_as_rows(scores, width)), scores)
        if self.method == "monte_carlo":
            return safe_log(self._assign(scores, width))
        # one integral per class, with nodes where that class wins: no other way is accurate in all tails
        n, k = scores.shape
        rows = scores.repeat_interleave(k, 0)
        labels = torch.arange(k, device=scores.device).repeat(n)
        return self._log_label(rows, labels, None, _per_row(width, scores).repeat_interleave(k)[:, None]).view(n, k)

    def _log_label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Width) -> Tensor:
        if scores.ndim > 2:
            rows, column = _as_rows(scores, width)
            return self._log_label(rows, labels.flatten(), margin, column).view(labels.shape)
        if self.method == "quadrature":
            return normal_log_win(scores, labels, _per_row(width, scores), margin, self.order or 0)
        gaps = label_gaps(scores, labels, margin) / width
        if self.method == "genz":
            return genz_log_label(gaps, labels, self.samples, self.generator)
        wins = monte_carlo_assign(gaps, self.samples, self.generator)
        return safe_log(wins.gather(1, labels[:, None]).squeeze(1))


def _as_rows(scores: Tensor, width: Width) -> tuple[Tensor, Width]:
    """Scores (n, k, ...) as rows (m, k), and their width as (1, 1) or (m, 1): the integrals are row by row."""
    return flat_rows(scores).contiguous(), width.reshape(-1, 1) if isinstance(width, Tensor) else width


def _per_row(width: Width, scores: Tensor) -> Tensor:
    return as_column(width, scores).squeeze(1).expand(scores.shape[0])
