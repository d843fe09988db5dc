"""
Speed and exactness of expected accuracy
========================================

The EXACT paper computes expected accuracy by Genz's algorithm, a random estimate of an integral in :math:`k - 1`
dimensions. The same integral has a one-dimensional form, which metricfit evaluates by quadrature: deterministic,
linear in the number of classes, and exact to rounding. Both are available, so you can compare them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import torch

import metricfit as mf

ROWS = 64


def step(smoothing, scores, labels):
    """Seconds of the fastest of three steps, and the gradient."""
    seconds = []
    for _ in range(3):
        leaf = scores.clone().requires_grad_()
        start = time.perf_counter()
        (1 - smoothing.label_probability(leaf, labels)).mean().backward()
        seconds.append(time.perf_counter() - start)
    return min(seconds), leaf.grad


sizes = (2, 5, 10, 30, 100)
methods = {
    "quadrature": lambda: mf.smoothing.Normal(1.0),
    "Genz, 16 samples": lambda: mf.smoothing.Normal(1.0, "genz", generator=torch.Generator().manual_seed(0)),
    "Monte Carlo, 16 samples": lambda: mf.smoothing.Normal(1.0, "monte_carlo", generator=torch.Generator().manual_seed(0)),
}
seconds, errors = {name: [] for name in methods}, {name: [] for name in methods}
for size in sizes:
    random = torch.Generator().manual_seed(size)
    scores, labels = torch.randn(ROWS, size, generator=random), torch.randint(size, (ROWS,), generator=random)
    _, reference = step(mf.smoothing.Normal(1.0), scores.double(), labels)  # float64
    for name, make in methods.items():
        taken, gradient = step(make(), scores, labels)
        seconds[name].append(1e3 * taken)
        errors[name].append(float((gradient - reference).norm() / reference.norm()))

# %%
# Times depend on the machine; compare the slopes. With 16 samples, Genz's gradient is off by a few percent, and the
# error of Monte Carlo is larger than the gradient itself.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name in methods:
    left.loglog(sizes, seconds[name], "o-", label=name)
    right.loglog(sizes, np.maximum(errors[name], 1e-9), "o-", label=name)
left.set(title=f"One step, {ROWS} rows, float32", xlabel="classes", ylabel="milliseconds")
right.set(title="Error of the gradient", xlabel="classes", ylabel="relative to float64 quadrature")
left.legend()
plt.show()

# %%
# ``python -m benchmarks.authors_code`` times the authors' code next to ours. It takes 4, 10 and 435 times as long at 2,
# 10 and 100 classes on two cores.
