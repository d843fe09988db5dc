"""Where does training for a metric pay? Controlled data that vary one thing at a time, and real tables.

Linear models only. The thing to beat is cross-entropy with offsets tuned on held-out rows (``threshold``). Against it stand
direct training (``direct``), which trains for the metric, and the choice behind a guard (``auto``). All are fitted by
:func:`metricfit.compare` with its defaults, to the same training rows, and judged on the same test rows.

Each point of the controlled data has independent replications, with 20,000 fresh test rows. Each real table has repeated
random splits of at most 5,000 rows; intervals account for their overlap.

Beside the gains stands a measure of misspecification that a user has before training for the metric: how much of the linear
model's held-out log-loss do boosted trees remove? On real tables it is computed from training rows alone, on a fifth of them.
It costs more than all linear models, so that only the first replications have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.comparison import Comparison, compare
from metricfit.methods import CROSS_ENTROPY
from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions.beyond._pays_figure import figure
from reproductions.beyond._pays_findings import summary
from reproductions.beyond._pays_gains import CONTROLLED, METHODS, METRICS, REAL, REST
from reproductions.beyond._pays_law import POINTS, draw_rows
from reproductions.beyond._pays_sets import RESTS, SETS, hold_out, split_table

REPLICATIONS = {CONTROLLED: 10, REAL: 5, REST: 3}  # at most; ``--seeds`` takes fewer
WITH_TREES = {CONTROLLED: 2, REAL: 2, REST: 1}  # the first ones, which also compute the log-losses
SMALLEST = 1e-15  # probability in a log-loss
NAMES = {CONTROLLED: tuple(POINTS), REAL: SETS, REST: RESTS}
QUICK_REPLICATIONS, QUICK = 2, ("straight, 200 rows", "curved, 200 rows", "wine", "balance-scale:0")


def cells(scope: Scope) -> list[Cell]:
    wanted = scope.datasets or (QUICK if scope.quick else EXPERIMENT.datasets)
    return [
        {"part": part, "set": name, "seed": seed}
        for part, names in NAMES.items()
        for name in names
        if name in wanted
        for seed in range(QUICK_REPLICATIONS if scope.quick else min(scope.seeds, REPLICATIONS[part]))
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    """Scores of all metrics and methods in percent; for the first seeds also the log-losses of linear model and trees."""
    part, name, seed = str(cell["part"]), str(cell["set"]), int(cell["seed"])
    train, test = draw_rows(POINTS[name], seed) if part == CONTROLLED else split_table(name, scope.data, seed)
    counts = np.bincount(train[1])
    found = compare_linear(train, test, seed)
    scores = {
        f"{metric} {method}": 100.0 * compared.results[f"linear, {method}"].scores[0]
        for metric, compared in zip(METRICS, found, strict=True)
        for method in METHODS
    }
    about = {
        "n_train": len(train[1]),
        "n_test": len(test[1]),
        "n_classes": len(counts),
        "rarest": float(counts.min() / counts.sum()),
    }
    if seed < (1 if scope.quick else WITH_TREES[part]):
        losses = log_losses(compare_trees(*((train, test) if part == CONTROLLED else hold_out(train, seed)), seed))
        about |= dict(zip(("linear_loss", "tree_loss"), losses, strict=True))
    return scores | about


def compare_linear(train: Any, test: Any, seed: int) -> list[Comparison]:
    """The linear model by all methods, for each metric. F1 is that of the rarer class, or the mean over several classes."""
    counts = np.bincount(train[1])
    several = len(counts) > 2
    metrics = ["f1_macro" if metric == "f1" and several else metric for metric in METRICS]
    options: dict[str, Any] = {"models": ["linear"], "methods": METHODS, "random_state": seed, "test": test}
    options["pos_label"] = None if several else int(counts.argmin())
    return [compare(train[0], train[1], metric, **options) for metric in metrics]


def compare_trees(train: Any, test: Any, seed: int) -> Comparison:
    """The linear model and boosted trees, both by cross-entropy."""
    options: dict[str, Any] = {"models": ["linear", "boosting"], "methods": [CROSS_ENTROPY], "random_state": seed}
    return compare(train[0], train[1], "accuracy", test=test, **options)


def log_losses(comparison: Comparison) -> tuple[float, float]:
    """The log-loss of the linear model and of boosted trees on the held-out rows, both trained by cross-entropy."""
    rows = np.arange(len(comparison.labels))
    results = (comparison.results[f"{model}, {CROSS_ENTROPY}"] for model in ("linear", "boosting"))
    chances = (result.held_out.probability[rows, comparison.labels] for result in results)
    linear, trees = (-float(np.log(np.maximum(own, SMALLEST)).mean()) for own in chances)
    return linear, trees


EXPERIMENT = Experiment(
    name="where-it-pays",
    title="Where training for a metric pays",
    datasets=tuple(name for names in NAMES.values() for name in names),
    cells=cells,
    run=run,
    summary=summary,
    figure=figure,
    seeds=max(REPLICATIONS.values()),
)
