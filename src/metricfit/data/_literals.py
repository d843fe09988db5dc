"""Cells as text: which are missing values, and which are numbers."""

from __future__ import annotations

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None")


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number, with a decimal point or comma."""
    try:
        return abs(float(cell.replace(",", "."))) < float("inf")
    except ValueError:
        return False
