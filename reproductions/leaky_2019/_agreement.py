"""Our number beside the published one: do they agree, as far as the deviations of both tell?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reproductions._markdown import mean_and_std

LEGEND = "= agrees with the paper: within two standard errors, from the deviations of both. ↑ ↓ does not."


def beside_published(reported: tuple[float, float], n_reported: int, values: Sequence[float]) -> str:
    r"""Mean and deviation of ours, and = if :math:`|m - m'| \le 2 \sqrt{s^2/n + s'^2/n'}`, where a dash is the paper's.

    With deviations of 1 and ten folds each the limit is 0.89:

    >>> [beside_published((20.0, 1.0), 10, [mean - 1.0, mean + 1.0] * 5) for mean in (20.8, 21.0)]
    ['20.80 ± 1.00 =', '21.00 ± 1.00 ↑']
    """
    mean, deviation = reported
    off = float(np.mean(values)) - mean
    reach = 2.0 * math.sqrt(float(np.var(values)) / len(values) + deviation**2 / n_reported)
    return f"{mean_and_std(values)} {'=' if abs(off) <= reach else '↑' if off > 0 else '↓'}"
