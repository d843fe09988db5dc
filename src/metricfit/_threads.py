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
    """Limit every library to one thread; the limit ends with the last user of it.

    Torch has a number of threads for every thread of Python, so each user limits and frees its own.
    """
    with _Limit.lock:
        if _Limit.users == 0:
            _Limit.before, _Limit.limits = torch.get_num_threads(), threadpool_limits(1)
        _Limit.users += 1
    depth = _Limit.depth()
    _Limit.own.depth = depth + 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.own.depth, _Limit.users = depth, _Limit.users - 1
            if _Limit.users == 0:
                _Limit.limits.restore_original_limits()
            if depth == 0:
                torch.set_num_threads(_Limit.before)


def free_threads() -> None:
    """Give torch in this thread as many threads as it has while no fit runs; a new thread inherits the limit of others."""
    with _Limit.lock:
        if _Limit.users and _Limit.depth() == 0:
            torch.set_num_threads(_Limit.before)


class _Limit:
    """How many fits run on one thread now, how many of these in this thread, and what to go back to."""

    lock, users, before = threading.Lock(), 0, 1
    limits: Any = None
    own = threading.local()

    @classmethod
    def depth(cls) -> int:
        return getattr(cls.own, "depth", 0)
