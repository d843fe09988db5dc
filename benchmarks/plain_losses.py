"""How much does a loss cost over its formula written by hand?

    python -m benchmarks.plain_losses [--batch 256] [--classes 2 10] [--seconds 2] [--out benchmarks/results]

One training step of the loss, forward and backward, in float32 on one thread. On one side the module, with its checks and
options; on the other the formula as one would write it in torch, without checks. Both take turns within every round, so that
noise of the machine affects both. Times are of the processor, and a ratio is the median over rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import metricfit as mf
from benchmarks._script import new_parser, take_turns, write_page, written_by

REPEATS = 10  # steps in a turn
Loss = Callable[[Tensor, Tensor], Tensor]


def expected_error(scores: Tensor, labels: Tensor) -> Tensor:
    return 1.0 - scores.softmax(1).gather(1, labels[:, None]).mean()


def leaky(scores: Tensor, labels: Tensor) -> Tensor:
    log_p = scores.log_softmax(1).gather(1, labels[:, None])
    return (1.0 - log_p.exp() - 0.1 * log_p).mean()


def soft_f1(scores: Tensor, labels: Tensor) -> Tensor:
    p, target = scores.softmax(1), F.one_hot(labels, scores.shape[1]).to(scores)
    f1 = 2.0 * (p * target).sum(0) / (p.sum(0) + target.sum(0)).clamp(min=1e-8)
    return 1.0 - f1.mean()


def dice(scores: Tensor, labels: Tensor) -> Tensor:
    p, target = scores.softmax(1), F.one_hot(labels, scores.shape[1]).to(scores)
    overlap = 2.0 * (p * target).sum(0) / (p.square().sum(0) + target.sum(0)).clamp(min=1e-8)
    return 1.0 - overlap.mean()


def hinge(scores: Tensor, labels: Tensor) -> Tensor:
    own = scores.gather(1, labels[:, None])
    rival = scores.scatter(1, labels[:, None], -torch.inf).amax(1, keepdim=True)
    return (1.0 + rival - own).clamp(min=0.0).mean()


def pairs() -> dict[str, tuple[nn.Module, Loss]]:
    """The module and the formula of each loss."""
    return {
        "expected error": (mf.ExpectedErrorLoss(), expected_error),
        "leaky expected error": (mf.LeakyExpectedErrorLoss(), leaky),
        "f1_macro": (mf.MetricLoss("f1_macro"), soft_f1),
        "Dice": (mf.DiceLoss(), dice),
        "hinge": (mf.HingeLoss(), hinge),
        "EXACT, against cross-entropy": (mf.ExactLoss(), nn.CrossEntropyLoss()),
    }


def step(loss: Loss, scores: Tensor, labels: Tensor) -> Tensor:
    scores.grad = None
    value = loss(scores, labels)
    value.backward()
    return value


def microseconds(losses: tuple[Loss, Loss], scores: Tensor, labels: Tensor, seconds: float) -> tuple[float, float, float]:
    """Median time of a step of each, and the median of their ratio."""
    steps = {name: partial(step, loss, scores, labels) for name, loss in zip(("module", "formula"), losses, strict=True)}
    ours, plain = take_turns(steps, seconds, repeats=REPEATS, clock=time.process_time).values()
    ratio = statistics.median(one / other for one, other in zip(ours, plain, strict=True))
    return 1e6 * statistics.median(ours), 1e6 * statistics.median(plain), ratio


def check(losses: tuple[Loss, Loss], scores: Tensor, labels: Tensor) -> None:
    """Both sides should be the same function."""
    values = [step(loss, scores, labels) for loss in losses]
    torch.testing.assert_close(*values, rtol=1e-4, atol=1e-5)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines = ["| classes | loss | module, µs | by hand, µs | ratio |", "|---:|---|---:|---:|---:|"]
    for n_classes in options.classes:
        scores = torch.randn(options.batch, n_classes, requires_grad=True)
        labels = torch.randint(n_classes, (options.batch,))
        for name, losses in pairs().items():
            if "against" not in name:
                check(losses, scores, labels)
            ours, plain, ratio = microseconds(losses, scores, labels, options.seconds)
            lines.append(f"| {n_classes} | {name} | {ours:.0f} | {plain:.0f} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    about = f"{written_by()} Batch {options.batch}."
    text = "\n".join(["# Losses against their formulas written by hand", "", about, "", *lines])
    write_page(options.out, "plain_losses.md", text)


if __name__ == "__main__":
    main()
