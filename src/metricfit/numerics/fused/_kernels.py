"""Everything that gets compiled, in one place."""

from __future__ import annotations

import numpy as np

from metricfit.numerics.fused._exact_row import UNIT_NODES, UNIT_WEIGHTS
from metricfit.numerics.fused._hits import LINEAR, add_spread, all_finite, link_rows, moments, used_labels
from metricfit.numerics.fused._lattice import LOG_CDF, RATIO
from metricfit.numerics.fused._log_win import log_win
from metricfit.numerics.fused._win_all import win_all

LABEL_TABLES = (LOG_CDF, RATIO, UNIT_NODES, UNIT_WEIGHTS)
ALL_TABLES = (LOG_CDF, RATIO)

__all__ = [
    "ALL_TABLES",
    "LABEL_TABLES",
    "add_spread",
    "all_finite",
    "link_rows",
    "log_win",
    "moments",
    "used_labels",
    "win_all",
]


def compile_label() -> None:
    """Compile what the label needs for the types it is called with, or load it from the cache, by calls with no rows to do."""
    scores, labels = np.zeros((1, 3), np.float32), np.zeros(1, np.int64)
    widths, losses, dots = np.ones(1, np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32)
    used_labels(labels, 3, -100, labels)
    all_finite(scores)
    moments(scores, labels, 0.0, 0, 0)
    log_win(scores, labels, widths, np.inf, True, losses, scores, dots, *LABEL_TABLES, 0, 0)
    link_rows(scores, labels, LINEAR, 0.0, 1.0, True, scores, losses, 0, 0)
    add_spread(scores, scores, labels, 0.0, 0.0, 0, 0)


def compile_all_classes() -> None:
    """The same for all classes at once."""
    scores, widths = np.zeros((1, 3), np.float32), np.ones(1, np.float32)
    win_all(scores, scores, widths, True, scores, widths, *ALL_TABLES, 0, 0)
