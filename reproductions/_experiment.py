"""What an experiment is, and which there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reproductions._claims import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = dict[str, str | int]  # what is run at once: data set, method, seed
Numbers = dict[str, float]
Found = list[tuple[Cell, Numbers]]

# name of the experiment: its module
_HOME = {
    "exact-tabular": "exact_2022.tabular",
    "exact-ablation": "exact_2022.ablation",
    "exact-integral": "exact_2022.integral",
    "leaky-tabular": "leaky_2019.tabular",
    "leaky-mnist": "leaky_2019.mnist",
    "east-tabular": "east_2024.tabular",
    "east-beta": "east_2024.beta",
    "critique": "critique_2022.critique",
    "beyond": "beyond.tables",
}


@dataclass(frozen=True)
class Scope:
    """How much of an experiment to run."""

    data: Path
    quick: bool = False
    datasets: tuple[str, ...] = ()  # all if empty
    seeds: int = 5
    search: int = 0  # hyper-parameters: those of the paper, or the best of so many random ones


def _none(found: Found) -> list[Claim]:
    return []


@dataclass(frozen=True)
class Experiment:
    """Cells, how one of them is run, and what they say together."""

    name: str
    title: str
    datasets: tuple[str, ...]
    cells: Callable[[Scope], list[Cell]]
    run: Callable[[Cell, Scope], Numbers | list[Numbers]]  # a curve has a row per point
    summary: Callable[[Found], str]
    claims: Callable[[Found], list[Claim]] = _none
    figure: Callable[[Found], Figure] | None = None
    seeds: int = 5
    searches: bool = False  # whether --search means something to it
    version: int = 1  # one more where cells that are kept from before would no longer be right


def names() -> list[str]:
    return list(_HOME)


def home(name: str) -> str:
    """The folder of its paper."""
    return _HOME[name].partition(".")[0]


def get_experiment(name: str) -> Experiment:
    """The experiment of that name."""
    return import_module(f"reproductions.{_HOME[name]}").EXPERIMENT
