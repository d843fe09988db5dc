"""The papers' tables with what the papers left out."""

from __future__ import annotations

from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions.beyond import _linear, _network
from reproductions.beyond._findings import claims, summary
from reproductions.exact_2022 import published as exact
from reproductions.leaky_2019 import published as leaky

SETS = {"exact": exact.SETS, "leaky": leaky.SETS, "east": _network.SETS}
RUN = {"exact": _linear.of_exact, "leaky": _linear.of_leaky, "east": _network.of_east}
QUICK_SETS = ("wine", "pima", "mammography")


def cells(scope: Scope) -> list[Cell]:
    """A set's name selects it in every paper. Seeds are for networks: linear fits have none, and İrsoy's folds are all run."""
    wanted = scope.datasets or (QUICK_SETS if scope.quick else EXPERIMENT.datasets)
    return [
        {"paper": paper, "set": name, "method": method, "seed": seed}
        for paper, sets in SETS.items()
        for name in sets
        if name in wanted
        for method in (_network.methods(name) if paper == "east" else _linear.METHODS)
        for seed in range(_repetitions(paper, method, scope))
    ]


def _repetitions(paper: str, method: str, scope: Scope) -> int:
    if paper == "leaky":
        return 2 if scope.quick else _linear.N_FOLDS
    return scope.seeds if method in _network.NETWORKS and not scope.quick else 1


def run(cell: Cell, scope: Scope) -> Numbers:
    return RUN[str(cell["paper"])](cell, scope)


EXPERIMENT = Experiment(
    name="beyond",
    title="The papers' tables with what the papers left out",
    datasets=tuple(dict.fromkeys(name for sets in SETS.values() for name in sets)),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    seeds=3,
)
