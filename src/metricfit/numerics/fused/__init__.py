"""The fused CPU kernels behind torch tensors: compiled on first use, rows split over torch's threads.

They need numba, an extra: ``pip install 'metricfit[fast]'``. Without it everything works by the portable form, and this is
said once. ``METRICFIT_FUSED=0`` in the environment turns them off.
"""

from __future__ import annotations

import contextlib
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
    try:
        with _word_if_slow(_COMPILING):
            from metricfit.numerics.fused import _kernels

            _kernels.compile_label()
    except ImportError:
        _logger.warning("metricfit: normal noise is many times faster on the CPU with numba: pip install 'metricfit[fast]'")
        return None
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
    scores, n_rows, kernel = scores.contiguous(), len(scores), kernels()
    log_p, by_scale = torch.empty(n_rows), torch.empty(n_rows)
    by_scores = torch.empty_like(scores) if with_gradient else torch.empty(1, 0)
    inputs = (scores.numpy(), labels.contiguous().numpy(), scale.contiguous().numpy(), _number(margin), with_gradient)
    outputs = (log_p.numpy(), by_scores.numpy(), by_scale.numpy())
    _over_rows(scores, lambda lo, hi: kernel.log_win(*inputs, *outputs, *kernel.LABEL_TABLES, lo, hi))
    return (log_p, by_scores, by_scale) if with_gradient else (log_p, torch.empty(0), torch.empty(0))


def win_all(scores: Tensor, scale: Tensor) -> Tensor:
    """Every class's probability to come out largest, (n, k)."""
    scores, kernel = scores.contiguous(), all_kernels()
    wins, unused = torch.empty_like(scores), np.empty(len(scores), np.float32)
    inputs = (scores.numpy(), scores.numpy(), scale.contiguous().numpy(), False)
    _over_rows(scores, lambda lo, hi: kernel.win_all(*inputs, wins.numpy(), unused, *kernel.ALL_TABLES, lo, hi))
    return wins


def win_all_gradient(incoming: Tensor, scores: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """The derivative of ``sum(incoming * win_all)`` by the scores (n, k) and by the scale (n,)."""
    scores, kernel = scores.contiguous(), all_kernels()
    by_scores, by_scale = torch.empty_like(scores), torch.empty(len(scores))
    inputs = (incoming.contiguous().numpy(), scores.numpy(), scale.contiguous().numpy(), True)
    outputs = (by_scores.numpy(), by_scale.numpy())
    _over_rows(scores, lambda lo, hi: kernel.win_all(*inputs, *outputs, *kernel.ALL_TABLES, lo, hi))
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
    kernel, (n_rows, n_classes) = kernels(), scores.shape
    gradient = torch.empty_like(scores) if with_gradient else torch.empty(1, 0)
    values, slopes, used = scores.numpy(), gradient.numpy(), np.empty(n_rows, np.int64)
    n_used = kernel.used_labels(labels.numpy(), n_classes, ignore_index, used)
    if n_used < 0:
        return math.nan, gradient
    centre, variance, n_scores = 0.0, 1.0, 2
    if normalize and n_rows:
        shift = float(values[0, 0])
        parts = _over_rows(scores, lambda lo, hi: kernel.moments(values, used, shift, lo, hi))
        n_scores, total, squares = map(sum, zip(*parts, strict=True))
        offset = total / max(n_scores, 1)
        centre, variance = shift + offset, max(squares - total * offset, 0.0) / max(n_scores - 1, 1)
    if not math.isfinite(centre) or not (normalize or kernel.all_finite(values)):
        return math.nan, gradient
    # normalised scores are the raw ones with a wider noise and a wider margin: only differences count
    constant = variance <= (4.0 * _EPS * centre) ** 2 + _TINY
    spread = 1.0 if constant else math.sqrt(variance)
    factor = 1.0 / max(n_used, 1) if mean else 1.0
    widths, log_p, unused = np.empty((3, n_rows), np.float32)
    widths[:] = scale * spread
    inputs = (values, used, widths, _number(margin) * spread, with_gradient)

    def rows(lo: int, hi: int) -> tuple[float, float]:
        kernel.log_win(*inputs, log_p, slopes, unused, *kernel.LABEL_TABLES, lo, hi)
        return kernel.link_rows(values, used, *link, factor, with_gradient, slopes, log_p, lo, hi)

    parts = _over_rows(scores, rows)
    if normalize and with_gradient and not constant:
        pull = -sum(dot for _, dot in parts) / (variance * (n_scores - 1))
        _over_rows(scores, lambda lo, hi: kernel.add_spread(slopes, values, used, centre, pull, lo, hi))
    return factor * sum(loss for loss, _ in parts), gradient


def _number(margin: float | None) -> float:
    return math.inf if margin is None else float(margin)


def _over_rows(scores: Tensor, kernel: Callable[[int, int], Any]) -> list[Any]:
    """Call a kernel for all rows, from where to where, in several threads if there is enough to do; what it returned."""
    n_rows, n_parts = scores.shape[0], scores.numel() // _SHARE
    if n_parts < 2 or (n_parts := min(n_parts, n_rows, torch.get_num_threads())) < 2:
        return [kernel(0, n_rows)]
    first, *others = pairwise(n_rows * part // n_parts for part in range(n_parts + 1))
    waiting = [_pool().submit(kernel, *part) for part in others]
    return [kernel(*first), *(other.result() for other in waiting)]


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
