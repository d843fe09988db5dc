"""The objective of a method over shards, for :func:`metricfit.learners._descent.descend`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from metricfit import links
from metricfit._typing import Floats
from metricfit.decisions._smoothed import negative_metric
from metricfit.learners import LinearModel
from metricfit.links import Linear
from metricfit.methods import Method
from metricfit.metrics import Metric
from metricfit.shards._questions import Curvature, NormalOfTwo, SoftmaxOfAny
from metricfit.shards._together import Ask
from metricfit.smoothing import Normal, Softmax


def is_sum_of_rows(method: Method, n_classes: int) -> bool:
    """Whether the metric is smoothed in a way that has sums over rows here: normal noise for two classes, or the softmax."""
    plain = isinstance(links.get(method.link), Linear) and method.margin is None and not method.normalize_scores
    smoothing = method.smoothing_for(n_classes)
    normal = type(smoothing) is Normal and smoothing.method == "quadrature" and n_classes == 2
    return method.loss == "cross_entropy" or (method.trains_metric and plain and (normal or type(smoothing) is Softmax))


@dataclass
class ShardObjective:
    """A :class:`metricfit.learners._descent.LinearObjective`. ``support`` are the training rows of every class."""

    ask: Ask
    fold: int
    method: Method
    metric: Metric
    class_weight: Floats
    support: Floats
    width: float
    decided: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # the matrix of the decisions at the last point

    @property
    def total_weight(self) -> float:
        return float(self.class_weight @ self.support)

    def evaluate(self, model: LinearModel) -> tuple[float, Floats, Floats]:
        given = model, self.fold, self.class_weight, self.width, self.method.leak
        share = self.method.leak / self.total_weight
        if type(self.method.smoothing_for(len(self.support))) is Normal:
            (assigned, loss, self.decided), slopes, _ = self.ask(NormalOfTwo(*given))
            value, slope = negative_metric(self.metric, np.stack([self.support - assigned, assigned], 1))
            by_metric = slopes[:, :2] @ (slope[:, 1] - slope[:, 0])
            by_offset = float(by_metric[-1])
            by_both = (by_metric + share * slopes[:, 2])[:, None]
            return value + share * float(loss), by_both, np.array([-by_offset, by_offset])
        (matrix, loss, self.decided), by_leak, _ = self.ask(SoftmaxOfAny(*given))
        value, slope = negative_metric(self.metric, matrix)
        (by_offsets,), by_both, _ = self.ask(SoftmaxOfAny(*given, slope))
        return value + share * float(loss), by_both + share * by_leak, by_offsets

    def curvature(self, model: LinearModel) -> list[Floats]:
        _, _, found = self.ask(Curvature(model, self.fold, self.class_weight))
        return [one / self.total_weight for one in found]
