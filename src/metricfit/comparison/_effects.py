"""The strongest effects of the linear model: what pushes a row towards a class, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricfit.estimators import MetricClassifier

MOST_EFFECTS = 15
Coefficients = dict[tuple[str, str], float]  # (feature, label): change in log-odds


@dataclass(frozen=True)
class Effect:
    """What a feature does to the log-odds of a class: per standard deviation of a number, or where a category is present."""

    feature: str  # "age", "colour = red", "income is missing", "remark: late"
    label: str  # the class; of two the positive one, or the second
    mean: float  # over the splits of the first repeat
    deviation: float


def coefficients_of(fitted: MetricClassifier) -> Coefficients:
    """Coefficients of a fitted linear model by feature and class: of one of two classes, or of each less the mean of all.

    They are of standardised numbers, so that they can be compared.
    """
    names, weights, classes = fitted.preprocessor_.get_feature_names_out(), fitted.coef_, fitted.classes_.tolist()
    if len(classes) == 2:
        label = classes[1] if fitted.pos_label_ is None else fitted.pos_label_
        rows = {label: weights[0] if label == classes[1] else -weights[0]}
    else:
        rows = dict(zip(classes, weights - weights.mean(0), strict=True))
    return {(name, str(label)): value for label, row in rows.items() for name, value in zip(names, row.tolist(), strict=True)}


def strongest_effects(splits: Sequence[Coefficients]) -> tuple[Effect, ...]:
    """Mean and standard deviation over the splits, the strongest first. A feature that a split does not have counts as zero.

    >>> first, second = {("age", "sick"): 1.0, ("sex", "sick"): 0.5}, {("age", "sick"): 3.0}
    >>> strongest_effects([first, second])[0]
    Effect(feature='age', label='sick', mean=2.0, deviation=1.0)
    """
    pairs = dict.fromkeys(pair for split in splits for pair in split)
    values = {pair: [split.get(pair, 0.0) for split in splits] for pair in pairs}
    found = [Effect(*pair, float(np.mean(ones)), float(np.std(ones))) for pair, ones in values.items()]
    return tuple(sorted(found, key=lambda effect: -abs(effect.mean))[:MOST_EFFECTS])
