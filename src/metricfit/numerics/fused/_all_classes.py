"""The kernel for every class's probability and its derivative."""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc, types

from metricfit.numerics.fused._job import JOB, own_rows, pointer_to, row_arrays
from metricfit.numerics.fused._lattice import TABLE
from metricfit.numerics.fused._options import ENTRY
from metricfit.numerics.fused._threads import n_threads, thread
from metricfit.numerics.fused._win_all import win_all


@cfunc(types.void(JOB), **ENTRY)
def kernel(pointer):
    job = carray(pointer, 1)[0]
    lo, hi, _ = own_rows(job, thread(), n_threads())
    scores, _, scale, _, by_scores, by_scale = row_arrays(job)
    incoming = carray(pointer_to(job.incoming), scores.shape, np.float32)
    log_cdf = carray(pointer_to(job.log_cdf), TABLE, np.float64)
    ratio = carray(pointer_to(job.ratio), TABLE, np.float32)
    win_all(incoming, scores, scale, job.with_gradient != 0, by_scores, by_scale, log_cdf, ratio, lo, hi)
