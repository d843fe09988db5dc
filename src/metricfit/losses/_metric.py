"""The loss of a metric: a link of the metric of the smoothed confusion matrix, plus a leak of cross-entropy."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor, nn

from metricfit import links, metrics
from metricfit._checks import check_floating, check_number
from metricfit.links import Link
from metricfit.losses._base import ClassificationLoss, FunctionOptions, LossOptions, loss_function
from metricfit.losses._leak import add_leak
from metricfit.losses._objectives import Assigner, Objective, PerRow, objective_for
from metricfit.metrics import MetricLike
from metricfit.smoothing import Smoothing, Softmax


def metric_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "accuracy",
    smoothing: Smoothing | None = None,
    link: str | Link = "linear",
    *,
    scale: float | Tensor | None = None,
    margin: float | None = None,
    normalize_scores: bool = False,
    leak: float = 0.0,
    leak_weight: Tensor | None = None,
    offsets: Tensor | None = None,
    **options: Unpack[FunctionOptions],
) -> Tensor:
    """The loss behind :class:`metricfit.MetricLoss`: a link of a metric of the smoothed confusion matrix, plus a leak.

    >>> metric_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]), "accuracy", link="log")   # log 2
    tensor(0.6931)
    """
    assigner = Assigner(Softmax() if smoothing is None else smoothing, margin, normalize_scores, offsets)
    objective = objective_for(metrics.get(metric), assigner, links.get(link))
    return loss_function(add_leak(objective, check_number(leak, "leak", 0.0), leak_weight), input, target, scale, **options)


class MetricLoss(ClassificationLoss):
    """A loss that trains for a metric: write ``MetricLoss("mcc")`` instead of ``nn.CrossEntropyLoss()``.

    Args:
        metric: a name (``metricfit.metrics.names()``), a metric, or a function of the confusion matrix.
        smoothing: how scores become soft assignments; ``Softmax()`` by default.
        link: ``"linear"``, ``"log"``, ``"leaky(alpha)"`` or ``"power(q)"``. For a metric that is a mean over samples
            (accuracy, a cost) it applies to each sample, for the others to the metric. ``"log_of_mean"`` always applies to the
            metric: for accuracy it is -log E[p].
        margin: upper limit on how far the label's score counts as ahead of another (arXiv 2205.09615, Eq. 19).
        normalize_scores: subtract the batch's mean score and divide by its standard deviation (arXiv 2205.09615, Listing 1).
        leak: alpha, the weight of a cross-entropy of the same scores that is added to the loss of the metric. For
            ``"accuracy"`` under the softmax, the sum is :class:`LeakyExpectedErrorLoss`.
        leak_weight: one weight per class, (k,), in that cross-entropy but not in the metric.
        offsets: one number per class, (k,), added to the scores in the metric but not in the leak. An ``nn.Parameter`` is
            trained.
        **options: see :class:`ClassificationLoss`.

    >>> loss = MetricLoss("f1_macro")
    >>> loss(torch.tensor([[5.0, -5.0], [-5.0, 5.0]]), torch.tensor([0, 1]))
    tensor(4.5419e-05)
    >>> MetricLoss("mcc", leak=0.1)(torch.zeros(2, 2), torch.tensor([0, 1]))      # MCC is 0: 1 + 0.1 log 2
    tensor(1.0693)
    """

    smoothing: Smoothing
    offsets: Tensor | None
    leak_weight: Tensor | None

    def __init__(
        self,
        metric: MetricLike = "accuracy",
        smoothing: Smoothing | None = None,
        link: str | Link = "linear",
        *,
        margin: float | None = None,
        normalize_scores: bool = False,
        leak: float = 0.0,
        leak_weight: Tensor | None = None,
        offsets: Tensor | None = None,
        **options: Unpack[LossOptions],
    ) -> None:
        super().__init__(**options)
        self.metric = metrics.get(metric)
        self.smoothing = Softmax() if smoothing is None else smoothing
        self.link = links.get(link)
        self.margin = None if margin is None else check_number(margin, "margin", 0.0)
        self.normalize_scores = normalize_scores
        self.leak = check_number(leak, "leak", 0.0)
        for name, value in (("leak_weight", leak_weight), ("offsets", offsets)):
            if value is not None:
                check_floating(value, name)
        self.register_buffer("leak_weight", leak_weight)
        if isinstance(offsets, nn.Parameter):
            self.register_parameter("offsets", offsets)
        else:
            self.register_buffer("offsets", offsets)
        objective = self.objective()  # checks the options
        if self.reduction == "none" and not isinstance(objective, PerRow):
            what = f"{self.link} of {self.metric}" if self.link.of_mean else self.metric
            raise ValueError(f'`reduction` should be "mean" or "sum" for {what}, a function of the whole batch, got "none".')
        if self.margin is not None and self.label_smoothing > 0.0:
            raise ValueError(f"`margin` should be None with label smoothing, got {self.margin}: it needs one label per row.")

    def objective(self) -> Objective:
        assigner = Assigner(self.smoothing, self.margin, self.normalize_scores, self.offsets)
        return add_leak(objective_for(self.metric, assigner, self.link), self.leak, self.leak_weight)

    def extra_repr(self) -> str:
        extra = (f", margin={self.margin}" if self.margin is not None else "") + (f", leak={self.leak}" if self.leak else "")
        return f"metric={self.metric}, link={self.link}{extra}" + (", normalize_scores=True" if self.normalize_scores else "")
