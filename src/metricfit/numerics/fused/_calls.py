"""The kernels as functions of torch tensors. Each is compiled, or read from the cache, when it is first needed."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from metricfit.numerics.fused import _kernels
from metricfit.numerics.fused._compile import compile_kernel
from metricfit.numerics.fused._job import COUNT, NO_LINK, SIGNATURE, SPREAD, Job, run
from metricfit.numerics.fused._lattice import LOG_CDF, RATIO

_SHARE = 2**11  # scores per thread: for fewer, another thread does not pay
_ROW = 8  # fixed cost of a row, in scores
_NO_LABEL = -(2**62)
_TABLES = {"log_cdf": LOG_CDF.ctypes.data, "ratio": RATIO.ctypes.data}
_EPS = torch.finfo(torch.float32).eps
_LEAST, _LARGEST = 1e-12, 1e15  # of scores and scales whose products and quotients are float32 numbers
_LEAST_SCALE = torch.finfo(torch.float32).tiny ** 0.4  # as in ``Smoothing``


def log_win(
    scores: Tensor, labels: Tensor, scale: Tensor, margin: float | None, with_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """log p (n,), its derivative by the scores (n, k) and by the scale (n,); see ``metricfit.numerics._operators``."""
    scores, labels, scale = scores.contiguous(), labels.contiguous(), scale.contiguous()
    log_p = scores.new_empty(len(scores))
    by_scores, by_scale = (
        (torch.empty_like(scores), torch.empty_like(log_p)) if with_gradient else (torch.empty(0), torch.empty(0))
    )
    job = Job(
        **_row_fields(scores, by_scores),
        **_TABLES,
        labels=labels.data_ptr(),
        ignore_index=_NO_LABEL,
        scale=scale.data_ptr(),
        scale_step=1,
        margin=_number(margin),
        link=NO_LINK,
        log_p=log_p.data_ptr(),
        by_scale=by_scale.data_ptr(),
        with_gradient=with_gradient,
    )
    _run_label_kernels(job)
    return log_p, by_scores, by_scale


def win_all(scores: Tensor, scale: Tensor) -> Tensor:
    """Every class's probability to be the largest, (n, k)."""
    scores, scale = scores.contiguous(), scale.contiguous()
    wins = torch.empty_like(scores)
    _run(_kernels.all_classes, Job(**_row_fields(scores, wins), **_TABLES, scale=scale.data_ptr()))
    return wins


def win_all_gradient(incoming: Tensor, scores: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """The derivative of ``sum(incoming * win_all)`` by the scores (n, k) and by the scale (n,)."""
    incoming, scores, scale = incoming.contiguous(), scores.contiguous(), scale.contiguous()
    by_scores, by_scale = torch.empty_like(scores), scores.new_empty(len(scores))
    job = Job(
        **_row_fields(scores, by_scores),
        **_TABLES,
        scale=scale.data_ptr(),
        incoming=incoming.data_ptr(),
        by_scale=by_scale.data_ptr(),
        with_gradient=True,
    )
    _run(_kernels.all_classes, job)
    return by_scores, by_scale


def hits_loss(
    scores: Tensor,
    labels: Tensor,
    scale: float,
    margin: float | None,
    normalize: bool,
    link: tuple[int, float],
    ignore_index: int,
    mean: bool,
    with_gradient: bool,
) -> tuple[float, Tensor]:
    """Mean or sum over rows of a link of the label's probability, and its gradient (n, k) by the raw scores.

    Scores and labels have to be contiguous. NaN if a score is not finite or a label is out of range: the caller raises the
    error. NaN also if scores, their deviation or the scale are so large or small that float32 does not hold their products.
    """
    n_rows, n_classes = scores.shape
    if n_rows == 0:
        return math.nan, scores
    gradient = torch.empty_like(scores) if with_gradient else torch.empty(0)
    log_p_and_by_scale = torch.empty(2 * n_rows)
    job = Job(
        **_row_fields(scores, gradient),
        **_TABLES,
        labels=labels.data_ptr(),
        ignore_index=ignore_index,
        link=link[0],
        link_parameter=link[1],
        log_p=log_p_and_by_scale.data_ptr(),
        by_scale=log_p_and_by_scale.data_ptr() + 4 * n_rows,
        with_gradient=with_gradient,
        stage=COUNT,
    )
    n_used, total, squares, n_wrong, shift = _run(_kernels.stages, job)
    if n_wrong or not squares < _LARGEST**2 or not scale < _LARGEST:
        return math.nan, gradient
    # only differences count, so normalising the scores is the same as widening noise and margin
    spread, constant = 1.0, True
    if normalize:
        n_scores = n_used * n_classes
        offset = total / max(n_scores, 1)
        squares = max(squares - total * offset, 0.0)
        variance, job.shift = squares / max(n_scores - 1, 1), shift + offset
        constant = variance <= (4.0 * _EPS * job.shift) ** 2
        spread = 1.0 if constant else math.sqrt(variance)
        if 0.0 < variance < _LEAST**2:
            return math.nan, gradient
    width = ctypes.c_float(max(scale, _LEAST_SCALE) * spread)
    if width.value < _LEAST:
        return math.nan, gradient
    job.scale, job.margin = ctypes.addressof(width), _number(margin) * spread
    job.factor = 1.0 / max(n_used, 1) if mean else 1.0
    loss, dot = _run_label_kernels(job)
    if with_gradient and not constant:
        job.stage, job.pull = SPREAD, -dot / squares
        _run(_kernels.stages, job)
    return job.factor * loss, gradient


def compile_all() -> None:
    """Compile all kernels, or read them from the cache."""
    for kernel in _kernels.ALL:
        _entry(kernel)


def _row_fields(scores: Tensor, by_scores: Tensor) -> dict[str, int]:
    n_rows, n_classes = scores.shape
    return {
        "n_rows": n_rows,
        "n_classes": n_classes,
        "n_parts": 1,
        "scores": scores.data_ptr(),
        "by_scores": by_scores.data_ptr(),
    }


def _run_label_kernels(job: Job) -> tuple[float, float]:
    """Compute log p of all rows; returns the totals of their losses and of scores times gradient."""
    loss, dot, left_over, *_ = _run(_kernels.label, job)
    if left_over:
        more_loss, more_dot, *_ = _run(_kernels.label_exact, job)
        loss, dot = loss + more_loss, dot + more_dot
    return loss, dot


def _run(kernel: Callable[..., None], job: Job) -> list[float]:
    """Run a kernel for all rows, in several threads if there is enough to do; returns its totals."""
    n_threads = job.n_rows * (job.n_classes + _ROW) // _SHARE
    if n_threads > 1:
        n_threads = min(n_threads, job.n_rows, torch.get_num_threads())
    return run(_entry(kernel).address, job, max(n_threads, 1))


def _number(margin: float | None) -> float:
    return math.inf if margin is None else float(margin)


@cache
def _entry(kernel: Callable[..., None]) -> Any:
    return compile_kernel(kernel, SIGNATURE)
