"""One thread for all libraries: sums in the same order, and so the same bits, whatever else runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit every library to one thread; the limit ends with the last user of it."""
    with _Limit.lock:
        if _Limit.users == 0:
            _Limit.before, _Limit.limits = torch.get_num_threads(), threadpool_limits(1)
            torch.set_num_threads(1)
        _Limit.users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.users -= 1
            if _Limit.users == 0:
                _Limit.limits.restore_original_limits()
                torch.set_num_threads(_Limit.before)


class _Limit:
    """How many fits run on one thread now, and what to go back to after the last."""

    lock, users, before = threading.Lock(), 0, 1
    limits: Any = None
