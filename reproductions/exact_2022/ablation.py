"""Tables 4, 5 and 6: EXACT without one of its parts, and the gradient normaliser for the others, on the paper's split."""

from __future__ import annotations

import numpy as np

from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import mean_and_std, table, with_agreement
from reproductions._results import differences, distinct_values, values
from reproductions.exact_2022 import published
from reproductions.exact_2022._arms import table_8, train_seeds
from reproductions.exact_2022._protocol import QUICK_STEPS, STEPS, load_data
from reproductions.exact_2022.tabular import LEGEND

PREDICTED = "EXACT with predicted sigma"  # section 4.5.3 speaks of it; no table has it
METHODS = (*published.ABLATION, PREDICTED)
# what is gained, by which, over which
GAINS = (
    ("EXACT's margin", "EXACT", "EXACT without margin"),
    ("EXACT's scheduler", "EXACT", "EXACT without scheduler"),
    ("EXACT's normaliser", "EXACT", "EXACT without normalizer"),
    ("the normaliser with cross-entropy", "Cross-entropy with normalizer", "Cross-entropy"),
    ("the normaliser with hinge", "Hinge with normalizer", "Hinge"),
)


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (published.SETS if not scope.quick else ("balance-scale", "wine"))
    return [{"set": name, "method": method} for name in sets for method in METHODS]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """A row for each seed. Hyper-parameters are those of Table 8.

    Without a scheduler sigma stays at 1, for which the paper gives no value. A predicted sigma is 1 at first.
    """
    name, method = str(cell["set"]), str(cell["method"])
    data, seeds = load_data(name, scope.data), range(1 if scope.quick else scope.seeds)
    steps = QUICK_STEPS if scope.quick else STEPS
    models = train_seeds(data, method, table_8(method, name), steps=steps, seeds=seeds)
    parts = {
        part: models.accuracy(*(rows.expand(len(seeds), *rows.shape) for rows in pair))
        for part, pair in (("train", data.train), ("test", data.test))
    }
    rows: list[Numbers] = [{"seed": seed, **{part: float(found[seed, 0]) for part, found in parts.items()}} for seed in seeds]
    if models.sigma_weights is not None:
        sigma = models.sigma(data.train[0].expand(len(seeds), *data.train[0].shape)).median(2).values
        rows = [row | {"sigma": float(sigma[seed, 0])} for seed, row in enumerate(rows)]
    return rows


def summary(found: Results) -> str:
    sets = distinct_values(found, "set")
    rows = []
    for name in sets:
        row = [name]
        for method in published.ABLATION:
            paper, spread = (known[method][published.SETS.index(name)] for known in _TABLES)
            ours = with_agreement(paper, values(found, "test", set=name, method=method), deviation=spread)
            row += [f"{paper:.2f} ± {spread:.2f}", ours]
        rows.append([*row, mean_and_std(values(found, "test", set=name, method=PREDICTED))])
    means = [
        f"{cell:.2f}"
        for method in published.ABLATION
        for cell in (_published_mean(sets, method), np.mean(_means(found, method)))
    ]
    heads = ["set", *(head for method in published.ABLATION for head in (f"{method}, paper", "ours")), f"{PREDICTED}, ours"]
    last = ["mean", *means, f"{np.mean(_means(found, PREDICTED)):.2f}"]
    sigma = values(found, "sigma", method=PREDICTED)
    return (
        f"## Accuracy on test, %\n\n{table(heads, [*rows, last])}\n\n{LEGEND}\n\n"
        f"The predicted sigma begins at 1, for scores of deviation 1. At the end its median over the training rows is "
        f"{np.median(sigma):.3f} (from {min(sigma):.3f} to {max(sigma):.3f} over sets and seeds).\n"
    )


_TABLES = (published.ABLATION, published.ABLATION_DEVIATION)


def claims(found: Results) -> list[Claim]:
    """What each part gains, in the mean over the sets."""
    sets = distinct_values(found, "set")
    made = []
    for text, with_it, without in GAINS:
        gains = differences(_means(found, with_it), _means(found, without))
        gain = _published_mean(sets, with_it) - _published_mean(sets, without)
        text = f"{text}, accuracy, mean of {len(sets)} sets, the paper's split"
        made.append(claim(text, gain, gains, Runs(seeds=len(gains)), group="exact-ablation"))
    gains = differences(_means(found, "EXACT"), _means(found, PREDICTED))
    text = f"EXACT's scheduler over a predicted sigma, accuracy, mean of {len(sets)} sets, the paper's split"
    made.append(claim(text, None, gains, Runs(seeds=len(gains)), direction=1, group="exact-ablation"))
    return made


def _means(found: Results, method: str) -> list[float]:
    """Over the sets, for each seed."""
    return np.mean([values(found, "test", set=name, method=method) for name in distinct_values(found, "set")], axis=0).tolist()


def _published_mean(sets: list[str], method: str) -> float:
    return float(np.mean([published.ABLATION[method][published.SETS.index(name)] for name in sets]))


EXPERIMENT = Experiment(
    name="exact-ablation",
    title="EXACT, Tables 4 to 6 (arXiv 2205.09615): without one of its parts",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    version=2,
)
