"""The critique's two tests: toys, whose minima it disputes, and text classification, of which it published no numbers."""

from __future__ import annotations

from functools import lru_cache

from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions.critique_2022 import _toy as toy
from reproductions.critique_2022._findings import claims, figure, summary
from reproductions.critique_2022._methods import METHODS
from reproductions.critique_2022._text import READERS, questions
from reproductions.critique_2022._training import EPOCHS, RATES, choose_run

QUICK_RATES, QUICK_EPOCHS = (0.03,), 3

_questions = lru_cache(maxsize=1)(questions)  # the methods of a seed come one after the other


def cells(scope: Scope) -> list[Cell]:
    seeds = range(1 if scope.quick else scope.seeds)
    runs = [("toy", name, method, 0) for name in toy.TOYS for method in toy.LOSSES]
    runs += [("trec", model, method, seed) for model in READERS for seed in seeds for method in METHODS]
    wanted = scope.datasets or EXPERIMENT.datasets
    return [
        {"set": name, "model": model, "method": method, "seed": seed} for name, model, method, seed in runs if name in wanted
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    model, method, seed = str(cell["model"]), str(cell["method"]), int(cell["seed"])
    if cell["set"] == "toy":
        return toy.solve(model, method)
    rates, epochs = (QUICK_RATES, QUICK_EPOCHS) if scope.quick else (RATES, EPOCHS)
    return choose_run(_questions(scope.data, model, seed), model, method, seed, rates=rates, epochs=epochs)


EXPERIMENT = Experiment(
    name="critique",
    title="The critique of EXACT (kexue.fm/archives/9098): its toys, and text classification on TREC",
    datasets=("toy", "trec"),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    version=2,
)
