"""The fused CPU kernels behind torch tensors: compiled on first use, rows split over torch's threads.

They need numba, an extra: ``pip install 'metricfit[fast]'``. Without it everything works by the portable form, and this is
said once. ``METRICFIT_FUSED=0`` in the environment turns them off.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

_SHARE = 2**14  # scores for which a second thread is worth waking
_COMPILING = "metricfit: compiling its fast kernels, once; `python -m metricfit.warmup` does it ahead of time"
_EPS, _TINY = torch.finfo(torch.float32).eps, torch.finfo(torch.float32).tiny
_logger = logging.getLogger("metricfit")


_off = threading.local()


@contextlib.contextmanager
def turned_off() -> Iterator[None]:
    """The portable form for everything within, in this thread: to compare the two."""
    before, _off.value = getattr(_off, "value", False), True
    try:
        yield
    finally:
        _off.value = before


def covers(scores: Tensor) -> bool:
    """Whether the kernels can take these scores; if so they are compiled by now."""
    plain = scores.is_cpu and scores.dtype == torch.float32 and not getattr(_off, "value", False)
    return plain and kernels() is not None


@cache
def kernels() -> Any:
    """The module of compiled kernels, or None where there is no numba."""
    if os.environ.get("METRICFIT_FUSED") == "0":
        return None
    if importlib.util.find_spec("numba") is None:
        _logger.warning("metricfit: normal noise is many times faster on the CPU with numba: pip install 'metricfit[fast]'")
        return None
    with _word_if_slow(_COMPILING):
        from metricfit.numerics.fused import _kernels

        _kernels.compile_label()
    return _kernels


@cache
def all_kernels() -> Any:
    """The same, with those for all classes at once, which a loss of the label alone never waits for."""
    with _word_if_slow(_COMPILING):
        kernels().compile_all_classes()
    return kernels()


def log_win(
    scores: Tensor, labels: Tensor, scale: Tensor, margin: float | None, with_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """log p (n,), its derivative by the scores (n, k) and by the scale (n,); see ``metricfit.smoothing._race_ops``."""
    scores, n_rows = scores.contiguous(), len(scores)
    log_p, by_scale = torch.empty(n_rows), torch.empty(n_rows)
    by_scores = torch.empty_like(scores) if with_gradient else torch.empty(1, 0)
    inputs = (scores.numpy(), labels.contiguous().numpy(), scale.contiguous().numpy(), _number(margin), with_gradient)
    outputs = (log_p.numpy(), by_scores.numpy(), by_scale.numpy())
    _over_rows(scores, kernels().log_win, *inputs, *outputs, *kernels().LABEL_TABLES)
    return (log_p, by_scores, by_scale) if with_gradient else (log_p, torch.empty(0), torch.empty(0))


def win_all(scores: Tensor, scale: Tensor) -> Tensor:
    """Every class's probability to come out largest, (n, k)."""
    scores, wins = scores.contiguous(), torch.empty_like(scores, memory_format=torch.contiguous_format)
    values, unused = scores.numpy(), np.empty(len(scores), np.float32)
    _over_rows(
        scores,
        all_kernels().win_all,
        values,
        values,
        scale.contiguous().numpy(),
        False,
        wins.numpy(),
        unused,
        *all_kernels().ALL_TABLES,
    )
    return wins


def win_all_gradient(incoming: Tensor, scores: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """The derivative of ``sum(incoming * win_all)`` by the scores (n, k) and by the scale (n,)."""
    scores, incoming = scores.contiguous(), incoming.contiguous()
    by_scores, by_scale = torch.empty_like(scores), torch.empty(len(scores))
    inputs = (incoming.numpy(), scores.numpy(), scale.contiguous().numpy(), True)
    _over_rows(scores, all_kernels().win_all, *inputs, by_scores.numpy(), by_scale.numpy(), *all_kernels().ALL_TABLES)
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
    """Mean or sum over rows of a link of the probability to hit the label, and its gradient (n, k) by the raw scores.

    NaN where the scores are not finite or a label is out of range: the caller knows what to say about it.
    """
    hits = kernels()
    n_rows, n_classes = scores.shape
    values, used = scores.numpy(), np.empty(n_rows, np.int64)
    n_used = hits.used_labels(labels.numpy(), n_classes, ignore_index, used)
    gradient = torch.empty_like(scores) if with_gradient else torch.empty(1, 0)
    if n_used < 0:
        return math.nan, gradient
    centre, variance, n_scores = hits.mean_and_variance(values, used) if normalize else (0.0, 1.0, 2)
    constant = variance <= (4.0 * _EPS * centre) ** 2 + _TINY
    spread = 1.0 if constant else math.sqrt(variance)
    factor = 1.0 / max(n_used, 1) if mean else 1.0
    widths = np.full(n_rows, scale * spread, np.float32)
    losses, dots = np.empty(n_rows, np.float32), np.empty(n_rows, np.float32)
    outputs = (with_gradient, gradient.numpy(), losses, dots)

    def rows(lo: int, hi: int) -> None:
        log_p = (with_gradient, losses, gradient.numpy(), dots)
        hits.log_win(values, used, widths, _number(margin) * spread, *log_p, *hits.LABEL_TABLES, lo, hi)
        hits.link_rows(values, used, *link, factor, *outputs, lo, hi)

    _over_rows(scores, rows)
    if normalize and with_gradient and not constant:
        pull = -dots.sum(dtype=np.float64) / (variance * (n_scores - 1))
        _over_rows(scores, hits.add_spread, gradient.numpy(), values, used, centre, pull)
    return factor * float(losses.sum(dtype=np.float64)), gradient


def _number(margin: float | None) -> float:
    return math.inf if margin is None else float(margin)


def _over_rows(scores: Tensor, kernel: Callable[..., Any], *arguments: Any) -> None:
    """Call a kernel with all rows, its last arguments being from where to where; threads share them if it pays."""
    n_rows = len(scores)
    n_parts = max(1, min(torch.get_num_threads(), n_rows, scores.numel() // _SHARE))
    bounds = [n_rows * part // n_parts for part in range(n_parts + 1)]
    first, *others = pairwise(bounds)
    waiting = [_pool().submit(kernel, *arguments, *part) for part in others]
    kernel(*arguments, *first)
    for other in waiting:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="metricfit")


# a forked child has none of its parent's threads
os.register_at_fork(after_in_child=_pool.cache_clear)


@contextlib.contextmanager
def _word_if_slow(message: str) -> Iterator[None]:
    """A line on stderr if what is within takes more than a second."""
    timer = threading.Timer(1.0, print, [message], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
