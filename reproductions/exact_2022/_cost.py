"""Figure 7: time and memory of EXACT's loss, forward and backward, by Genz's algorithm and by quadrature."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

import metricfit as mf

BATCH = 64


def losses(samples: int) -> dict[str, nn.Module]:
    """Each beside cross-entropy, to which its time is a ratio."""
    return {
        "cross-entropy": nn.CrossEntropyLoss(),
        "quadrature": mf.ExactLoss(),
        "Genz": mf.ExactLoss(method="genz", samples=samples),
    }


def measure(n_classes: int, samples: int, rounds: int) -> dict[str, float]:
    """Milliseconds (median of rounds in which the methods take turns) and megabytes per element of a batch."""
    random = torch.Generator().manual_seed(n_classes)
    scores = torch.randn(BATCH, n_classes, generator=random).requires_grad_()
    labels = torch.randint(n_classes, (BATCH,), generator=random)

    def step(loss: nn.Module) -> Callable[[], None]:
        return lambda: torch.autograd.backward(loss(scores, labels))

    steps = {method: step(loss) for method, loss in losses(samples).items()}
    times: dict[str, list[float]] = {method: [] for method in steps}
    for _ in range(rounds + 1):  # the first one warms up
        for method, run in steps.items():
            start = time.perf_counter()
            run()
            times[method].append(1e3 * (time.perf_counter() - start))
    found = {f"{method} ms": statistics.median(each[1:]) / BATCH for method, each in times.items()}
    return found | {f"{method} MB": peak_megabytes(run) / BATCH for method, run in steps.items()}


def peak_megabytes(run: Callable[[], None]) -> float:
    """The most that torch has allocated at once beyond what was there, by its own account.

    >>> peak_megabytes(lambda: [torch.zeros(250_000) for _ in range(4)])
    4.0
    """
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler says that it starts and stops
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    account, peak = 0, 0
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        account += event.nbytes()
        peak = max(peak, account)
    return peak / 1e6
