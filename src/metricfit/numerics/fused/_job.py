"""What a kernel is told: one C structure, so that a call costs the same however many arrays it is about.

A structure crosses from Python by its address, which is also all that OpenMP hands to its threads.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numba import carray, from_dtype, njit, types
from numba.extending import intrinsic

from metricfit.numerics.fused._options import INNER

COUNT, SPREAD = range(2)  # stages of ``_stages``
NO_LINK, LINEAR, LOG, LEAKY, POWER = range(-1, 4)
TOTALS = 5  # numbers that each thread returns
LEFT_OVER = 1.0  # no logarithm of a probability: a row for ``_label_exact``

_ADDRESSES = ("scores", "labels", "scale", "incoming", "log_p", "by_scores", "by_scale", "log_cdf", "ratio", "totals")
_COUNTS = ("n_rows", "n_classes", "part", "n_parts", "stage", "scale_step", "ignore_index", "link", "with_gradient")
_NUMBERS = ("margin", "link_parameter", "factor", "shift", "pull")


class Job(ctypes.Structure):
    """Addresses of contiguous arrays (int64 labels, float64 log_cdf and totals, all others float32), sizes and numbers."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in _ADDRESSES + _COUNTS),
        *((name, ctypes.c_double) for name in _NUMBERS),
    ]


JOB = types.CPointer(from_dtype(np.dtype(Job)))


@intrinsic
def pointer_to(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@njit(**INNER)
def own_rows(job, thread, n_threads):
    """The rows of this thread, and its place among all."""
    part, n_parts = job.part + thread, job.n_parts * n_threads
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
