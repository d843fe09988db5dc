"""What models use: the strongest effects of the linear model, and the permutation importance of every column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import _safe_indexing

from metricfit._typing import Floats, Ints
from metricfit.comparison._statistics import score_of
from metricfit.estimators import MetricClassifier

MOST_EFFECTS = 15
NO_EFFECT = 1e-6  # log-odds: what is left of a constant column
MOST_ROWS = 1000  # of a split that are shuffled and predicted again for every column
Coefficients = dict[tuple[str, str], float]  # (feature, label): change in log-odds


@dataclass(frozen=True)
class Effect:
    """What a feature does to the log-odds of a class: per standard deviation of a number, or where a category is present.

    A category of two values has one effect, that of one value instead of the other.
    """

    feature: str  # "age", "colour = red", "sex = male (else female)", "income is missing", "remark: late"
    label: str  # the class; of two the positive one, or the second
    mean: float  # over the splits of the first repeat
    deviation: float


def coefficients_of(fitted: MetricClassifier) -> Coefficients:
    """Coefficients of a fitted linear model by feature and class: of one of two classes, or of each less the mean of all.

    They are of standardised numbers, so that they can be compared.
    """
    names, weights, classes = fitted.preprocessor_.get_feature_names_out(), fitted.coef_, fitted.classes_.tolist()
    columns = set(fitted.preprocessor_.columns)
    if len(classes) == 2:
        label = classes[1] if fitted.pos_label_ is None else fitted.pos_label_
        rows = {label: weights[0] if label == classes[1] else -weights[0]}
    else:
        rows = dict(zip(classes, weights - weights.mean(0), strict=True))
    return {
        (name, str(label)): value
        for label, row in rows.items()
        for name, value in join_pairs(dict(zip(names, row.tolist(), strict=True)), columns).items()
    }


def join_pairs(effects: Mapping[str, float], columns: Collection[str]) -> dict[str, float]:
    """The effects, with one instead of two mirrored ones for every category of two values: the last instead of the first.

    >>> effects = {"age": 0.3, "sex = f": -0.25, "sex = m": 0.25, "size = S": 0.1, "size = M": 0.0, "size = L": -0.1}
    >>> join_pairs(effects, ["age", "sex", "size"])
    {'age': 0.3, 'size = S': 0.1, 'size = M': 0.0, 'size = L': -0.1, 'sex = m (else f)': 0.5}
    """
    joined, values = dict(effects), defaultdict[str, list[tuple[str, str]]](list)
    for name in effects:
        column, value = _split_name(name, columns)
        values[column].append((name, value))
    for column, pair in values.items():
        if column and len(pair) == 2:
            (first, value), (last, _) = pair
            joined[f"{last} (else {value})"] = joined.pop(last) - joined.pop(first)
    return joined


def _split_name(name: str, columns: Collection[str]) -> tuple[str, str]:
    """The column and the value of a category's feature; an empty column for other features.

    >>> _split_name("a = b = c", {"a = b"}), _split_name("sex is missing", {"sex"}), _split_name("age", {"age"})
    (('a = b', 'c'), ('sex', 'missing'), ('', ''))
    """
    if name in columns:  # a number, whatever its name looks like
        return "", ""
    for word in ("missing", "rare"):
        if name.removesuffix(f" is {word}") in columns:
            return name.removesuffix(f" is {word}"), word
    parts = name.split(" = ")
    ends = (end for end in range(1, len(parts)) if " = ".join(parts[:end]) in columns)
    end = next(ends, 0)
    return " = ".join(parts[:end]), " = ".join(parts[end:])


def strongest_effects(splits: Sequence[Coefficients]) -> tuple[Effect, ...]:
    """Mean and standard deviation over the splits, the strongest first. A feature that a split does not have counts as zero.

    Features that have no effect on any split, such as constant ones, are left out.

    >>> first, second = {("age", "sick"): 1.0, ("sex", "sick"): 0.5}, {("age", "sick"): 3.0}
    >>> strongest_effects([first, second])[0]
    Effect(feature='age', label='sick', mean=2.0, deviation=1.0)
    """
    pairs = dict.fromkeys(pair for split in splits for pair in split)
    values = {pair: [split.get(pair, 0.0) for split in splits] for pair in pairs}
    found = [Effect(*pair, float(np.mean(ones)), float(np.std(ones))) for pair, ones in values.items()]
    found = [one for one in found if abs(one.mean) > NO_EFFECT or one.deviation > NO_EFFECT]
    return tuple(sorted(found, key=lambda effect: -abs(effect.mean))[:MOST_EFFECTS])


def importance_of(fitted: MetricClassifier, data: Any, labels: Ints, seed: int) -> Floats:
    """What the metric loses on held-out rows if a column is shuffled (Breiman 2001), for every column of the table."""
    random = np.random.default_rng(seed)
    if len(labels) > MOST_ROWS:
        rows = random.permutation(len(labels))[:MOST_ROWS]
        data, labels = _safe_indexing(data, rows), labels[rows]
    order = random.permutation(len(labels))

    def score(table: Any) -> float:
        predicted = fitted.scores_and_probabilities(table)[0].argmax(1)
        return score_of(fitted.metric_, predicted, labels, len(fitted.classes_))

    whole = score(data)
    return np.array([whole - score(_shuffle(data, index, order)) for index in range(data.shape[1])])


def _shuffle(data: Any, index: int, order: Ints) -> Any:
    """The table with the values of one column in another order."""
    if hasattr(data, "tocsc"):
        columns = data.tolil(copy=True)
        columns[:, index] = data.tocsc()[:, [index]].toarray()[order]
        return columns.tocsr()
    table = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(table, nw.DataFrame):
        column = table[:, index]
        return table.with_columns(column[order.tolist()].alias(column.name)).to_native()
    changed = np.array(data)
    changed[:, index] = changed[order, index]
    return changed
