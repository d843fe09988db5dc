"""Is a step of each network the same under ``torch.compile`` and bfloat16 autocast? The step in float32 is the reference.

python -m benchmarks.network_steps [--width 0.25] [--out benchmarks/results]

Prints the relative difference of the loss, of the norm of its gradient, and of the loss after one step, in percent. Dropout is
off, because compiled code draws other random numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from reproductions._markdown import table
from reproductions.lab import networks
from reproductions.lab.networks import Trees

N_CLASSES, N_IMAGES, N_WORDS = 10, 128, 500
RATE = 0.001
WAYS = ("torch.compile", "bfloat16")


@dataclass(frozen=True)
class Step:
    """What is compared: the loss, the norm of its gradient, and the loss after a step."""

    loss: float
    gradient: float
    after: float


def cases(width: float) -> dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]]:
    """Each network of the papers at this width, and its inputs."""
    pictures = lambda: torch.randn(N_IMAGES, 3, 32, 32)  # noqa: E731
    return {
        "LinearFixedFirst": (lambda: networks.LinearFixedFirst(20, N_CLASSES), lambda: torch.randn(256, 20)),
        "MLP": (lambda: networks.MLP(784, N_CLASSES, width=width), lambda: torch.randn(256, 784)),
        "M3": (lambda: networks.M3(N_CLASSES, width=width), lambda: torch.randn(N_IMAGES, 1, 28, 28)),
        "WideResNet 16": (lambda: networks.WideResNet(16, 4 * width, N_CLASSES), pictures),
        "ResNet18": (lambda: networks.ResNet18(N_CLASSES, width=width), pictures),
        "Darknet19": (lambda: networks.Darknet19(N_CLASSES, width=width), pictures),
        "PredictedSigma": (_with_sigma, lambda: torch.randn(256, 20)),
        "Tagger": (
            lambda: networks.Tagger(N_WORDS, N_CLASSES, width=width),
            lambda: torch.randint(1, N_WORDS, (N_IMAGES, 20)),
        ),
        "TreeTagger": (lambda: networks.TreeTagger(N_WORDS, N_CLASSES, width=width), _chain),
    }


def _with_sigma() -> nn.Module:
    return networks.PredictedSigma(nn.Sequential(nn.Linear(20, 64), nn.ReLU()), nn.Linear(64, N_CLASSES))


def _chain(n_leaves: int = 12) -> Trees:
    """A tree that grows to the right: each word joins all that came before."""
    inner = n_leaves - 1
    leaf = torch.full((n_leaves,), -1)
    left = torch.cat([torch.tensor([0]), torch.arange(n_leaves, n_leaves + inner - 1)])
    words = torch.cat([torch.randint(1, N_WORDS, (n_leaves,)), torch.zeros(inner, dtype=torch.long)])
    height = torch.cat([torch.zeros(n_leaves, dtype=torch.long), torch.arange(1, inner + 1)])
    return Trees(words, torch.cat([leaf, left]), torch.cat([leaf, torch.arange(1, n_leaves)]), height)


def take_step(module: nn.Module, inputs: Any, labels: Tensor, way: str = "float32", backend: str = "inductor") -> Step:
    """One step of SGD on EXACT's loss by a copy of the module."""
    own, loss = copy.deepcopy(module).train(), mf.ExactLoss()
    for part in own.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    outputs = torch.compile(own, backend=backend) if way == "torch.compile" else own
    optimizer = torch.optim.SGD(own.parameters(), lr=RATE)

    def value() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=way == "bfloat16"):
            found = outputs(inputs)
            mu, sigma = found if isinstance(found, tuple) else (found, None)
            return loss(mu, labels, scale=sigma)

    before = value()
    before.backward()
    gradient = torch.nn.utils.get_total_norm([one.grad for one in own.parameters() if one.grad is not None])
    optimizer.step()
    return Step(before.item(), gradient.item(), value().item())


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--width", type=float, default=0.25)
    options = parser.parse_args()
    rows = []
    for name, (build, draw) in cases(options.width).items():
        torch.manual_seed(0)
        module, inputs = build(), draw()
        labels = torch.randint(0, N_CLASSES, (len(module(inputs)),))
        plain = take_step(module, inputs, labels)
        row = [name, f"{plain.loss:.4f}"]
        for way in WAYS:
            torch.compiler.reset()
            found = take_step(module, inputs, labels, way)
            pairs = ((found.loss, plain.loss), (found.gradient, plain.gradient), (found.after, plain.after))
            row.append(", ".join(f"{100 * abs(one - other) / other:.3f}" for one, other in pairs))
        rows.append(row)
        print(" | ".join(row), flush=True)
    heads = ["network", "loss, float32", *(f"{way}: loss, gradient, loss after, %" for way in WAYS)]
    write_page(options.out, "network_steps.md", f"{table(heads, rows)}\n\n{written_by()}")


if __name__ == "__main__":
    main()
