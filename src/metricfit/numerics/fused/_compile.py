"""Compilation of the kernels, and their cache on disk.

Numba considers cached code valid as long as the file that defines the kernel is unchanged. But the code of a kernel contains
all functions that it calls, from several files. So the name in the cache contains a hash of all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from numba import cfunc, njit

from metricfit.numerics.fused import message_if_slow

_KERNEL: dict[str, Any] = {"nopython": True, "error_model": "numpy"}
# For functions that only kernels call. Without wrappers for calls from Python they compile faster. They are inlined: otherwise
# a kernel that is loaded from disk may call another compiled copy of them, which rounds differently.
INNER: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
FAST: dict[str, Any] = {**INNER, "fastmath": {"reassoc", "contract", "nsz", "arcp"}}  # NaN and inf keep their meaning


def compile_kernel(function: Callable[..., None], signature: Any) -> Any:
    """The compiled kernel, from disk if it is there. Its ``address`` is valid as long as the object exists."""
    function.__qualname__ = f"metricfit_{_SOURCES}_{function.__name__}"  # numba names its files after it
    with message_if_slow():
        compiled = cfunc(signature, cache=_FOLDER is not None, **_KERNEL)(function)
    if _FOLDER is not None and not compiled.cache_hits:
        for path in Path(_FOLDER).glob("*.metricfit_*.nb[ic]"):
            if _SOURCES not in path.name:  # from older sources
                with contextlib.suppress(OSError):
                    path.unlink()
    return compiled


def _hash_of_sources() -> str:
    sources = (file for file in resources.files("metricfit.numerics.fused").iterdir() if file.name.endswith(".py"))
    hashes = [hashlib.sha256(file.read_bytes()).digest() for file in sorted(sources, key=lambda file: file.name)]
    return hashlib.sha256(b"".join(hashes)).hexdigest()[:16]


def _folder() -> str | None:
    """Numba's cache folder for this package, or None if it can write to none."""

    def probe() -> None:
        pass

    try:
        return njit(cache=True)(probe).stats.cache_path
    except RuntimeError:
        return None


_SOURCES, _FOLDER = _hash_of_sources(), _folder()
