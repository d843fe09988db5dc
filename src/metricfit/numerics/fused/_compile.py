"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cfunc, njit

from metricfit.numerics.fused import message_if_slow

_ENTRY: dict[str, Any] = {"nopython": True, "error_model": "numpy"}
# For functions that only kernels call; without what a call from Python needs they compile sooner.
INNER: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
FAST: dict[str, Any] = {**INNER, "fastmath": {"reassoc", "contract", "nsz", "arcp"}}  # NaN and inf keep their meaning


def entry(function: Callable[..., None], signature: Any) -> Any:
    """The compiled function, with all that it calls; from disk if it is there. Its ``address`` holds as long as it lives."""
    with message_if_slow():
        return cfunc(signature, cache=_cacheable(), **_ENTRY)(function)


def _cacheable() -> bool:
    """Whether numba finds a folder to keep compiled code in."""

    def probe() -> None:
        pass

    try:
        njit(cache=True)(probe)
    except RuntimeError:
        return False
    return True
