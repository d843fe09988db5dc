"""The losses of the papers: each is :class:`metricfit.MetricLoss` with the paper's metric, smoothing and link."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from metricfit import links
from metricfit.links import Link
from metricfit.losses._base import FunctionOptions, LossOptions
from metricfit.losses._metric import MetricLoss, metric_loss
from metricfit.metrics import MetricLike
from metricfit.smoothing import Normal, Softmax, SoftSet


def exact_loss(
    input: Tensor,
    target: Tensor,
    scale: float | Tensor = 1.0,
    margin: float | None = None,
    normalize_scores: bool = True,
    link: str | Link = "linear",
    method: str = "quadrature",
    **options: Unpack[FunctionOptions],
) -> Tensor:
    """Functional form of :class:`metricfit.ExactLoss`: expected error under normal noise.

    Parameters
    ----------
    input, target : Tensor
        Scores and labels, as in :func:`metricfit.functional.metric_loss`.
    scale, margin, normalize_scores, link, method : optional
        As in :class:`metricfit.ExactLoss`.
    **options : dict
        ``sample_weight``, and the options of :class:`metricfit.losses.ClassificationLoss` but ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import exact_loss
    >>> exact_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), normalize_scores=False)    # 1 - Phi(1 / sqrt 2)
    tensor(0.2398)
    """
    noise = Normal(method=method)
    return metric_loss(
        input, target, "accuracy", noise, link, scale=scale, margin=margin, normalize_scores=normalize_scores, **options
    )


class ExactLoss(MetricLoss):
    """EXACT: expected accuracy under normal noise on the scores.

    The four improvements of section 4.5 of the paper can be switched on or off: ``margin``; ``normalize_scores``; a schedule
    of the scale, by passing ``scale=schedule(step)`` to each call; and :class:`metricfit.GradientNormalizer` after
    ``backward``.

    Parameters
    ----------
    scale : float or Tensor, default=1.0
        Standard deviation of the noise.
    margin : float, default=None
        Upper limit on how far the label's score counts as ahead of another, Eq. (19).
    normalize_scores : bool, default=True
        Subtract the batch's mean score and divide by its standard deviation, Listing 1.
    link : str or Link, default="linear"
        "log_of_mean" is -log E[p], the log form in the critique of the paper (kexue.fm/archives/9098). "log" is the mean of
        -log p, which the critique recommends.
    method : {"quadrature", "genz", "monte_carlo"}, default="quadrature"
        How the probability is computed, see :class:`metricfit.smoothing.Normal`.
    order : int, default=None
        Number of quadrature nodes.
    samples : int, default=None
        Number of samples of the random methods.
    generator : torch.Generator, default=None
        Random generator of these methods.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    References
    ----------
    Karpukhin et al., "EXACT", arXiv 2205.09615, Eq. (15) to (19), Listing 1.

    Examples
    --------
    >>> import torch
    >>> from metricfit import ExactLoss
    >>> loss = ExactLoss(normalize_scores=False)
    >>> loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))          # 1 - Phi(1 / sqrt 2)
    tensor(0.2398)
    """

    def __init__(
        self,
        scale: float | Tensor = 1.0,
        margin: float | None = None,
        normalize_scores: bool = True,
        link: str | Link = "linear",
        method: str = "quadrature",
        *,
        order: int | None = None,
        samples: int | None = None,
        generator: torch.Generator | None = None,
        **options: Unpack[LossOptions],
    ) -> None:
        smoothing = Normal(scale, method, order=order, samples=samples, generator=generator)
        super().__init__("accuracy", smoothing, link, margin=margin, normalize_scores=normalize_scores, **options)


def expected_error_loss(
    input: Tensor, target: Tensor, temperature: float | Tensor = 1.0, **options: Unpack[FunctionOptions]
) -> Tensor:
    """Functional form of :class:`metricfit.ExpectedErrorLoss`: 1 - p_y under the softmax.

    Parameters
    ----------
    input, target : Tensor
        Scores and labels, as in :func:`metricfit.functional.metric_loss`.
    temperature : optional
        As in :class:`metricfit.ExpectedErrorLoss`.
    **options : dict
        ``sample_weight``, and the options of :class:`metricfit.losses.ClassificationLoss` but ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import expected_error_loss
    >>> expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """
    return metric_loss(input, target, "accuracy", Softmax(), "linear", scale=temperature, **options)


class ExpectedErrorLoss(MetricLoss):
    """Expected error of a class drawn from the softmax, 1 - p_y.

    Parameters
    ----------
    temperature : float or Tensor, default=1.0
        Temperature of the softmax.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    References
    ----------
    İrsoy, "On Expected Accuracy", arXiv 1905.00448, Eq. (3) to (5).

    Examples
    --------
    >>> import torch
    >>> from metricfit import ExpectedErrorLoss
    >>> ExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """

    def __init__(self, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), "linear", **options)


def leaky_expected_error_loss(
    input: Tensor, target: Tensor, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[FunctionOptions]
) -> Tensor:
    """Functional form of :class:`metricfit.LeakyExpectedErrorLoss`: (1 - p_y) - alpha log p_y.

    Parameters
    ----------
    input, target : Tensor
        Scores and labels, as in :func:`metricfit.functional.metric_loss`.
    alpha, temperature : optional
        As in :class:`metricfit.LeakyExpectedErrorLoss`.
    **options : dict
        ``sample_weight``, and the options of :class:`metricfit.losses.ClassificationLoss` but ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import leaky_expected_error_loss
    >>> leaky_expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))             # 0.5 + 0.1 log 2
    tensor(0.5693)
    """
    return metric_loss(input, target, "accuracy", Softmax(), links.Leaky(alpha), scale=temperature, **options)


class LeakyExpectedErrorLoss(MetricLoss):
    """Expected error with a leak of cross-entropy, (1 - p_y) - alpha log p_y.

    Parameters
    ----------
    alpha : float, default=0.1
        The leak.
    temperature : float or Tensor, default=1.0
        Temperature of the softmax.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    References
    ----------
    İrsoy, "On Expected Accuracy", arXiv 1905.00448, Eq. (6) plus the constant 1.

    Examples
    --------
    >>> import torch
    >>> from metricfit import LeakyExpectedErrorLoss
    >>> LeakyExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))   # 0.5 + 0.1 log 2
    tensor(0.5693)
    """

    def __init__(self, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), links.Leaky(alpha), **options)


def east_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "f1_macro",
    temperature: float | Tensor = 0.2,
    link: str | Link = "linear",
    **options: Unpack[FunctionOptions],
) -> Tensor:
    """Functional form of :class:`metricfit.EastLoss`: a metric of the soft-set confusion matrix.

    Parameters
    ----------
    input, target : Tensor
        Scores and labels, as in :func:`metricfit.functional.metric_loss`.
    metric, temperature, link : optional
        As in :class:`metricfit.EastLoss`.
    **options : dict
        ``sample_weight``, and the options of :class:`metricfit.losses.ClassificationLoss` but ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import east_loss
    >>> east_loss(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]), "accuracy")           # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """
    return metric_loss(input, target, metric, SoftSet(), link, scale=temperature, **options)


class EastLoss(MetricLoss):
    """EAST: a metric of the soft-set confusion matrix.

    For the annealing of the paper, :func:`metricfit.training.anneal` trains at each T_k = 0.2 r**k until early stopping. In
    your own loop, pass ``scale=0.2 * r**k`` to each call.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1_macro"
        The metric.
    temperature : float or Tensor, default=0.2
        Temperature of the soft sets, between 0 and 0.4, see :class:`metricfit.smoothing.SoftSet`.
    link : str or Link, default="linear"
        The link. The paper's is "linear".
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    References
    ----------
    Li et al., "EAST", arXiv 2405.20954, Eq. (3) to (6).

    Examples
    --------
    >>> import torch
    >>> from metricfit import EastLoss
    >>> EastLoss("accuracy")(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]))  # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """

    def __init__(
        self,
        metric: MetricLike = "f1_macro",
        temperature: float | Tensor = 0.2,
        link: str | Link = "linear",
        **options: Unpack[LossOptions],
    ) -> None:
        super().__init__(metric, SoftSet(temperature), link, **options)
