"""The fused CPU kernels for float32, where they are available.

They need numba, an extra: ``pip install 'metricfit[fast]'``. Without it the portable form is used and a warning logged once.
``METRICFIT_FUSED=0`` in the environment turns them off.
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

__all__ = ["covers", "disable", "kernels", "message_if_slow"]

_logger = logging.getLogger("metricfit")
_off = threading.local()
SLOW = 2.0  # seconds before a message; reading the cache takes one
_COMPILING = "metricfit: compiling the fast kernels (only once); `python -m metricfit.warmup` compiles them ahead of time"


@contextlib.contextmanager
def disable() -> Iterator[None]:
    """Use the portable form inside the block, in this thread: to compare the two."""
    before, _off.value = getattr(_off, "value", False), True
    try:
        yield
    finally:
        _off.value = before


def covers(scores: Tensor) -> bool:
    """Whether the kernels are available and support these scores."""
    plain = scores.is_cpu and scores.dtype == torch.float32 and not getattr(_off, "value", False)
    return plain and kernels() is not None


@cache
def kernels() -> Any:
    """The module that calls the kernels, or None if they are turned off or numba is missing."""
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
    """Print a line on stderr, once, if the block takes more than two seconds."""
    timer = threading.Timer(SLOW, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _announce() -> None:
    print(_COMPILING, file=sys.stderr, flush=True)
