"""The kernel for the label's probability among few classes, and for the loss of it."""

from __future__ import annotations

from numba import carray, cfunc, types

from metricfit.numerics.fused._few import log_win_few
from metricfit.numerics.fused._hits import link_rows
from metricfit.numerics.fused._job import JOB, own_rows, own_totals
from metricfit.numerics.fused._options import ENTRY
from metricfit.numerics.fused._threads import n_threads, thread


@cfunc(types.void(JOB), **ENTRY)
def kernel(pointer):
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job, thread(), n_threads())
    totals = own_totals(job, part)
    totals[2] = log_win_few(job, lo, hi)
    link_rows(job, lo, hi, totals)
