"""The strongest effects of the linear model: what pushes a row towards a class, and by how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """What a feature does to the log-odds of a class: per standard deviation of a number, or where a category is present."""

    feature: str  # "age", "colour = red", "income is missing", "remark: late"
    label: str  # the class; of two the positive one, or the second
    mean: float  # over the splits of the first repeat
    deviation: float
