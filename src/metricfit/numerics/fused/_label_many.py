"""The kernel for the label's probability among many classes, and for the loss of it."""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc, types

from metricfit.numerics.fused._hits import link_rows
from metricfit.numerics.fused._job import JOB, own_rows, own_totals, pointer_to, row_arrays
from metricfit.numerics.fused._lattice import TABLE
from metricfit.numerics.fused._log_win import log_win
from metricfit.numerics.fused._options import ENTRY
from metricfit.numerics.fused._threads import n_threads, thread


@cfunc(types.void(JOB), **ENTRY)
def kernel(pointer):
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job, thread(), n_threads())
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    totals, with_gradient = own_totals(job, part), job.with_gradient != 0
    log_cdf = carray(pointer_to(job.log_cdf), TABLE, np.float64)
    ratio = carray(pointer_to(job.ratio), TABLE, np.float32)
    totals[2] = log_win(
        scores,
        labels,
        scale,
        job.scale_step,
        job.margin,
        job.ignore_index,
        with_gradient,
        log_p,
        by_scores,
        by_scale,
        log_cdf,
        ratio,
        lo,
        hi,
    )
    link_rows(job, scores, labels, log_p, by_scores, lo, hi, totals)
