"""The kernel for what the loss needs of the whole batch, before and after the rows."""

from __future__ import annotations

from numba import carray, cfunc, types

from metricfit.numerics.fused._hits import add_spread, count
from metricfit.numerics.fused._job import COUNT, JOB, own_rows, own_totals, row_arrays
from metricfit.numerics.fused._options import ENTRY
from metricfit.numerics.fused._threads import n_threads, thread


@cfunc(types.void(JOB), **ENTRY)
def kernel(pointer):
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job, thread(), n_threads())
    scores, labels, _, _, by_scores, _ = row_arrays(job)
    if job.stage == COUNT:
        count(scores, labels, job.ignore_index, lo, hi, own_totals(job, part))
    else:
        add_spread(by_scores, scores, labels, job.ignore_index, job.shift, job.pull, lo, hi)
