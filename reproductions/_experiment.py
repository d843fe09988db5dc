"""The class of an experiment, and the experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reproductions._claims import FULL, QUICK, REDUCED, SCALED, Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = dict[str, str | int]  # the unit of work: data set, method, seed
Numbers = dict[str, float]
Results = list[tuple[Cell, Numbers]]

# name of the experiment: its module
_MODULES = {
    "exact-tabular": "exact_2022.tabular",
    "exact-estimators": "exact_2022.estimators",
    "exact-ablation": "exact_2022.ablation",
    "exact-splits": "exact_2022.splits",
    "exact-floor": "exact_2022.floor",
    "exact-integral": "exact_2022.integral",
    "exact-vision": "exact_2022.vision",
    "exact-vision-search": "exact_2022.vision_search",
    "leaky-tabular": "leaky_2019.tabular",
    "leaky-rates": "leaky_2019.rates",
    "leaky-mnist": "leaky_2019.mnist",
    "leaky-images": "leaky_2019.images",
    "leaky-tagging": "leaky_2019.tagging",
    "leaky-trees": "leaky_2019.trees",
    "east-tabular": "east_2024.tabular",
    "east-splits": "east_2024.splits",
    "east-batches": "east_2024.batches",
    "east-beta": "east_2024.beta",
    "east-image": "east_2024.image",
    "east-baselines": "east_2024.baselines",
    "critique": "critique_2022.critique",
    "critique-late": "critique_2022.late",
    "beyond": "beyond.tables",
    "label-noise": "beyond.label_noise",
    "where-it-pays": "beyond.pays",
}


@dataclass(frozen=True)
class Scope:
    """How much of an experiment to run."""

    data: Path
    quick: bool = False
    datasets: tuple[str, ...] = ()  # all if empty
    seeds: int = 5
    search: int = 0  # draws of a random search for hyper-parameters; 0 uses the paper's
    full: bool = False  # the paper's size, where the default is scaled to two cores

    @property
    def size(self) -> str:
        """The size of a run of an experiment that has several."""
        return "quick" if self.quick else "full" if self.full else "scaled"

    def file_stem(self, name: str) -> str:
        """The file name of an experiment's results: a quick or full run does not overwrite the usual one.

        >>> Scope(Path(), quick=True).file_stem("exact-vision")
        'exact-vision-quick'
        """
        return name + "-quick" * self.quick + "-full" * self.full


def _no_claims(found: Results) -> list[Claim]:
    return []


@dataclass(frozen=True)
class Experiment:
    """Cells, a function that runs one of them, and functions that summarise all results."""

    name: str
    title: str
    datasets: tuple[str, ...]
    cells: Callable[[Scope], list[Cell]]
    run: Callable[[Cell, Scope], Numbers | list[Numbers]]  # a list for a curve, one entry per point
    summary: Callable[[Results], str]
    claims: Callable[[Results], list[Claim]] = _no_claims
    figure: Callable[[Results], Figure] | None = None
    seeds: int = 5
    searches: bool = False  # whether --search applies
    scaled: bool = False  # whether the default is smaller than the paper's, and --full applies
    cut: bool = False  # whether it only has fewer rows, folds, seeds or draws than the paper's, or stops earlier
    partial: bool = False  # whether its summary takes any part of the cells, and --saved applies
    version: int = 1  # increase it when saved cells become invalid

    @property
    def protocol(self) -> str:
        """How the default compares with the paper's: "full", "reduced" or "scaled".

        A reduced run has the paper's network and data, and less of something else. A scaled run has another network, other
        data or a fraction of the epochs; its claims get no verdict.
        """
        return REDUCED if self.cut else SCALED if self.scaled else FULL

    def claims_of(self, found: Results, full: bool = False, quick: bool = False) -> list[Claim]:
        """The claims with the protocol of the run; ``full`` for a run of the paper's size, ``quick`` for a shortened one.

        A claim that is scaled by itself stays so, because its data are not the paper's.
        """
        if quick:
            return [replace(one, protocol=QUICK) for one in self.claims(found)]
        protocol = FULL if full else self.protocol
        return [one if one.protocol == SCALED else replace(one, protocol=protocol) for one in self.claims(found)]


def names() -> list[str]:
    return list(_MODULES)


def paper_folder(name: str) -> str:
    """The name of the folder of the experiment's paper."""
    return _MODULES[name].partition(".")[0]


def get_experiment(name: str) -> Experiment:
    """The experiment with this name."""
    return import_module(f"reproductions.{_MODULES[name]}").EXPERIMENT
