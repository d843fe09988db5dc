"""A method: what is minimised, and how its width moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from metricfit import links
from metricfit._checks import check_number, check_option
from metricfit.links import Link
from metricfit.losses import ClassificationLoss, CrossEntropyLoss, HingeLoss, MetricLoss
from metricfit.metrics import Metric
from metricfit.smoothing import Smoothing, Softmax

LOSSES = ("cross_entropy", "hinge", "metric")
OFFSETS = ("none", "tuned", "trained")
SCRATCH, CROSS_ENTROPY = "scratch", "cross_entropy"
STOPS = ("metric", "loss", "epochs")


@dataclass(frozen=True)
class NetworkTraining:
    """How a method trains networks: how its width moves, and when it stops.

    Parameters
    ----------
    widths : tuple of float, default=()
        The first and the last width of a geometric schedule over all epochs; by default those of the method.
    anneals : bool, default=False
        Stay at each width until the loss of the held-out rows stops falling, as EAST does (:func:`metricfit.training.anneal`).
    stop_by : {"metric", "loss", "epochs"}, default="metric"
        The held-out "metric" or "loss" stops the training and chooses the epoch. "epochs" trains them all and keeps the last
        weights.
    patience : int, default=15
        Number of epochs without gain after which training stops, unless :class:`metricfit.Network` says otherwise.
    max_epochs : int, default=200
        Maximum number of epochs, unless :class:`metricfit.Network` says otherwise.
    last_learning_rate : float, default=None
        The last learning rate, to which it falls geometrically over all epochs. None keeps it constant.

    Examples
    --------
    >>> from metricfit.methods import get
    >>> network = get("exact").network
    >>> network.widths, network.stop_by, network.last_learning_rate
    ((10.0, 1.0), 'epochs', 0.0001)
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

    Parameters
    ----------
    name : str
        The name in Python, on the command line, in reports and in files.
    title : str, default=""
        The name in a sentence; by default ``name``.
    summary : str, default=""
        One line that says what the method does.
    papers : tuple of str, default=()
        Where it comes from.
    loss : {"metric", "cross_entropy", "hinge"}, default="metric"
        What is minimised.
    smoothing : Smoothing, default=None
        The smoothing of the metric, as in :class:`metricfit.MetricLoss`; by default the softmax.
    many_smoothing : Smoothing, default=None
        The smoothing for more than two classes, if it differs.
    link : str or Link, default="linear"
        The link, as in :class:`metricfit.MetricLoss`.
    margin : float, default=None
        The margin, as in :class:`metricfit.MetricLoss`.
    margins : tuple of float, default=()
        Candidates for the margin. Held-out rows choose one: those of the first split, or of more splits until there are 500.
        The first wins a tie.
    normalize_scores : bool, default=False
        Normalise the scores of a batch, as in :class:`metricfit.MetricLoss`.
    leak : float, default=0.0
        Weight of the cross-entropy that is added, as in :class:`metricfit.MetricLoss`.
    widths : tuple of float, default=()
        Widths of the smoothing, one after the other. Linear models are trained at each of them, networks follow a geometric
        schedule from the first to the last. Without them the smoothing keeps its width.
    normalize_gradients : bool, default=False
        Divide the gradients of networks by their running norm.
    network : NetworkTraining, default=NetworkTraining()
        Options for networks only.
    offsets : {"none", "tuned", "trained"}, default="trained"
        "tuned" on held-out scores, or "trained" with the weights. Networks do not train offsets: with a leak they take those
        of their start, without one the last layer has a bias.
    start : str, default="scratch"
        "scratch" for random weights, or the name of the method whose model it starts from.

    Examples
    --------
    >>> from metricfit.methods import Method
    >>> from metricfit.smoothing import Softmax
    >>> method = Method("smooth_mcc", smoothing=Softmax(0.5), leak=0.2)
    >>> method.trains_metric, method.smoothing_for(n_classes=3)
    (True, Softmax(temperature=0.5))

    Pass it as ``MetricClassifier("mcc", method=method)``, or :func:`register` it to use its name.
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

    def smoothing_for(self, n_classes: int) -> Smoothing:
        """Smoothing for a number of classes.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        Smoothing
            The smoothing; by default the softmax.
        """
        many = self.many_smoothing if n_classes > 2 else None
        return many or self.smoothing or Softmax()

    def build_loss(
        self, metric: Metric, n_classes: int, class_weight: Tensor | None = None, offsets: Tensor | None = None
    ) -> ClassificationLoss:
        """Build the loss as a module.

        Parameters
        ----------
        metric : Metric
            The metric to train for.
        n_classes : int
            The number of classes.
        class_weight : Tensor of shape (k,), default=None
            Weights of the classes in cross-entropy and hinge, never in the metric.
        offsets : Tensor of shape (k,), default=None
            Added to the scores in the metric.

        Returns
        -------
        ClassificationLoss
            The loss.
        """
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
    """Several methods, and a guard that chooses among them by held-out rows.

    Parameters
    ----------
    name : str
        The name in Python, on the command line, in reports and in files.
    candidates : tuple of Method
        The plainest first. Each has to beat the current winner.
    title : str, default=""
        The name in a sentence; by default ``name``.
    summary : str, default=""
        One line that says what the choice does.
    papers : tuple of str, default=()
        Where it comes from.
    by_accuracy : bool, default=False
        For networks: train the candidates for accuracy, each from scratch, let the accuracy of held-out rows stop them and
        choose one. Offsets for the metric come after.

    Examples
    --------
    >>> from metricfit.methods import Choice, get
    >>> choice = Choice("plain_or_leaky", (get("cross_entropy"), get("leaky")))
    >>> [method.name for method in choice.candidates]
    ['cross_entropy', 'leaky']
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
            check_start(candidate, before)
            before.append(candidate.name)
        object.__setattr__(self, "title", self.title or self.name)


def check_start(method: Method, known: Sequence[str] = (SCRATCH, CROSS_ENTROPY)) -> None:
    """Raise a ValueError if the method cannot start where it says; in a choice it may start at the candidates before it."""
    if method.start not in known:
        raise ValueError(f"`start` of {method.name!r} should be one of {', '.join(map(repr, known))}; got {method.start!r}.")


def _check_widths(widths: Sequence[float]) -> None:
    for width in widths:
        check_number(width, "widths", 0.0, open_low=True)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"`name` should be a text that is not empty, got {name!r}.")
