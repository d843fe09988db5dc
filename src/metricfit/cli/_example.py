"""Example data that ship with scikit-learn, so that nothing is downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metricfit.data import LabelledTable


def digits_example() -> LabelledTable:
    """1,797 images of handwritten digits, 8 by 8 pixels; 174 of them are an eight."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_digits

    from metricfit.data import LabelledTable

    digits = load_digits()
    features = pa.table(dict(zip(digits.feature_names, digits.data.T, strict=True)))
    return LabelledTable(features, np.where(digits.target == 8, "eight", "another"), "digit", 0)
