"""The argument of a kernel, and the threads that it runs in.

A kernel takes one C structure, so the cost of a call does not depend on the number of arrays. Python passes the address of the
structure, which is also all that OpenMP passes to its threads.

Waking a sleeping thread costs as much as a thousand rows. Torch's OpenMP threads are awake, because they wait for a while
after every operator before they go to sleep, and starting them costs a microsecond. So kernels run on torch's own copy of GNU
OpenMP. On other systems, and in a forked child, which has lost OpenMP's threads, they run in a ThreadPoolExecutor.
"""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llvmlite import binding
from numba import carray, cfunc, from_dtype, njit, types
from numba.extending import intrinsic

from metricfit.numerics.fused._compile import INNER

COUNT, SPREAD = range(2)  # stages of the kernel of that name
NO_LINK, LINEAR, LOG, LEAKY, POWER = range(-1, 4)
TOTALS = 5  # numbers that each thread returns
LEFT_OVER = 1.0  # not a log-probability, so it marks a row for the kernel ``label_exact``
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_ADDRESSES = ("scores", "labels", "scale", "incoming", "log_p", "by_scores", "by_scale", "log_cdf", "ratio", "totals")
_COUNTS = ("n_rows", "n_classes", "part", "n_parts", "stage", "scale_step", "ignore_index", "link", "with_gradient")
_NUMBERS = ("margin", "link_parameter", "factor", "shift", "pull")


class Job(ctypes.Structure):
    """Addresses of contiguous arrays (int64 labels, float64 log_cdf and totals, all others float32), sizes and numbers."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in _ADDRESSES + _COUNTS),
        *((name, ctypes.c_double) for name in _NUMBERS),
    ]


SIGNATURE = types.void(types.CPointer(from_dtype(np.dtype(Job))))  # of every kernel


def _open_mp() -> Any:
    """Torch's copy of GNU OpenMP, or None."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*")):
        library = ctypes.CDLL(str(path))
        library.GOMP_parallel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        library.GOMP_parallel.restype = None
        return library
    return None


_open_mp_library = _open_mp()
_forked = False


def _symbols() -> dict[str, int]:
    """Addresses of the functions by which compiled and cached code finds its thread's number and their count."""
    if _open_mp_library is not None:
        functions = (_open_mp_library.omp_get_thread_num, _open_mp_library.omp_get_num_threads)
        addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    else:  # always thread 0 of 1
        addresses = [cfunc(types.int32())(function).address for function in (lambda: 0, lambda: 1)]
    return dict(zip(("metricfit_thread", "metricfit_threads"), addresses, strict=True))


for _name, _address in _symbols().items():
    binding.add_symbol(_name, _address)
thread = types.ExternalFunction("metricfit_thread", types.int32())
n_threads = types.ExternalFunction("metricfit_threads", types.int32())


@intrinsic
def pointer_to(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@njit(**INNER)
def own_rows(job):
    """Start and end of the rows of this thread, and its index."""
    part, n_parts = job.part + thread(), job.n_parts * n_threads()
    return job.n_rows * part // n_parts, job.n_rows * (part + 1) // n_parts, part


@njit(**INNER)
def row_arrays(job):
    """Scores, labels, scale, log p and its derivatives by scores and scale."""
    shape, n_rows = (job.n_rows, job.n_classes), (job.n_rows,)
    return (
        carray(pointer_to(job.scores), shape, np.float32),
        carray(pointer_to(job.labels), n_rows, np.int64),
        carray(pointer_to(job.scale), n_rows, np.float32),
        carray(pointer_to(job.log_p), n_rows, np.float32),
        carray(pointer_to(job.by_scores), shape, np.float32),
        carray(pointer_to(job.by_scale), n_rows, np.float32),
    )


@njit(**INNER)
def own_totals(job, part):
    return carray(pointer_to(job.totals), (part + 1, TOTALS), np.float64)[part]


def run(kernel: int, job: Job, n_threads: int) -> list[float]:
    """Run the kernel at this address for all rows; returns the totals, summed over threads."""
    totals = (ctypes.c_double * (TOTALS * n_threads))()
    job.totals = ctypes.addressof(totals)
    if n_threads == 1:
        _KERNEL(kernel)(ctypes.addressof(job))
        return list(totals)
    if _open_mp_library is not None and not _forked:
        _open_mp_library.GOMP_parallel(kernel, ctypes.addressof(job), n_threads, 0)
    else:
        jobs = []
        for part in range(n_threads):
            jobs.append(Job.from_buffer_copy(job))
            jobs[part].part, jobs[part].n_parts = part, n_threads
        list(_pool().map(_KERNEL(kernel), map(ctypes.addressof, jobs)))
    return [sum(totals[column::TOTALS]) for column in range(TOTALS)]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="metricfit")


def _lose_threads() -> None:
    """A forked child has none of its parent's threads."""
    global _forked
    _forked = True
    _pool.cache_clear()


os.register_at_fork(after_in_child=_lose_threads)
