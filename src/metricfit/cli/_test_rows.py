"""``--test``: the rows that models are judged by, without those that they were trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError
from metricfit.cli._options import say

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from metricfit.data import LabelledTable, Layout, TableSchema

    Rows = tuple[pa.Table, NDArray[Any]]  # features and labels


def read_test(path: Path, layout: Layout, schema: TableSchema, table: LabelledTable, keep_shared: bool) -> tuple[Rows, str]:
    """The rows of ``--test``, with the types of the table; and a warning if they are rows of the table."""
    import numpy as np
    import pyarrow as pa

    from metricfit import data

    target = data.column_named(table.target, layout.names, "--target")
    chunks = list(data.read_chunks(path, layout, schema, [target], say=say))
    if not chunks:
        raise DataError(f"{path} has no rows.")
    features = pa.concat_tables([chunk.features for chunk in chunks])
    known, labels = data.read_labels(pa.concat_tables([chunk.kept for chunk in chunks])[target], target, path)
    features = features.filter(known)
    dropped = f"; {len(known) - len(labels):,} without a label are dropped" if len(labels) < len(known) else ""
    if table.renamed:
        new = {str(label): name for label, name in table.renamed.items()}
        names = [new.get(str(label), label) for label in labels.tolist()]
        rows = np.array([name is not None for name in names])
        features, labels = features.filter(pa.array(rows)), np.array([name for name in names if name is not None])
        dropped += f"; {(~rows).sum():,} of dropped classes are dropped" if not rows.all() else ""
    if labels.dtype.kind != table.labels.dtype.kind:
        labels = labels.astype(str).astype(table.labels.dtype.type)
    say(f"{path.name}: {len(labels):,} rows to judge by{dropped}.")
    return _leave_out_shared(path, table, features, labels, keep_shared)


def _leave_out_shared(
    path: Path, table: LabelledTable, features: pa.Table, labels: NDArray[Any], keep_shared: bool
) -> tuple[Rows, str]:
    """The test rows that are not in the table, and a warning about the others."""
    import pyarrow as pa

    from metricfit.profile import find_shared

    shared = find_shared(table.features, table.labels, features, labels)
    n_rows, n_shared = len(labels), int(shared.rows.sum())
    if n_shared and shared.by_chance:
        say(f"{path.name}: {n_shared:,} rows equal a training row, as often as training rows repeat. They are judged.")
    if not n_shared or shared.by_chance:
        return (features, labels), ""
    more = f" {shared.n_other_label:,} more have the features of such a row and another label." if shared.n_other_label else ""
    found = f"{n_shared:,} of {n_rows:,} rows of {path.name} are rows of the training file, with the same label"
    if keep_shared:
        return (features, labels), f"{found}. They are judged because of --keep-shared, so scores are too good.{more}"
    if n_shared == n_rows:
        raise DataError(
            f"All {n_rows:,} rows of {path} are rows of the training file, with the same label: nothing is left to "
            "judge by. Pass a file of other rows, leave out --test to cross-validate, or pass --keep-shared to judge them."
        )
    left = pa.array(~shared.rows)
    return (
        (features.filter(left), labels[~shared.rows]),
        f"{found}. They are left out: scores are those of the other {n_rows - n_shared:,} rows. "
        f"Pass --keep-shared to judge them, too.{more}",
    )
