"""A method: what is minimised, and how its width moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from metricfit import links
from metricfit._checks import check_number, check_option
from metricfit.links import Link
from metricfit.losses import ClassificationLoss, CrossEntropyLoss, HingeLoss, MetricLoss
from metricfit.metrics import Metric
from metricfit.smoothing import Normal, Smoothing, Softmax

LOSSES = ("cross_entropy", "hinge", "metric")
OFFSETS = ("none", "tuned", "trained")
SCRATCH, CROSS_ENTROPY = "scratch", "cross_entropy"
STOPS = ("metric", "loss", "epochs")


@dataclass(frozen=True)
class NetworkTraining:
    """How a method trains networks: how its width moves, and when it stops.

    Args:
        widths: the first and the last width of a geometric schedule over all epochs; by default those of the method.
        anneals: stay at each width until the loss of the held-out rows stops falling, as EAST does
            (:func:`metricfit.training.anneal`).
        stop_by: the held-out ``"metric"`` or ``"loss"`` stops the training and chooses the epoch; ``"epochs"`` trains them all
            and keeps the last weights.
        patience, max_epochs: what ``MetricClassifier`` takes by default.
        last_learning_rate: where the learning rate falls to over all epochs, geometrically; None keeps it.
    """

    widths: tuple[float, ...] = ()
    anneals: bool = False
    stop_by: str = "metric"
    patience: int = 15
    max_epochs: int = 200
    last_learning_rate: float | None = None

    def __post_init__(self) -> None:
        check_option(self.stop_by, "stop_by", STOPS)
        _check_widths(self.widths)
        for name in ("patience", "max_epochs"):
            check_number(getattr(self, name), name, 1)


@dataclass(frozen=True)
class Method:
    """One way of training, for any learner and any metric.

    Args:
        name: how it is called in Python, on the command line, in reports and in files.
        title: the name in a sentence; ``name`` by default.
        summary: one line that says what it does.
        papers: where it comes from.
        loss: ``"metric"``, ``"cross_entropy"`` or ``"hinge"``.
        smoothing, link, margin, normalize_scores, leak: what the loss of a metric is made of, as in
            :class:`metricfit.MetricLoss`.
        many_smoothing: the smoothing for more than two classes, if it is another.
        margins: candidates for the margin. Held-out rows choose one: those of the first split, or of more splits until there
            are 500. In a tie it is the first.
        widths: the widths of the smoothing, one after the other. Linear models are trained at each of them, networks follow a
            geometric schedule from the first to the last. Without them the smoothing keeps its own width.
        normalize_gradients: divide gradients by their running norm (networks).
        network: what else is particular to networks.
        offsets: ``"none"``, ``"tuned"`` on held-out scores, or ``"trained"`` with the weights. Networks do not train
            offsets: with a leak they take those of their start, without one the last layer has a bias.
        start: ``"scratch"``, from random weights, or the name of the method whose model it starts from.

    >>> Method("smooth_mcc", smoothing=Softmax(0.5), leak=0.2).trains_metric
    True
    """

    name: str
    title: str = ""
    summary: str = ""
    papers: tuple[str, ...] = ()
    loss: str = "metric"
    smoothing: Smoothing | None = None
    many_smoothing: Smoothing | None = None
    link: str | Link = "linear"
    margin: float | None = None
    margins: tuple[float, ...] = ()
    normalize_scores: bool = False
    leak: float = 0.0
    widths: tuple[float, ...] = ()
    normalize_gradients: bool = False
    network: NetworkTraining = field(default_factory=NetworkTraining)
    offsets: str = "trained"
    start: str = SCRATCH

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_option(self.loss, "loss", LOSSES)
        check_option(self.offsets, "offsets", OFFSETS)
        check_number(self.leak, "leak", 0.0)
        _check_widths(self.widths)
        for margin in self.margins:
            check_number(margin, "margins", 0.0)
        links.get(self.link)
        for name in ("smoothing", "many_smoothing"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Smoothing):
                raise TypeError(f"`{name}` should be one of `mf.smoothing`, for example `Softmax()`, got {value!r}.")
        object.__setattr__(self, "title", self.title or self.name)

    @property
    def trains_metric(self) -> bool:
        """Whether the metric itself is in the loss."""
        return self.loss == "metric"

    def with_margin(self, margin: float) -> Method:
        """With one of the candidates for the margin."""
        return replace(self, margin=margin, margins=())

    def check_start(self, known: Sequence[str] = (SCRATCH, CROSS_ENTROPY)) -> None:
        """Raise a ValueError unless the method starts at one of these: alone, or at a candidate before it in a choice."""
        if self.start not in known:
            raise ValueError(f"`start` of {self.name!r} should be one of {', '.join(map(repr, known))}; got {self.start!r}.")

    def smoothing_for(self, n_classes: int) -> Smoothing:
        """The smoothing for this number of classes; the softmax if none was given."""
        many = self.many_smoothing if n_classes > 2 else None
        return many or self.smoothing or Softmax()

    def with_smoothing(self, kind: str) -> Method:
        """With ``"normal"`` noise or the ``"softmax"``, where the method has normal noise; ``"auto"`` changes nothing."""
        if kind == "auto" or type(self.smoothing) is not Normal:
            return self
        return replace(
            self, smoothing=self.smoothing if kind == "normal" else self.many_smoothing or Softmax(), many_smoothing=None
        )

    def build_loss(
        self, metric: Metric, n_classes: int, class_weight: Tensor | None = None, offsets: Tensor | None = None
    ) -> ClassificationLoss:
        """The loss as a module. ``class_weight`` (k,) counts in cross-entropy and hinge, never in the metric."""
        if self.loss == "cross_entropy":
            return CrossEntropyLoss(weight=class_weight)
        if self.loss == "hinge":
            return HingeLoss(1.0 if self.margin is None else self.margin, weight=class_weight)
        return MetricLoss(
            metric,
            self.smoothing_for(n_classes),
            self.link,
            margin=self.margin,
            normalize_scores=self.normalize_scores,
            leak=self.leak * metric.unit,
            leak_weight=class_weight if self.leak else None,
            offsets=offsets,
        )


@dataclass(frozen=True)
class Choice:
    """Several methods, and a guard that chooses among them by rows that they have not seen.

    Args:
        candidates: the plainest first; each has to beat the one that stands (:mod:`metricfit.decisions`).
        by_accuracy: for networks: the candidates are trained for accuracy, each from scratch, stopped by the accuracy of
            held-out rows, and the most accurate is chosen. Offsets for the metric come after.
    """

    name: str
    candidates: tuple[Method, ...]
    title: str = ""
    summary: str = ""
    papers: tuple[str, ...] = ()
    by_accuracy: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.candidates or not all(isinstance(candidate, Method) for candidate in self.candidates):
            raise TypeError(f"`candidates` should be methods, at least one, got {self.candidates!r}.")
        before = [SCRATCH, CROSS_ENTROPY]
        for candidate in self.candidates:
            candidate.check_start(before)
            before.append(candidate.name)
        object.__setattr__(self, "title", self.title or self.name)

    @property
    def trains_metric(self) -> bool:
        """Whether any candidate does."""
        return any(candidate.trains_metric for candidate in self.candidates)

    def with_smoothing(self, kind: str) -> Choice:
        return replace(self, candidates=tuple(candidate.with_smoothing(kind) for candidate in self.candidates))

    def candidate(self, name: str) -> Method | None:
        return next((candidate for candidate in self.candidates if candidate.name == name), None)


def _check_widths(widths: Sequence[float]) -> None:
    for width in widths:
        check_number(width, "widths", 0.0, open_low=True)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"`name` should be a text that is not empty, got {name!r}.")
