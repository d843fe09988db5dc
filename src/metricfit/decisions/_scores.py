"""Read scores of any origin (probabilities, log-probabilities or logits, in one column or in one per class) and labels.

The rule looks at few things, so that it reads a batch of new rows as it read the rows that offsets were tuned on:

- Several columns are probabilities if every row sums to one, or to 100 for percentages. Rounded numbers, as files have them,
  may miss the sum by as much as rounding explains. All other columns are used as they are: the softmax and the largest score
  do not change if a number is added to a whole row, so log-probabilities and logits are read alike.
- One column is about the positive class of two. It holds probabilities if all values lie between 0 and 1, else logits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from metricfit._checks import check_option, is_missing
from metricfit._printable import did_you_mean
from metricfit._score_names import few, labels_of_names
from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import row_blocks

KINDS = ("auto", "probability", "log_probability", "logit")
LEAST_PROBABILITY = 1e-12  # whose logarithm is taken
_PRECISION = 2.0**-8  # by which the sum of a row of probabilities in bfloat16 may miss one
_UNITS = (0.1, 0.01, 0.001, 0.0001)  # of the last digit of rounded probabilities
_NOISE = 1e-6  # of arithmetic in float32
FEW_ROWS = 20  # that lie between 0 and 1 by chance


@dataclass(frozen=True)
class ScoreTable:
    """Scores (n, k), the larger the more likely: log-probabilities, or logits in the units they came in.

    ``kind`` is how they were read and ``sentence`` says so. ``is_sure`` is False for a column of few values between 0 and 1,
    which may be probabilities or logits.
    """

    values: Floats
    kind: str
    sentence: str
    is_sure: bool = True
    is_single: bool = False  # one column, about the positive class

    def hints(self) -> tuple[str, ...]:
        """A sentence for scores that look like predictions."""
        table = self.values[:, 1:] if self.is_single else self.values
        low, high = table.min(), table.max()
        if len(table) < FEW_ROWS or low == high or not ((table == low) | (table == high)).all():
            return ()
        return ("The scores take two values only, as predictions do. Pass probabilities: they leave more to decide.",)


def read_scores(scores: Any, kind: str = "auto") -> ScoreTable:
    """Scores from arrays, lists, data frames or tensors of shape (n,), (n, 1) or (n, k).

    >>> read_scores([0.9, 0.2]).sentence
    '2 rows of one column, read as probabilities of the positive class.'
    >>> read_scores([[0.33, 0.33, 0.33], [0.01, 0.9, 0.1]]).sentence            # the second row sums to 1.01
    '2 rows of 3 columns, read as probabilities rounded to 0.01.'
    >>> read_scores([[0.7, 1.2]]).kind
    'logit'
    """
    check_option(kind, "kind", KINDS)
    table = as_floats(scores)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.size:
        shape = np.shape(scores)
        raise ValueError(f"`scores` should have shape (n,), (n, 1) or (n, k) with at least one row, got {shape}.")
    table = _finite(table, kind)
    return (_read_column if table.shape[1] == 1 else _read_columns)(table, kind)


def read_label_logits(table: Floats, kind: str) -> tuple[Floats, ScoreTable]:
    """The logit of every label of scores (n, K, ...), from probabilities if all values lie between 0 and 1."""
    read = read_scores(table.reshape(-1, 1), kind)
    return (read.values[:, 1] - read.values[:, 0]).reshape(table.shape), read


def has_label_table(scores: Any, y: Any) -> bool:
    """Whether ``y`` has an entry for each of several scores of a row."""
    shape = np.shape(y)
    return len(shape) > 1 and shape[1] > 1 and shape == np.shape(scores)


def as_floats(scores: Any) -> Floats:
    """Numbers of an array, list, data frame or tensor on any device, as float64."""
    if isinstance(scores, torch.Tensor):
        scores = scores.detach().to("cpu", torch.float64).numpy()
    try:
        return np.asarray(scores, np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`scores` should be numbers of shape (n,) or (n, k), got {type(scores).__name__}: {error}."
        ) from error


def log_probabilities(probabilities: Floats) -> Floats:
    """Logarithms; that of zero is the one of 1e-12.

    >>> log_probabilities(np.array([1.0, 0.0])).round(2).tolist()
    [0.0, -27.63]
    """
    found = np.maximum(probabilities, LEAST_PROBABILITY)
    return np.log(found, out=found)


def check_percentages(read: ScoreTable) -> None:
    """Refuse one column of many values between 0 and 100. In new rows they may be so by chance, so this is for tuning."""
    if read.kind != "logit" or read.values.shape[1] != 2 or read.values[:, 0].any() or len(read.values) < FEW_ROWS:
        return
    low, high = read.values[:, 1].min(), read.values[:, 1].max()
    if low >= 0.0 and 1.0 < high <= 100.0:
        raise ValueError(
            f"`scores` are ambiguous: one column with values {low:.3g} ... {high:.3g}. "
            "Divide percentages by 100, or pass kind='logit' to use the scores as they are."
        )


def _read_column(column: Floats, kind: str) -> ScoreTable:
    """One column, about the positive class, as two."""
    rows = f"{_count(len(column), 'row')} of one column"
    if kind == "log_probability":
        _check_range(column, -np.inf, _NOISE, kind)
        column, kind = np.exp(column), "probability"
    within = _lies_within(column, 1.0)
    if kind == "probability" and not within:
        _check_range(column, 0.0, 1.0, kind)
    if kind == "logit" or not within:
        pair = np.concatenate([np.zeros_like(column), column], 1)
        return ScoreTable(pair, "logit", f"{rows}, read as logits of the positive class.", is_single=True)
    pair = log_probabilities(np.concatenate([1.0 - column, column], 1))
    sentence = f"{rows}, read as probabilities of the positive class."
    return ScoreTable(pair, "probability", sentence, kind != "auto" or len(column) >= FEW_ROWS, is_single=True)


def _read_columns(table: Floats, kind: str) -> ScoreTable:
    rows = f"{_count(len(table), 'row')} of {table.shape[1]} columns"
    found = _describe_probabilities(table)
    if kind == "probability" and not found:
        _check_range(table, 0.0, 1.0, kind)
        found = "probabilities that do not sum to one"
    if kind == "auto" and not found:
        _check_doubt(table)
    if found and kind in ("auto", "probability"):
        return ScoreTable(log_probabilities(table), "probability", f"{rows}, read as {found}.")
    if kind == "log_probability":
        _check_range(table, -np.inf, _NOISE, kind)
    elif kind == "auto" and table.max() <= _NOISE and all(_sums_to(np.exp(table[rows]), 1.0) for rows in row_blocks(table)):
        kind = "log_probability"
    if kind == "log_probability":
        return ScoreTable(table, kind, f"{rows}, read as log-probabilities.")
    return ScoreTable(table, "logit", f"{rows}, read as logits.")


def _describe_probabilities(table: Floats) -> str:
    """What rows of probabilities are, or nothing if they are not: their sum is not one."""
    for total, name in ((1.0, "probabilities"), (100.0, "percentages")):
        if not _lies_within(table, total):
            continue
        if _sums_to(table, total):
            return name
        if unit := _rounding_unit(table, total):
            return f"{name} rounded to {unit:g}"
    return ""


def _sums_to(table: Floats, total: float) -> bool:
    return bool(np.abs(table.sum(1) - total).max() <= _PRECISION * total)


def _rounding_unit(table: Floats, total: float) -> float:
    """The unit of the last digit, if rounding explains the sums of rows; else zero."""
    missed = np.abs(table.sum(1) - total).max()
    for unit in total * np.array(_UNITS):
        if missed > 0.5 * unit * table.shape[1] + _NOISE * total:
            return 0.0
        digits = (table[rows] / unit for rows in row_blocks(table))
        if all(np.abs(block - np.round(block)).max() < 1e-3 for block in digits):
            return float(unit)
    return 0.0


def _lies_within(table: Floats, most: float) -> bool:
    return bool(table.min() >= -_NOISE and table.max() <= most * (1.0 + _NOISE))


def _finite(table: Floats, kind: str) -> Floats:
    """Minus infinity, the log-probability of zero, becomes that of 1e-12 or less; other infinite values are an error."""
    if np.isfinite(table.min()) and np.isfinite(table.max()):
        return table
    wrong = ~np.isfinite(table)
    are_logs = kind == "log_probability" or (kind == "auto" and table.shape[1] > 1 and table.max() <= _NOISE)
    if are_logs and np.isneginf(table[wrong]).all():
        return np.maximum(table, min(np.log(LEAST_PROBABILITY), table[~wrong].min(initial=0.0)))
    hint = "" if np.isnan(table).any() else " Pass probabilities instead of their logits."
    raise ValueError(f"`scores` should be finite, got {_count(int(wrong.sum()), 'NaN or infinite value')}.{hint}")


def _check_range(table: Floats, low: float, high: float, kind: str) -> None:
    if table.min() < low - _NOISE or table.max() > high + _NOISE:
        wanted = "at most 0" if np.isinf(low) else f"between {low:g} and {high:g}"
        raise ValueError(
            f"`scores` of kind={kind!r} should be {wanted}, got {table.min():.4g} ... {table.max():.4g}. "
            "Divide percentages by 100, or pass kind='logit'."
        )


def _check_doubt(table: Floats) -> None:
    """Refuse columns that may be probabilities or not. A few rows can look like it by chance: these are logits."""
    if len(table) < FEW_ROWS:
        return
    sums, low, high = table.sum(1), table.min(), table.max()
    if _lies_within(table, 1.0):
        problem = f"they lie between 0 and 1, but their rows sum to {sums.min():.3g} ... {sums.max():.3g}"
    elif _sums_to(table, 1.0):
        problem = f"their rows sum to one, but they go from {low:.3g} to {high:.3g}"
    else:
        return
    raise ValueError(
        f"`scores` are ambiguous: {problem}. Pass kind='probability' to take their logarithm (as for a sigmoid "
        "per class), or kind='logit' to use them as they are."
    )


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def check_weight(weight: ArrayLike | None, n_rows: int) -> Floats:
    """Weights of rows as an array (n,), ones by default."""
    found = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
    if found.shape != (n_rows,) or not (np.isfinite(found) & (found >= 0)).all() or not found.sum() > 0:
        raise ValueError(f"`sample_weight` should be finite, not negative, not all zero and of shape ({n_rows},).")
    return found


def match_columns(
    y: Any, shape: tuple[int, ...], classes: Iterable[Any] | None = None, names: Iterable[Any] = ()
) -> tuple[Ints, list[Any]]:
    """The column of every label (n,), for scores of shape (n, k), and the labels of the columns.

    Columns are ``classes`` if they are given; or what the ``names`` of the columns say, as ``fraud`` and ``p_fraud`` do; or
    their indices if the labels are whole numbers 0 ... k - 1; or else the k distinct labels, sorted.

    >>> match_columns(["yes", "no", "yes"], (3, 2))
    (array([1, 0, 1]), ['no', 'yes'])
    """
    n_rows, n_classes = shape
    labels = as_array(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"`y` should have shape ({n_rows},) to match the scores, got {labels.shape}.")
    found, index = _distinct(labels)
    columns = _columns(found, n_classes, classes, list(names))
    try:
        return np.array([columns.index(label) for label in found.tolist()])[index], columns
    except ValueError:
        unknown = next(label for label in found.tolist() if label not in columns)
        near = did_you_mean(unknown, map(str, columns))
        raise ValueError(f"`y` should contain only labels of `classes`, {columns}, got also {unknown!r}.{near}") from None


def _columns(found: NDArray[Any], n_classes: int, classes: Iterable[Any] | None, names: list[Any]) -> list[Any]:
    """The labels of the columns, given the distinct labels."""
    if classes is not None:
        return check_classes(classes, n_classes).tolist()
    known = found.tolist()
    if len(names) == n_classes:
        if all(label in names for label in known):
            return names
        if (said := labels_of_names(names, known)) is not None:
            return said
    if found.dtype.kind in "iufb" and all(label in range(n_classes) for label in known):
        return list(range(n_classes))
    if len(known) == n_classes:
        return known
    raise ValueError(
        f"`y` should have {n_classes} different labels, one per column of scores, got {len(known)}: {few(known)}. "
        "Pass `classes`, the label of every column, or labels 0 ... k - 1."
    )


def check_classes(classes: Iterable[Any], n_classes: int) -> NDArray[Any]:
    """The labels of the columns as an array (k,)."""
    labels = as_array(list(classes))
    if labels.shape != (n_classes,) or len(set(labels.tolist())) < n_classes:
        raise ValueError(f"`classes` should name {n_classes} different classes, one per column, got {labels.tolist()}.")
    return labels


def as_array(labels: Any) -> NDArray[Any]:
    """Labels of an array, list, data frame or tensor, each of its own type; one column as (n,)."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().numpy()
    array = np.asarray(labels)
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        array = np.array(labels, object)  # numpy makes a text of a missing label beside texts
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """The distinct labels, sorted, and which of them each row has."""
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            f"`y` should have a label in every row, got {int(np.isnan(labels).sum())} NaN. Drop these rows first."
        )
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        types = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"`y` should have labels of one type in every row, got {types}.") from error


def check_groups(groups: ArrayLike, n_rows: int) -> Ints:
    """The number of each row's group, (n,); a ValueError for missing groups, and for names that cannot be sorted."""
    found = np.asarray(groups)
    if found.shape != (n_rows,):
        raise ValueError(f"`groups` should have shape ({n_rows},), got {found.shape}.")
    if n_missing := sum(map(is_missing, found.tolist())):
        raise ValueError(f"`groups` should have a group for every row, got {n_missing} without. Drop these rows first.")
    try:
        names, index = np.unique(found, return_inverse=True)
    except TypeError as error:
        raise ValueError("`groups` should have names of one type. Try [str(group) for group in groups].") from error
    if len(names) < 2:
        raise ValueError("`groups` should name at least two groups: one alone has no interval. Leave it out, or pass others.")
    return index
