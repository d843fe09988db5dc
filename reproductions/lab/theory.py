r"""Batch sizes: how far the confusion matrix of a batch, and a metric of it, can be from that of all rows.

:func:`deviation` and :func:`batch_size` are Theorems 5.8 and 5.9 of Li et al. 2024, arXiv 2405.20954 (EAST). They hold for
hard and for soft assignments, because all entries of a row's matrix lie in [0, 1]. Matrices are divided by their number of
rows, and the rows of a batch are drawn independently. :func:`f1_batch_size` is our corollary of Theorem 5.8, which the paper
does not state.

The bounds are safe, not sharp. They ignore that the entries of a rare class are small and vary little.
"""

from __future__ import annotations

import math

from metricfit._checks import check_count, check_number

__all__ = ["batch_size", "deviation", "f1_batch_size"]

_MOST = 2**53  # floats have all whole numbers up to here


def deviation(n_rows: int, n_classes: int = 2, *, delta: float = 0.05, lipschitz: float = 1.0) -> float:
    r"""With probability 1 - delta, no entry of a batch's confusion matrix is farther than this from that of all rows.

    .. math:: \lVert \hat C_n - C \rVert_{\max} \le \sqrt{\log(2 d^2 / \delta) / (2 n)}

    with :math:`n` rows and :math:`d` classes: Hoeffding's inequality for each of the :math:`d^2` entries (Theorem 5.8). For a
    metric that changes by at most :math:`L` times the largest change of an entry, the bound is :math:`L` times as large
    (Theorem 5.9). Accuracy, the sum of the diagonal, has :math:`L = d`.

    Theorem 5.9 asks for a metric that is Lipschitz and does not change when a matrix is scaled. On all matrices only a
    constant is both: scaling brings two matrices as near to each other as one likes and leaves their values. On matrices that
    sum to one, as here, accuracy is. F1 and MCC are not: they jump where a class has neither rows nor answers. For F1,
    :func:`f1_batch_size` has a bound.

    Args:
        n_rows: rows of the batch.
        n_classes: number of classes.
        delta: probability that the bound fails.
        lipschitz: 1 for the matrix itself, or the metric's :math:`L`.

    >>> import math
    >>> round(deviation(200, 2, delta=8 * math.exp(-4)), 12)    # log(8 / delta) is 4, so this is sqrt(4 / 400)
    0.1
    """
    n_rows = check_count(n_rows, "n_rows", _MOST)
    return _check_lipschitz(lipschitz) * math.sqrt(_log_term(n_classes, delta) / (2.0 * n_rows))


def batch_size(deviation: float, n_classes: int = 2, *, delta: float = 0.05, lipschitz: float = 1.0) -> int:
    r"""The smallest batch size whose :func:`deviation` is no larger than this.

    .. math:: n = \lceil L^2 \log(2 d^2 / \delta) / (2 t^2) \rceil

    Args:
        deviation: :math:`t`, the largest deviation of an entry, or of the metric, that is allowed.
        n_classes, delta, lipschitz: as in :func:`deviation`.

    >>> import math
    >>> batch_size(0.1, 2, delta=8 * math.exp(-4))      # 4 / (2 * 0.01)
    200
    >>> batch_size(0.01), batch_size(0.01, 10), batch_size(0.01, lipschitz=2)
    (25376, 41471, 101504)
    """
    t = check_number(deviation, "deviation", 0.0, open_low=True)
    exact = _log_term(n_classes, delta) * (_check_lipschitz(lipschitz) / t) ** 2 / 2.0
    return max(1, math.ceil(exact * (1.0 - 1e-12)))  # rounding errors do not add a row


def f1_batch_size(deviation: float, share: float, n_classes: int = 2, *, delta: float = 0.05) -> int:
    r"""The batch size that keeps the F1 of a class within this deviation, where ``share`` of all rows are of the class.

    The EAST paper has no such bound, because its Theorem 5.9 does not apply to F1 (see :func:`deviation`). This one is our
    corollary of its Theorem 5.8. Let no entry deviate by more than :math:`\varepsilon`. F1 is :math:`N / D` with
    :math:`N = 2 c_{kk}` and :math:`D` the true plus the predicted rows of the class, so :math:`D \ge \pi`, its share. Then
    :math:`\hat F - F = ((\hat N - N) - F (\hat D - D)) / \hat D`, and

    .. math:: |\hat F - F| \le \frac{2 (d - 1) \varepsilon}{\pi - 2 d \varepsilon},

    which is :math:`t` for :math:`\varepsilon = t \pi / (2 (d - 1) + 2 d t)`. Macro F1 obeys it with the share of the rarest
    class.

    >>> f1_batch_size(0.5, 0.4) == batch_size(0.05)     # 0.5 * 0.4 / (2 + 2)
    True
    >>> f1_batch_size(0.05, 0.2394), f1_batch_size(0.05, 0.0232)    # adult, mammography: more rows than they have
    (85720, 9127468)
    """
    t = check_number(deviation, "deviation", 0.0, 1.0, open_low=True)
    check_number(share, "share", 0.0, 1.0, open_low=True)
    n_classes = _check_classes(n_classes)
    return batch_size(t * share / (2.0 * (n_classes - 1) + 2.0 * n_classes * t), n_classes, delta=delta)


def _log_term(n_classes: int, delta: float) -> float:
    if check_number(delta, "delta", 0.0, open_low=True) >= 1.0:
        raise ValueError(f"`delta` should be less than 1, got {delta!r}: it is the probability that the bound fails.")
    return math.log(2.0 * _check_classes(n_classes) ** 2 / delta)


def _check_classes(n_classes: int) -> int:
    return int(check_number(check_count(n_classes, "n_classes", _MOST), "n_classes", 2))


def _check_lipschitz(lipschitz: float) -> float:
    return check_number(lipschitz, "lipschitz", 0.0, open_low=True)
