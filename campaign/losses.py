"""Properties of all losses, at the ends of what is allowed: extreme scores and weights, layouts, both algorithms.

Each case is a function of its own seed: ``python -c "from campaign.losses import check_case; print(check_case(SEED))"``.
It checks that value and gradient are numbers within their limits, and one more property, or that bad input is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import metricfit as mf
from campaign._loss_cases import Case, draw_case, draw_scores, laid_out, pick
from campaign._tally import Outcome, Tally
from metricfit.links import Linear
from metricfit.losses import PerRow
from metricfit.numerics import fused

BAD_SHARE = 0.03  # of the cases are about bad input
NO_MORE_SHARE = 0.4  # of the others check value and gradient only, which is cheaper
ROUNDING = {torch.float64: 1e-8, torch.float32: 2e-4, torch.bfloat16: 2e-4, torch.float16: 2e-4}  # half is float32 inside


LARGEST = {torch.float64: 1e300, torch.float32: 1e33, torch.bfloat16: 1e33, torch.float16: 6e4}


class PropertyError(Exception):
    """A property does not hold."""


def run(random: np.random.Generator, n_cases: int, folder: Path) -> Tally:
    """Check cases of these seeds."""
    tally = Tally("losses")
    for seed in random.integers(0, 2**62, n_cases):
        outcome, words = check_case(int(seed))
        tally.count(outcome, f"check_case({seed}): {words}")
    return tally


def check_case(seed: int) -> tuple[Outcome, str]:
    """How the case of this seed ended, and what was wrong with it."""
    random = np.random.default_rng(seed)
    torch.default_generator.manual_seed(seed)
    is_bad = random.random() < BAD_SHARE
    words = "while it was drawn"
    try:
        case = draw_case(random)
        words = case.words
        if is_bad:
            return _check_bad_input(random, case), words
        with fused.disable() if random.random() < 0.3 else contextlib.nullcontext():
            case = case.changed(known=_check_numbers(case))
            if random.random() < NO_MORE_SHARE:
                return Outcome.ANSWERED, ""
            property_ = pick(random, PROPERTIES)
            words = f"{property_.__name__}, {words}"
            property_(random, case)
    except PropertyError as violation:
        return Outcome.WRONG, f"{violation} ({words})"
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("The weights of"):
            return Outcome.REFUSED, ""
        return Outcome.TRACEBACK, f"{type(error).__name__}: {error} ({words})"
    return Outcome.ANSWERED, ""


def value_and_gradient(case: Case) -> tuple[Tensor, Tensor]:
    """The loss, and its gradient by the scores in their plain layout."""
    if case.known is not None:
        return case.known
    case.loss.forget()
    if case.layout == "pixels":
        weight = None if case.weight is None else case.weight[None]
        target = case.target[None] if case.target.ndim == 1 else case.target.T[None]
        pixels = case.scores.T[None].requires_grad_()
        value = case.loss(pixels, target, weight)
        return value.detach(), torch.autograd.grad(value, pixels)[0][0].T
    scores = laid_out(case.scores, case.layout).detach().requires_grad_()
    value = case.loss(scores, case.target, case.weight)
    return value.detach(), torch.autograd.grad(value, scores)[0]


def statistics(case: Case) -> Tensor:
    return case.loss.statistics(case.scores, case.target, case.weight).detach()


def _check_numbers(case: Case) -> tuple[Tensor, Tensor]:
    """No NaN; finite if the loss is a mean; within the limits of the loss."""
    value, gradient = value_and_gradient(case)
    _require(not value.isnan(), f"the loss is {value}")
    _require(not gradient.isnan().any(), "the gradient is NaN")
    if case.is_mean:
        _require(bool(value.isfinite()), f"the loss is {value}")
        _require(bool(gradient.isfinite().all()), "the gradient is infinite")
        low, high = _limits(case)
        _require(low <= value.item() <= high, f"the loss is {value.item()}, not within {low} ... {high}")
    return value, gradient


def _limits(case: Case) -> tuple[float, float]:
    """Limits of a mean."""
    slack = ROUNDING[case.scores.dtype]
    if isinstance(case.loss, mf.DiceLoss):
        return -slack, 1.0 + slack
    shares = (case.target.ndim == 2 or case.loss.label_smoothing) and case.loss.weight is not None  # as torch, no mean
    if not isinstance(case.loss, mf.MetricLoss) or case.loss.leak or shares or not isinstance(case.loss.link, Linear):
        return -slack, np.inf
    low, high = case.loss.metric.bounds
    if not high > low:
        return -slack, np.inf
    total = case.target.double().sum(1).max().item() if case.target.ndim == 2 else 1.0  # in bfloat16 shares add up to 1.001
    return -slack * (high - low), (high - low) * (total + slack)


def _permuted(random: np.random.Generator, case: Case) -> None:
    """The order of the rows does not matter."""
    if case.is_comparable:
        _require_same(case, case.rows(torch.from_numpy(random.permutation(case.n_rows))))


def _contiguous(random: np.random.Generator, case: Case) -> None:
    """The places of the scores in memory do not matter."""
    if case.is_comparable:
        _require_same(case, case.changed(layout="plain"), with_gradient=True)


def _plain(random: np.random.Generator, case: Case) -> None:
    """The fused kernels and the portable form give the same numbers.

    Not where a link takes the logarithm of a gain: the two are accurate for the gain itself.
    """
    if case.is_comparable and not _has_logarithms(case):
        one = _numbers(case, True)
        with fused.disable():
            _compare(case, one, _numbers(case.changed(), True))


def _without_zero(random: np.random.Generator, case: Case) -> None:
    """A row of weight zero does not matter, whatever its scores are."""
    if not case.is_comparable or case.n_rows < 2 or case.layout == "expanded":
        return
    weight = torch.ones(case.n_rows, dtype=torch.float64) if case.weight is None else case.weight.clone()
    row = int(random.integers(case.n_rows))
    kept = torch.arange(case.n_rows) != row
    scores = case.scores.clone()
    scores[row] = draw_scores(random, pick(random, ("maximum", "huge", "mixed", "tiny")), 1, scores.shape[1], scores.dtype)[0]
    weight[row] = 0.0
    case = case.changed(weight=weight, scores=scores)
    _, gradient = value_and_gradient(case)
    _require(not gradient[row].any(), "a row of weight zero has a gradient")
    value, others, sums = _numbers(case, True)
    _compare(case, (value, None if others is None else others[kept], sums), _numbers(case.rows(kept), True))


def _shifted(random: np.random.Generator, case: Case) -> None:
    """A constant added to all scores of a row does not matter: to scores that hold the sums exactly."""
    if not case.is_comparable or case.scores.dtype not in (torch.float64, torch.float32) or case.layout == "expanded":
        return
    n_rows = 1 if case.normalizes else case.n_rows  # else one mean and deviation for all rows
    scores = torch.from_numpy(random.integers(-512, 513, case.scores.shape) / 64.0).to(case.scores)
    shifts = torch.from_numpy(random.integers(-1000, 1001, (n_rows, 1))).to(scores)
    case = case.changed(scores=scores)
    _require_same(case, case.changed(scores=scores + shifts), with_gradient=True)


def _scaled_weights(random: np.random.Generator, case: Case) -> None:
    """A factor of all weights does not matter for a mean."""
    if not case.is_comparable or not case.is_mean or case.loss.memory is not None:
        return
    weight = torch.from_numpy(random.uniform(0.5, 2.0, case.n_rows))
    case = case.changed(weight=weight)
    factor = 2.0 ** int(random.integers(-1000, 1000))
    one, other = value_and_gradient(case), value_and_gradient(case.changed(weight=weight * factor))
    if _is_a_mean(case):
        _compare(case, (*one, None), (*other, None))


def _scaled_scores(random: np.random.Generator, case: Case) -> None:
    """A factor of all scores does not matter if they are normalised."""
    if (
        not case.is_comparable
        or not case.normalizes
        or case.loss.offsets is not None
        or case.loss.leak
        or case.loss.margin == 1e30
    ):
        return
    if case.scores.dtype not in (torch.float64, torch.float32):
        return
    most = 110 if case.scores.dtype == torch.float32 else 1000
    scores = torch.from_numpy(random.integers(-512, 513, case.scores.shape) / 64.0).to(case.scores)
    factor = 2.0 ** int(random.integers(-most, most))
    _require_same(case.changed(scores=scores), case.changed(scores=scores * factor))


PROPERTIES = (_permuted, _contiguous, _plain, _plain, _without_zero, _without_zero, _shifted, _scaled_weights, _scaled_scores)

Numbers = tuple[Tensor, Tensor | None, Tensor | None]  # value, gradient, statistics


def _is_a_mean(case: Case) -> bool:
    """Whether the loss is a mean over rows: a function of the matrix can be as sensitive as 0/0 to rounding."""
    return isinstance(case.loss.objective(), PerRow)


def _has_logarithms(case: Case) -> bool:
    """Whether the loss is a logarithm of a gain: near zero its slope is as large as a number can be."""
    is_cost = isinstance(getattr(case.loss, "metric", None), mf.metrics.Cost)
    return is_cost and not isinstance(case.loss.link, Linear)


def _numbers(case: Case, with_gradient: bool = False) -> Numbers:
    """What is compared: value and gradient of a mean over rows, the statistics of another loss."""
    value, gradient = value_and_gradient(case)
    if _is_a_mean(case):
        return value, gradient if with_gradient and not _has_logarithms(case) else None, None
    with contextlib.suppress(ValueError):  # weights that only a mean takes
        return torch.zeros(()), None, statistics(case)
    return torch.zeros(()), None, None


def _require_same(case: Case, other: Case, with_gradient: bool = False) -> None:
    _compare(case, _numbers(case, with_gradient), _numbers(other, with_gradient))


def _compare(case: Case, one: Numbers, other: Numbers) -> None:
    for name, first, second in zip(("loss", "gradient", "statistics"), one, other, strict=True):
        if first is None or second is None:
            continue
        first, second = first.double(), second.double()
        size = max(first.abs().max().item(), second.abs().max().item())
        if size > LARGEST[case.scores.dtype]:  # sums of such numbers are the largest number
            continue
        difference = (first - second).abs()[first != second]
        slack = ROUNDING[case.scores.dtype] * (size + (_unit(case) if name == "gradient" else case.is_mean))
        if name == "gradient":
            slack += torch.finfo(case.scores.dtype).eps * size + torch.finfo(case.scores.dtype).smallest_normal
        if difference.numel() and not difference.max().item() <= slack:
            raise PropertyError(f"the {name} differs by {difference.max():.2g}: {first.tolist()} and {second.tolist()}"[:600])


def _unit(case: Case) -> float:
    """About the largest gradient of a probability: one over the width of the smoothing, in units of the scores."""
    unit = 1.0 if case.is_mean or case.weight is None else float(case.weight.max())
    if isinstance(case.loss, mf.MetricLoss):
        unit /= min(max(float(case.loss.smoothing.width), 1e-15), 1e30)
    if case.normalizes:
        scores = case.scores.double()
        size = max(float(scores.abs().max()), 1e-300)
        unit /= max(float((scores / size).std()) * size, 1e-300)
        value, _ = value_and_gradient(case)
        unit *= 1.0 + abs(float(value)) ** 0.5  # parts of a gradient by the scale of the scores cancel
    return unit


def _check_bad_input(random: np.random.Generator, case: Case) -> Outcome:
    """Bad input is refused in one line; NaN that nobody looks for gives NaN."""
    make: Callable[[], Case] = pick(random, tuple(_bad_inputs(random, case)))
    bad = make()
    try:
        value, _ = value_and_gradient(bad.changed(layout="plain"))
    except (ValueError, TypeError) as error:
        if _is_clean(error):
            return Outcome.REFUSED
        raise
    raise PropertyError(f"bad input gave {value}")


def _bad_inputs(random: np.random.Generator, case: Case) -> list[Callable[[], Case]]:
    n, k = case.scores.shape
    spot = random.integers(n), random.integers(k)

    def with_score(number: float) -> Case:
        scores = case.scores.clone()
        scores[spot] = number
        return case.changed(scores=scores)

    labels = torch.zeros(n, dtype=torch.long)
    return [
        lambda: with_score(np.nan),
        lambda: with_score(np.inf),
        lambda: case.changed(target=labels + k),
        lambda: case.changed(target=labels - 1),
        lambda: case.changed(target=torch.zeros(n + 1, dtype=torch.long)),
        lambda: case.changed(weight=torch.full((n,), -1.0)),
        lambda: case.changed(weight=torch.full((n,), np.nan)),
        lambda: case.changed(weight=torch.ones(n + 1)),
    ]


def _is_clean(error: Exception) -> bool:
    """Whether the message is one line of the package's own."""
    return str(error).startswith(("`", "The weights of")) and "\n" not in str(error)


def _require(holds: bool, words: str) -> None:
    if not holds:
        raise PropertyError(words)
