"""What a user is told about compiled code."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

_COMPILING = "metricfit: compiling its fast kernels, once; `python -m metricfit.warmup` does it ahead of time"


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """A line on stderr if what is within takes more than two seconds: reading the cache takes one."""
    timer = threading.Timer(2.0, print, [_COMPILING], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
