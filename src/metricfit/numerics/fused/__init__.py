"""The fused CPU kernels for float32: whether there are any, and where.

They need numba, an extra: ``pip install 'metricfit[fast]'``. Without it everything works by the portable form, and this is
said once. ``METRICFIT_FUSED=0`` in the environment turns them off.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

_logger = logging.getLogger("metricfit")
_off = threading.local()
_COMPILING = "metricfit: compiling its fast kernels, once; `python -m metricfit.warmup` does it ahead of time"


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
    """The module with the functions of the kernels, or None where there is no numba."""
    if os.environ.get("METRICFIT_FUSED") == "0":
        return None
    try:
        with message_if_slow():
            from metricfit.numerics.fused import _calls
    except ImportError:
        _logger.warning("metricfit: normal noise is many times faster on the CPU with numba: pip install 'metricfit[fast]'")
        return None
    return _calls


@contextlib.contextmanager
def message_if_slow() -> Iterator[None]:
    """A line on stderr if what is within takes more than two seconds: reading the cache takes one."""
    timer = threading.Timer(2.0, print, [_COMPILING], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
