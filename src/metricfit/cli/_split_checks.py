"""Check before any training that there are enough rows, groups and moments for the splits that a verdict needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError
from metricfit._printable import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_splits(
    labels: NDArray[Any], folds: int, repeats: int, groups: NDArray[Any] | None = None, time: NDArray[Any] | None = None
) -> None:
    """Raise a DataError with what to type, if a class or a group is too rare for the splits that a verdict needs."""
    import numpy as np

    if groups is not None:
        _check_groups(labels, groups, folds, repeats)
    elif time is not None:
        _check_time(labels, time, folds)
    else:
        classes, counts = np.unique(labels, return_counts=True)
        rarest, name = int(counts.min()), quoted(classes.tolist()[counts.argmin()])
        enough, more = _ceil(_fewest_scores(), repeats), _ceil(_fewest_scores(), rarest)
        if _are_too_few(min(folds, rarest) * repeats, folds * repeats):
            raise DataError(
                f"Class {name} has {rarest} rows, which allow {rarest} folds and {rarest * repeats} scores with --repeats "
                f"{repeats}; a verdict needs {_fewest_scores()}. {_help_rare(enough)}, or --repeats {more}."
            )


def _check_groups(labels: NDArray[Any], groups: NDArray[Any], folds: int, repeats: int) -> None:
    import numpy as np

    n_groups = len(np.unique(groups))
    for label in np.unique(labels).tolist():
        if len(np.unique(groups[labels == label])) < 2:
            n_rows = int((labels == label).sum())
            raise DataError(
                f"Class {quoted(label)} ({n_rows:,} rows) occurs in one value of --group only, so it is missing from training "
                f"if that is held out. {_help_rare(n_rows + 1)}, or leave out --group."
            )
    if _are_too_few(min(folds, n_groups) * repeats, folds * repeats):
        raise DataError(
            f"--group has {n_groups} values, which allow {n_groups} folds; a verdict needs {_fewest_scores()} scores. Pass "
            f"--repeats {_ceil(_fewest_scores(), n_groups)}, or leave out --group."
        )


def _check_time(labels: NDArray[Any], time: NDArray[Any], folds: int) -> None:
    import numpy as np

    from metricfit.comparison import check_training_classes, plan_time

    classes, codes = np.unique(labels, return_inverse=True)
    try:
        plan = plan_time(time, len(labels), folds, 1)
        check_training_classes(plan, codes.astype(np.int64), classes)
    except ValueError as error:
        raise DataError(str(error)) from error
    if _are_too_few(len(plan.splits), folds):
        raise DataError(
            f"--time has so many rows of the same moment that there are {len(plan.splits)} forward splits; a verdict needs "
            f"{_fewest_scores()}. Pass a finer column, or leave out --time."
        )


def _help_rare(enough: int) -> str:
    return f"Pass --drop-rare {enough} to leave the rows of rare classes out, --merge-rare {enough} to join them with others"


def _are_too_few(possible: int, wanted: int) -> bool:
    """Whether the data, and not the options, are the reason for too few scores."""
    return possible < _fewest_scores() <= wanted


def _fewest_scores() -> int:
    from metricfit.comparison import FEWEST_SCORES

    return FEWEST_SCORES


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)
