"""The metric, its positive class and the order of the classes: ``--metric``, ``--cost``, ``--positive``, ``--classes``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metricfit._errors import UsageError
from metricfit.cli._costs import describe_cost, parse_cost
from metricfit.cli._options import TableOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metricfit.metrics import MetricLike

DEFAULT_METRIC = "f1"


@dataclass(frozen=True)
class MetricChoice:
    """The metric and its classes, as ``compare`` and ``MetricClassifier`` take them; notes say what was decided."""

    metric: MetricLike
    pos_label: Any = None
    class_order: list[Any] | None = None
    notes: tuple[str, ...] = ()


def choose_metric(
    options: TableOptions, classes: NDArray[Any], counts: NDArray[Any], known_order: Sequence[Any] | None = None
) -> MetricChoice:
    """The metric for these classes. The file may know their order; more than two classes make "f1" "f1_macro"."""
    from metricfit import metrics
    from metricfit.data import label_like

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
        label, why = (order[-1], "the last of the order") if order else (classes.tolist()[index], why)
        why = f", {why}. Pass --positive to change this"
    return MetricChoice(name, label, None, (*notes, f"The positive class for {name} is {label!r}{why}."))


def order_to_keep(options: TableOptions, classes: NDArray[Any], known_order: Sequence[Any] | None) -> Sequence[Any] | None:
    """The order of the classes, if the metric depends on it."""
    from metricfit import metrics

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
    from metricfit.data import label_like

    if text is None:
        return list(known_order or ()) or None
    order = [label_like(name.strip(), classes, "--classes") for name in text.split(",") if name.strip()]
    missing = [str(label) for label in classes.tolist() if label not in order]
    if missing or len(set(order)) < len(order):
        what = f"{missing[0]!r} is missing" if missing else "a class is there twice"
        raise UsageError(f"--classes should name all {len(classes)} classes once, in their order: {what}.")
    return order


def _for_classes(name: str, n_classes: int) -> tuple[str, tuple[str, ...]]:
    """The metric, or its mean over classes where there are more than two; and a note if it was changed."""
    from metricfit import metrics

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
    from metricfit import metrics

    if not metrics.get(name).depends_on_order(len(classes)):
        return ()
    if order is None and classes.dtype.kind not in "iufb":
        known = shlex.quote(",".join(map(str, classes)))
        raise UsageError(
            f"--metric {name} needs the order of the classes, and names have none. Pass --classes {known} with the classes in "
            "their order, from the lowest to the highest."
        )
    return (f"The order of the classes is {' < '.join(map(str, classes.tolist() if order is None else order))}.",)


def _is_binary(name: str) -> bool:
    """Whether the metric is about one of two classes."""
    from metricfit import metrics

    return getattr(metrics.get(name), "average", "") == "binary"


def _refuse_positive(label: Any, metric: str, n_classes: int) -> None:
    if label is not None:
        raise UsageError(
            f"--positive does not apply to {metric} with {n_classes} classes. It is for two classes and metrics such as f1."
        )
