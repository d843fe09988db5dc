"""The data: sizes of the classes, and which columns of a wide table stand in the open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from metricfit.comparison import Comparison
from metricfit.report._svg import Strip

if TYPE_CHECKING:
    from metricfit.profile import ColumnProfile, TableProfile  # which reads files, as a page need not

MAX_OPEN = 30  # columns without a note
MAX_NOTED = 60
MAX_FOLDED = 500  # of the rest; the others are only counted
MAX_CLASSES = 12


@dataclass(frozen=True)
class ClassSize:
    label: str
    rows: int
    share: float
    strip: Markup


def class_sizes(comparison: Comparison) -> list[ClassSize]:
    """The classes in their order, or the largest first if there are many."""
    counts = comparison.class_counts
    many = len(counts) > MAX_CLASSES
    order = np.argsort(-counts, kind="stable") if many else np.arange(len(counts))
    sizes = []
    for index in order.tolist():
        label, share = str(comparison.classes[index]), counts[index] / counts.sum()
        strip = Strip(0.0, float(counts.max()), f"{label}: {counts[index]:,} rows, {share:.1%}")
        strip.bar(0.0, float(counts[index]), "size", 12.0)
        sizes.append(ClassSize(label, int(counts[index]), float(share), strip.svg()))
    return sizes


def open_and_folded(profile: TableProfile) -> tuple[list[ColumnProfile], list[ColumnProfile]]:
    """Columns that stand in the open, and the rest. Of a wide table: those with a note, then the first of the others."""
    if len(profile.columns) <= MAX_OPEN:
        return list(profile.columns), []
    noted = [column for column in profile.columns if column.note]
    others = [column for column in profile.columns if not column.note]
    return [*noted[:MAX_NOTED], *others[:MAX_OPEN]], [*noted[MAX_NOTED:], *others[MAX_OPEN:]]
