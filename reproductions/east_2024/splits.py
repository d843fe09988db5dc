"""Tables 1 and 3 on ten splits: does EAST gain, over cross-entropy and over cross-entropy with a tuned threshold?

``east-tabular`` has the paper's protocol: one split, several seeds. Its intervals leave out the variation between splits. Here
every run has another split (64 % to train, 16 % to stop by, 20 % to test), the same for all methods, and chooses its
options from the paper's grid (E.4) inside its own training part.

What two cores could not hold, and what ``scaled`` cuts:

- Adult has 6,000 of its 48,842 rows.
- A split draws 8 points of the grid of 60, the same for all losses. Each is trained for 8 epochs at the first temperature; the
  least validation loss wins and is trained again. So r is drawn and not chosen.
- A run ends after 600 epochs. A temperature ends after 50 epochs without gain, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import metricfit as mf
from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions.east_2024._baselines import BASELINES, probabilities
from reproductions.east_2024._protocol import GRID, Effort, Options, Parts, course, search_options
from reproductions.east_2024._sets import load_data
from reproductions.east_2024._splits_summary import claims, summary
from reproductions.east_2024.tabular import LOSSES, QUICK, QUICK_ROWS, SCORES, scores_of, train

SETS = ("adult", "mammography")


@dataclass(frozen=True)
class Size:
    """What is smaller here than in the paper. A set that is not in ``most_rows`` has all its rows."""

    most_rows: dict[str, int]
    n_draws: int
    screen: Effort  # of a draw
    effort: Effort  # of the draw that won


LONG = Effort(epochs=10_000, patience=50)
SIZES = {
    "full": Size({}, 50, LONG, LONG),
    "scaled": Size({"adult": 6000}, 8, Effort(epochs=8, patience=8), Effort(epochs=600, patience=50)),
    "quick": Size(dict.fromkeys(SETS, QUICK_ROWS), 2, QUICK, QUICK),
}


def cells(scope: Scope) -> list[Cell]:
    splits = 2 if scope.quick else scope.seeds
    return [
        {"set": name, "method": method, "split": split}
        for split in range(splits)  # first, so that a run that is stopped has all methods on fewer splits
        for name in scope.datasets or SETS
        for method in (*LOSSES, *BASELINES)
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    """Scores on test in percent, as trained and each with the threshold that was tuned for it on validation rows."""
    name, method, split = str(cell["set"]), str(cell["method"]), int(cell["split"])
    size = SIZES[scope.size]
    parts = load_data(name, scope.data, size.most_rows.get(name), split)
    if method in BASELINES:
        model = BASELINES[method](parts, split)
        known, unknown = (probabilities(model, part[0].numpy()) for part in (parts.validation, parts.test))
        return _judge(known, unknown, parts)

    def validation_loss(drawn: Options) -> float:
        return -train(parts, LOSSES[method](), drawn, size.screen, split).best_value[0]

    options = search_options(GRID, size.n_draws, validation_loss, seed=split)
    trainer = train(parts, LOSSES[method](), options, size.effort, split)
    known, unknown = (trainer.scores(part[0]).double().numpy() for part in (parts.validation, parts.test))
    chosen = {name: float(value) for name, value in vars(options).items()}
    return _judge(known, unknown, parts) | course(trainer, size.effort) | chosen


def _judge(known: np.ndarray, unknown: np.ndarray, parts: Parts) -> Numbers:
    labels = parts.test[1]
    numbers = scores_of(unknown.argmax(1), labels)
    for score in SCORES:
        offsets = mf.tune_offsets(known, parts.validation[1].numpy(), score)
        numbers[f"{score}_tuned"] = scores_of(mf.decide(unknown, offsets), labels)[score]
    rows = {"train_rows": parts.train, "validation_rows": parts.validation, "test_rows": parts.test}
    sizes = {name: float(len(part[1])) for name, part in rows.items()}
    return numbers | sizes | {"test_positives": float(labels.sum())}


EXPERIMENT = Experiment(
    name="east-splits",
    title="EAST, Tables 1 and 3 (arXiv 2405.20954): ten splits, with tuned thresholds and the other baselines",
    datasets=SETS,
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    seeds=10,
    scaled=True,
    cut=True,
)
