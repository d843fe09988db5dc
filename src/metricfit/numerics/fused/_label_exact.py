"""The kernel for the rows that those for the label left over."""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc, types

from metricfit.numerics.fused._exact_row import EXACT_ORDER, log_win_exact
from metricfit.numerics.fused._hits import link_row
from metricfit.numerics.fused._job import JOB, LEFT_OVER, NO_LINK, own_rows, own_totals, row_arrays
from metricfit.numerics.fused._options import ENTRY
from metricfit.numerics.fused._threads import n_threads, thread


@cfunc(types.void(JOB), **ENTRY)
def kernel(pointer):
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job, thread(), n_threads())
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    totals, with_gradient = own_totals(job, part), job.with_gradient != 0
    gaps, nodes, weights = np.empty(job.n_classes), np.empty(EXACT_ORDER), np.empty(EXACT_ORDER)
    for n in range(lo, hi):
        if log_p[n] == LEFT_OVER:
            row, sigma, out = scores[n], np.float64(scale[n * job.scale_step]), by_scores[n]
            log_p[n], slope = log_win_exact(row, labels[n], sigma, job.margin, with_gradient, gaps, nodes, weights, out)
            if with_gradient:
                by_scale[n] = slope
            if job.link != NO_LINK:
                link_row(job, row, log_p[n], out, totals)
