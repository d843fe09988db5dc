"""The metric, its positive class, costs and the order of classes: ``--metric``, ``--positive``, ``--cost``, ``--classes``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from metricfit import metrics
from metricfit._errors import DataError, UsageError
from metricfit._printable import did_you_mean
from metricfit.cli._options import TableOptions
from metricfit.data import label_like
from metricfit.metrics import Cost, MetricLike

DEFAULT_METRIC = "f1"
OTHERWISE = "otherwise"
MOST_CLASSES = 6  # named in an error
LONG_HEADER = ["true", "predicted", "cost"]
EXAMPLE = '--cost "bad,good=5; good,bad=1": the true class, the predicted class, the cost'


@dataclass(frozen=True)
class MetricChoice:
    """The metric and its classes, as ``compare`` and ``MetricClassifier`` take them; notes say what was decided."""

    metric: MetricLike
    pos_label: Any = None
    class_order: list[Any] | None = None
    notes: tuple[str, ...] = ()


def check_metric(metric: str) -> None:
    try:
        metrics.get(metric)
    except ValueError as error:
        text = str(error).removeprefix("`metric` ")
        near = did_you_mean(metric.removesuffix("_binary"), metrics.names())  # "f1" is scikit-learn's "binary"
        known = f"{metric!r} is not a metric.{near} `metricfit metrics` lists them."
        raise UsageError(f"--metric {known if text.startswith('should') else text}") from error


def choose_metric(
    options: TableOptions, classes: NDArray[Any], counts: NDArray[Any], known_order: Sequence[Any] | None = None
) -> MetricChoice:
    """The metric for these classes. The file may know their order; more than two classes make "f1" "f1_macro"."""
    order = _class_order(options.classes, classes, known_order)
    label = None if options.positive is None else label_like(options.positive, classes, "--positive")
    if options.cost is not None:
        costs = parse_cost(options.cost, classes)
        _refuse_positive(label, "--cost", len(classes))
        return MetricChoice(costs, notes=(describe_cost(costs),))
    name, notes = _for_classes(options.metric or DEFAULT_METRIC, len(classes))
    if options.metric is None:
        why = f"No --metric: {name} is used, since accuracy can be high without finding a rare class."
        notes = (*notes, f"{why} `metricfit metrics` lists others.")
    notes += _check_order(name, classes, order)
    if len(classes) != 2 or not _is_binary(name):
        _refuse_positive(label, name, len(classes))
        return MetricChoice(name, None, order, notes)
    why = ""
    if label is None:
        index, why = metrics.positive_of(classes, counts)
        label, why = (order[-1], "the last in the order") if order else (classes.tolist()[index], why)
        why = f", {why}. Pass --positive to change this"
    return MetricChoice(name, label, None, (*notes, f"The positive class for {name} is {label!r}{why}."))


def order_to_keep(options: TableOptions, classes: NDArray[Any], known_order: Sequence[Any] | None) -> Sequence[Any] | None:
    """The order of the classes, if the metric depends on it."""
    name = options.metric or DEFAULT_METRIC
    if options.cost is not None or len(classes) < 3 or _is_binary(name):
        return None
    if not metrics.get(name).depends_on_order(len(classes)):
        return None
    order = _class_order(options.classes, classes, known_order)
    _check_order(name, classes, order)
    return classes.tolist() if order is None else order


def _class_order(text: str | None, classes: NDArray[Any], known_order: Sequence[Any] | None) -> list[Any] | None:
    """The order in ``--classes``, or else the one that the file knows."""
    if text is None:
        return list(known_order or ()) or None
    order = [label_like(name.strip(), classes, "--classes") for name in text.split(",") if name.strip()]
    missing = [str(label) for label in classes.tolist() if label not in order]
    if missing or len(set(order)) < len(order):
        what = f"{missing[0]!r} is missing" if missing else "a class occurs twice"
        raise UsageError(f"--classes should name all {len(classes)} classes once, in their order: {what}.")
    return order


def _for_classes(name: str, n_classes: int) -> tuple[str, tuple[str, ...]]:
    """The metric, or its mean over classes where there are more than two; and a note if it was changed."""
    notes: tuple[str, ...] = ()
    if n_classes > 2 and _is_binary(name):
        notes = (f"{name} needs two classes, got {n_classes}: {name}_macro, the mean over classes, is used instead.",)
        name += "_macro"
    try:
        metrics.get(name).check_classes(n_classes)
    except ValueError as error:
        raise UsageError(f"--metric {name} does not fit {n_classes} classes: {error}") from error
    return name, notes


def _check_order(name: str, classes: NDArray[Any], order: list[Any] | None) -> tuple[str, ...]:
    """Refuse names without an order where it matters; a note has the order that is used."""
    if not metrics.get(name).depends_on_order(len(classes)):
        return ()
    if order is None and classes.dtype.kind not in "iufb":
        known = ", ".join(map(repr, classes.tolist()[:MOST_CLASSES]))
        more = f" and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else ""
        raise UsageError(
            f"--metric {name} needs the order of the classes, but names have no order: {known}{more}. Pass them from the "
            "lowest to the highest: --classes LOWEST,...,HIGHEST."
        )
    return (f"The order of the classes is {' < '.join(map(str, classes.tolist() if order is None else order))}.",)


def _is_binary(name: str) -> bool:
    """Whether the metric is about one of two classes."""
    return getattr(metrics.get(name), "average", "") == "binary"


def _refuse_positive(label: Any, metric: str, n_classes: int) -> None:
    if label is not None:
        raise UsageError(
            f"--positive does not apply to {metric} with {n_classes} classes. It is for two classes and metrics such as f1."
        )


def parse_cost(given: str, classes: NDArray[Any], columns: Sequence[str] = ()) -> Cost:
    """Costs by name. ``given`` is a CSV file, or pairs such as ``bad,good=5; good,bad=1; otherwise=2``.

    A cost may be the name of one of the ``columns``, which has it for each row.
    """
    pairs = _read_file(Path(given), columns) if _is_file(given) else _parse_pairs(given, columns)
    otherwise = pairs.pop((OTHERWISE, OTHERWISE), None)
    if isinstance(otherwise, str):
        raise UsageError(
            f"--cost: otherwise should be a number, got the column {otherwise!r}. Name the pairs that it applies to."
        )
    named = {tuple(label_like(name, classes, "--cost") for name in pair): cost for pair, cost in pairs.items()}
    if not named:
        raise UsageError(f"--cost names no pair of classes. Example: {EXAMPLE}.")
    costs = Cost(named, otherwise=otherwise)
    try:
        costs.entries(classes.tolist())
    except ValueError as error:
        text = str(error).replace("`Cost`", "--cost").replace("pass `otherwise`", "add otherwise=...")
        raise UsageError(text) from error
    return costs


def describe_cost(costs: Cost) -> str:
    """The costs by name, in one line."""
    pairs = [(*pair, cost) for pair, cost in dict(costs.matrix).items()]  # type: ignore[arg-type]
    if costs.otherwise is not None:
        pairs.append(("others", "others", costs.otherwise))
    listed = "; ".join(f"{true}, {predicted} = {cost:g}" for true, predicted, cost in pairs)
    return f"Costs (true class, predicted class): {listed}."


def _is_file(given: str) -> bool:
    return "=" not in given or Path(given).is_file()


def _parse_pairs(given: str, columns: Sequence[str]) -> dict[tuple[str, str], float | str]:
    found: dict[tuple[str, str], float | str] = {}
    for part in filter(None, (part.strip() for part in given.split(";"))):
        names, _, cost = part.rpartition("=")
        pair = [name.strip() for name in next(csv.reader([names]), [])]
        pair = [OTHERWISE, OTHERWISE] if pair == [OTHERWISE] else pair
        if len(pair) != 2:
            raise UsageError(f"--cost should have parts such as {EXAMPLE.split(': ')[0]}, got {part!r}.")
        _add(found, pair, cost, "--cost", columns)
    return found


def _read_file(path: Path, columns: Sequence[str]) -> dict[tuple[str, str], float | str]:
    """A table with a row per true class and a column per predicted class, or one with columns true, predicted, cost."""
    if not path.is_file():
        raise UsageError(f"--cost {str(path)!r} is neither a file nor a list of costs. Example: {EXAMPLE}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        records = [[cell.strip() for cell in record] for record in csv.reader(io.StringIO(text)) if any(record)]
    except (UnicodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table of costs: {error}.") from error
    if len(records) < 2:
        raise DataError(f"{path} should have a header and a row per true class, got {len(records)} lines.")
    header, rows = records[0], records[1:]
    found: dict[tuple[str, str], float | str] = {}
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise DataError(f"{path}, line {number} has {len(row)} cells, expected {len(header)} as in the header.")
        if [name.lower() for name in header] == LONG_HEADER:
            _add(found, row[:2], row[2], f"{path}, line {number}", columns)
        else:
            for predicted, cost in zip(header[1:], row[1:], strict=True):
                _add(found, (row[0], predicted), cost, f"{path}, line {number}", columns)
    return found


def _add(
    found: dict[tuple[str, str], float | str], pair: Sequence[str], cost: str, where: str, columns: Sequence[str]
) -> None:
    true, predicted = pair
    value: float | str
    try:
        value = float(cost)
    except ValueError:
        value = cost.strip() if cost.strip() in columns else math.nan
    if isinstance(value, float) and not math.isfinite(value):
        wanted, near = "a number", ""
        if columns:
            wanted, near = "a number or a column of the file", did_you_mean(cost.strip(), columns)
        elif cost.strip().isidentifier() and cost.strip().lower() not in ("inf", "infinity", "nan"):
            near = " Costs that differ from row to row, in a column of the file, are for `metricfit decide`."
        raise DataError(f"{where}: the cost of {true},{predicted} should be {wanted}, got {cost.strip()!r}.{near}")
    if (true, predicted) in found:
        raise DataError(f"{where}: {true},{predicted} has two costs.")
    found[true, predicted] = value
