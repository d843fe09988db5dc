"""Tables 4 to 7: precision or recall of one class, by a beta of its own, on CIFAR-10.

Not to be had here: Caltech256, and Darknet-19 in any time worth waiting for. The pictures are lossy copies, 20,000 of them to
train and stop by, and the network is one hidden layer on filters that were learned without labels: precision and recall cannot
be those of the paper, what beta does to them can. (Three layers of convolutions, tried before, had not ended after 16 epochs
and half an hour, and their precision changed by ten points with the seed.)

The paper does not compare with offsets. Here each beta has a second method: cross-entropy's network with offsets that are
tuned on validation rows for the same F-beta. It is one network per seed for all betas, and needs no other training.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import stats
from sklearn.metrics import f1_score, precision_score, recall_score
from torch import nn

import metricfit as mf
from metricfit.datasets import CIFAR10_CLASSES as CLASSES
from metricfit.training import Trainer
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._figure import empty_figure
from reproductions._markdown import LEGEND, table, with_agreement
from reproductions._pictures import cifar10
from reproductions._results import differences, values
from reproductions.east_2024 import published
from reproductions.east_2024._beta_offsets import against_offsets
from reproductions.east_2024._filters import learn_filters
from reproductions.east_2024._protocol import Effort, Options, Parts, course, courses, train_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JUDGED = ("dog", "frog")
AIMS = (*(f"dog {beta}" for beta in published.TABLE_6), "frog 0.25", "frog 5")  # a class and its beta
QUICK_AIMS = ("dog 0.25", "dog 5")
OFFSETS = "CE + offsets, "  # a method's name, before its aim

PER_CLASS, VALIDATION_SHARE, N_FILTERS, N_HIDDEN = 2000, 0.2, 200, 128
TEST_ROWS = 10_000
OPTIONS = Options(batch=256, rate=0.001, dropout=0.5, decay=0.8)
EFFORT = Effort(epochs=400, patience=5)
QUICK_PER_CLASS, QUICK_FILTERS, QUICK = 20, 20, Effort(epochs=2, patience=1, give_up_after=1)


def cells(scope: Scope) -> list[Cell]:
    aims, seeds = (QUICK_AIMS, 1) if scope.quick else (AIMS, scope.seeds)
    methods = ("CE", *aims, *(OFFSETS + aim for aim in aims))
    return [{"set": "cifar10", "method": method, "seed": seed} for method in methods for seed in range(seeds)]


def run(cell: Cell, scope: Scope) -> Numbers:
    method, seed = str(cell["method"]), int(cell["seed"])
    parts, effort = _parts(scope), QUICK if scope.quick else EFFORT
    true = parts.test[1].numpy()
    if method.startswith(OFFSETS):
        trainer = _cross_entropy(seed, scope)
        known, unknown = (trainer.scores(rows).double().numpy() for rows, _ in (parts.validation, parts.test))
        offsets = mf.tune_offsets(known, parts.validation[1].numpy(), _metric(method.removeprefix(OFFSETS)))
        return _scores(mf.decide(unknown, offsets), true)
    trainer = _cross_entropy(seed, scope) if method == "CE" else _train(mf.EastLoss(_metric(method)), seed, scope)
    return _scores(trainer.scores(parts.test[0]).argmax(1).numpy(), true) | course(trainer, effort)


@lru_cache(maxsize=8)
def _cross_entropy(seed: int, scope: Scope) -> Trainer:
    """One network for cross-entropy itself and for all its offsets."""
    return _train(nn.CrossEntropyLoss(), seed, scope)


def _train(loss: nn.Module, seed: int, scope: Scope) -> Trainer:
    parts = _parts(scope)
    torch.manual_seed(seed)
    module = network(parts.train[0].shape[1])
    return train_network(module, loss, parts, OPTIONS, QUICK if scope.quick else EFFORT, seed)


def _parts(scope: Scope) -> Parts:
    quick = QUICK_PER_CLASS, QUICK_PER_CLASS, QUICK_FILTERS
    return load_data(scope.data, *(quick if scope.quick else (PER_CLASS, None, N_FILTERS)))


@lru_cache(maxsize=1)
def load_data(data: Path, per_class: int, test_per_class: int | None, n_filters: int) -> Parts:
    """The first pictures of each class, four fifths to train and one to stop by; those of its own test part to report."""
    images, labels = cifar10(data, "train", len(CLASSES) * per_class)
    test_images, test_labels = cifar10(data, "test", test_per_class and len(CLASSES) * test_per_class)
    n_train = len(labels) - round(VALIDATION_SHARE * len(labels))
    filters = learn_filters(images[:n_train], n_filters)
    known, test = filters(images), filters(test_images)
    centre, width = known[:n_train].mean(0), known[:n_train].std(0).clamp_min(1e-6)
    known, test = (known - centre) / width, (test - centre) / width
    return Parts((known[:n_train], labels[:n_train]), (known[n_train:], labels[n_train:]), (test, test_labels))


def network(n_features: int) -> nn.Sequential:
    """One hidden layer; half as much is dropped of the input as of it."""
    first, second = nn.Dropout(OPTIONS.dropout / 2.0), nn.Dropout(OPTIONS.dropout)
    return nn.Sequential(first, nn.Linear(n_features, N_HIDDEN), nn.ReLU(), second, nn.Linear(N_HIDDEN, len(CLASSES)))


def _metric(aim: str) -> mf.metrics.FBeta:
    """F.3: macro F with a beta of its own for one class, 1 for the others; ``"dog 0.25"`` asks for precision of dogs."""
    name, beta = aim.split()
    return mf.metrics.FBeta([float(beta) if one == name else 1.0 for one in CLASSES], average="macro")


def _scores(predicted: np.ndarray, true: np.ndarray) -> Numbers:
    numbers = {"macro_f1": 100.0 * f1_score(true, predicted, average="macro", zero_division=0.0)}
    for name in JUDGED:
        place = [CLASSES.index(name)]
        for title, score in (("precision", precision_score), ("recall", recall_score)):
            numbers[f"{title}_{name}"] = 100.0 * score(true, predicted, labels=place, average="macro", zero_division=0.0)
    return numbers


def summary(found: Results) -> str:
    parts = [_table_4(found, name) for name in JUDGED] + [
        _table_5(found),
        _table_6(found),
        _table_7(found),
        LEGEND,
        courses(found),
        against_offsets(found, OFFSETS, AIMS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table_4(found: Results, name: str) -> str:
    rows = []
    for beta, paper in published.TABLE_4[name].items():
        method = beta if beta == "CE" else f"{name} {beta}"
        rows.append((method, _title(method), paper, (f"precision_{name}", f"recall_{name}", "macro_f1")))
    return _beside(found, f"Table 4: beta of {name}", rows)


def _table_5(found: Results) -> str:
    scores = tuple(f"{title}_{name}" for name in JUDGED for title in ("precision", "recall"))
    rows = [(f"dog {beta}", _title(f"dog {beta}"), paper, scores) for beta, paper in published.TABLE_5.items()]
    return _beside(found, "Table 5: what the dogs' beta does to frogs", rows)


def _table_6(found: Results) -> str:
    rows = [(f"dog {beta}", beta, paper, ("precision_dog", "recall_dog")) for beta, paper in published.TABLE_6.items()]
    return _beside(found, "Table 6: dogs by their beta", rows) + _trend(found)


def _trend(found: Results) -> str:
    """Rank correlations of beta with precision and recall of dogs, where all betas were run."""
    betas = [float(beta) for beta in published.TABLE_6]
    texts = []
    for place, title in enumerate(("precision", "recall")):
        of_beta = [values(found, f"{title}_dog", method=f"dog {beta}") for beta in published.TABLE_6]
        if not all(of_beta):
            return ""
        ours, paper = [np.mean(one) for one in of_beta], [row[place] for row in published.TABLE_6.values()]
        correlations = [stats.spearmanr(betas, column).statistic for column in (ours, paper)]
        texts.append("{} {:+.2f} (paper {:+.2f})".format(title, *correlations))
    return f"\n\nRank correlation of beta with mean {' and '.join(texts)}."


def _table_7(found: Results) -> str:
    rows = [
        (method, _title(method), published.TABLE_7[beta], ("precision_dog", "recall_dog", "macro_f1"))
        for method, beta in (("CE", "CE"), ("dog 2.5", "2.5"))
    ]
    return _beside(found, "Table 7: the beta that the paper found to have cross-entropy's precision", rows)


def _beside(found: Results, title: str, rows: Sequence[tuple[str, str, tuple[float, ...], tuple[str, ...]]]) -> str:
    """Rows of method, its title, published values and the names of ours; nothing if there are none of ours."""
    lines = []
    for method, head, paper, scores in rows:
        if values(found, scores[0], method=method):
            pairs = [
                (f"{100.0 * value:.1f}", with_agreement(100.0 * value, values(found, score, method=method)))
                for value, score in zip(paper, scores, strict=True)
            ]
            lines.append([head, *(text for pair in pairs for text in pair)])
    heads = ["trained for", *(text for score in rows[0][3] for text in (f"{_TITLES[score]}, paper", "ours"))]
    return f"## {title}; test, %\n\n{table(heads, lines)}" if lines else ""


_TITLES = {"macro_f1": "macro F1"} | {f"{a}_{b}": f"{a} ({b})" for a in ("precision", "recall") for b in JUDGED}


def _title(method: str) -> str:
    return method if method == "CE" else f"beta {method.split()[1]}"


def claims(found: Results) -> list[Claim]:
    """Gains in points; a claim about a method that was not run is left out."""
    made = []
    for name in JUDGED:
        paper = published.TABLE_4[name]
        precise, complete, plain = paper["0.25"], paper["5"], paper["CE"]
        made += [
            _gain(
                found,
                f"precision({name}), beta 0.25 over CE",
                precise[0] - plain[0],
                f"{name} 0.25",
                "CE",
                f"precision_{name}",
            ),
            _gain(found, f"recall({name}), beta 5 over CE", complete[1] - plain[1], f"{name} 5", "CE", f"recall_{name}"),
            _gain(found, f"macro F1, {name} beta 0.25 over CE", precise[2] - plain[2], f"{name} 0.25", "CE", "macro_f1"),
            _gain(found, f"macro F1, {name} beta 5 over CE", complete[2] - plain[2], f"{name} 5", "CE", "macro_f1"),
        ]
    low, high = published.TABLE_5["0.25"], published.TABLE_5["5"]
    for place, title in ((2, "precision"), (3, "recall")):
        text = f"{title}(frog), dog beta 0.25 minus 5"
        made.append(_gain(found, text, low[place] - high[place], "dog 0.25", "dog 5", f"{title}_frog"))
    low_6, high_6 = published.TABLE_6["0.1"], published.TABLE_6["10"]
    made += [
        _gain(found, "precision(dog), beta 0.1 over 10", low_6[0] - high_6[0], "dog 0.1", "dog 10", "precision_dog"),
        _gain(found, "recall(dog), beta 10 over 0.1", high_6[1] - low_6[1], "dog 10", "dog 0.1", "recall_dog"),
    ]
    return [one for one in made if one is not None]


def _gain(found: Results, text: str, paper: float, method: str, other: str, score: str) -> Claim | None:
    ours, theirs = values(found, score, method=method), values(found, score, method=other)
    if not ours or not theirs:
        return None
    runs = Runs(seeds=len(ours), test_rows=TEST_ROWS)
    return claim(text, round(100.0 * paper, 1), differences(ours, theirs), runs, group="east-beta")


def figure(found: Results) -> Figure:
    """Precision and recall of dogs by their beta, published (dashed) and ours, with deviations over seeds."""
    drawing = empty_figure(6.0, 3.4)
    axes = drawing.subplots()
    betas = [beta for beta in published.TABLE_6 if values(found, "macro_f1", method=f"dog {beta}")]
    for place, (title, colour) in enumerate((("precision", "C0"), ("recall", "C1"))):
        of_beta = [values(found, f"{title}_dog", method=f"dog {beta}") for beta in betas]
        x = [float(beta) for beta in betas]
        axes.errorbar(
            x, [np.mean(v) for v in of_beta], [np.std(v) for v in of_beta], color=colour, marker="o", label=f"{title}, ours"
        )
        paper = [100.0 * published.TABLE_6[beta][place] for beta in betas]
        axes.plot(x, paper, color=colour, linestyle="--", label=f"{title}, paper")
    axes.set(xscale="log", xlabel="beta of dog", ylabel="dog, %")
    axes.legend(frameon=False, fontsize="small")
    return drawing


EXPERIMENT = Experiment(
    name="east-beta",
    title="EAST, Tables 4 to 7 (arXiv 2405.20954): precision or recall of one class of CIFAR-10",
    datasets=("cifar10",),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    seeds=5,
    scaled=True,
    fixed_size=True,
    version=2,
)
