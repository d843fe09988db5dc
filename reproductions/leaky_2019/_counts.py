"""What a tagger got right, sentence by sentence, and how far a difference hangs on the sentences that were drawn.

A sentence has three counts: what is right, what was predicted, and what there is to find. For spans these give F1. For words
or nodes the last two are equal, and F1 is accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]  # (sentences, 3): right, predicted, true
Classes = Sequence[NDArray[np.int64]]  # for each sentence, the class of every word or node


def item_counts(predicted: Classes, true: Classes) -> Counts:
    """Of all words or nodes."""
    pairs = zip(predicted, true, strict=True)
    return np.array([((ours == theirs).sum(), len(ours), len(theirs)) for ours, theirs in pairs], np.int64)


def last_counts(predicted: Classes, true: Classes) -> Counts:
    """Of the last item alone: the root of a tree."""
    return item_counts([ours[-1:] for ours in predicted], [theirs[-1:] for theirs in true])


def span_counts(predicted: Classes, true: Classes, tags: Sequence[str]) -> Counts:
    """Of the spans that BIO tags mark; ``tags`` are the names of the classes."""
    rows = []
    for ours, theirs in zip(predicted, true, strict=True):
        found, wanted = (spans([tags[one] for one in classes]) for classes in (ours, theirs))
        rows.append((len(found & wanted), len(found), len(wanted)))
    return np.array(rows, np.int64)


def spans(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Kind, first index and the index after the last one of every span, by the rules of CoNLL's scorer.

    A span begins at B, or at an I that continues none of its kind.

    >>> sorted(spans(["B-person", "I-person", "O", "I-group", "B-group"]))
    [('group', 3, 4), ('group', 4, 5), ('person', 0, 2)]
    """
    found, kind, start = set(), "", 0
    for index, tag in enumerate([*tags, "O"]):
        prefix, _, new_kind = tag.partition("-")
        if kind and (prefix != "I" or new_kind != kind):
            found.add((kind, start, index))
            kind = ""
        if new_kind and not kind:
            kind, start = new_kind, index
    return found


def percent(counts: Counts) -> float:
    """F1 = 2 right / (predicted + true), which is accuracy if the last two are equal.

    >>> percent(np.array([[3, 4, 4], [0, 1, 1]]))
    60.0
    """
    right, predicted, true = counts.sum(0).tolist()
    return 200.0 * right / max(predicted + true, 1)


def gain_error(base: Counts, other: Counts) -> float:
    r"""Standard error of ``percent(other) - percent(base)`` if other sentences had been drawn, by the delta method.

    With :math:`F = 2 R / S`, :math:`S` predicted plus true, a sentence with :math:`r_i` and :math:`s_i` moves F by
    :math:`\psi_i = (2 r_i - F s_i) / S`. The variance of the difference is
    :math:`\frac{n}{n - 1} \sum_i (\psi_i - \psi'_i)^2`. Of two sentences with one word each, one is right by one method only:

    >>> gain_error(np.array([[1, 1, 1], [0, 1, 1]]), np.array([[1, 1, 1], [1, 1, 1]]))
    50.0
    """
    moved = _moves(other) - _moves(base)
    n = len(moved)
    return 100.0 * math.sqrt(n / max(n - 1, 1) * float(moved @ moved))


def _moves(counts: Counts) -> NDArray[np.float64]:
    both = counts[:, 1] + counts[:, 2]
    return (2.0 * counts[:, 0] - percent(counts) / 100.0 * both) / max(int(both.sum()), 1)
