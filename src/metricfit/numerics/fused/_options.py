"""How the kernels are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit


def _cacheable() -> bool:
    """Whether numba finds a folder to keep compiled code in."""

    def probe() -> None:
        pass

    try:
        njit(cache=True)(probe)
    except RuntimeError:
        return False
    return True


_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}  # NaN and inf keep their meaning

# Called from outside, and kept on disk together with all that they call.
ENTRY: dict[str, Any] = {"nopython": True, "cache": _cacheable(), "error_model": "numpy"}
# Called by other kernels only; without what a call from Python needs they compile sooner.
INNER: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
FAST: dict[str, Any] = {**INNER, "fastmath": _FASTMATH}
