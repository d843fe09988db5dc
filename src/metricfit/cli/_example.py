"""Data for whoever has none at hand: they ship with scikit-learn, so nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metricfit.data import Task


def an_eight() -> Task:
    """1,797 pictures of handwritten digits, 8 by 8 pixels: which of them are an eight? 174 are."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_digits

    from metricfit.data import Task

    digits = load_digits()
    features = pa.table(dict(zip(digits.feature_names, digits.data.T, strict=True)))
    return Task(features, np.where(digits.target == 8, "eight", "another"), "digit", 0)
