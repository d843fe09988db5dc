"""Tables 4 to 7: precision or recall of one class, by its beta, on images.

``--full`` has the paper's network, Darknet-19, all images and its patience, on CIFAR-10 and, if it is in the folder
``caltech256`` of the data, on Caltech256. The paper has ten seeds: ``--full --seeds 10``.

Without it, the pictures are 20,000 of CIFAR-10 to train and stop by, and the network is one hidden layer on filters that were
learned without labels: precision and recall cannot be those of the paper, what beta does to them can. (Three layers of
convolutions, tried before, had not ended after 16 epochs and half an hour, and their precision changed by ten points with the
seed.)

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
from metricfit._errors import UsageError
from metricfit.training import Trainer
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._figure import empty_figure
from reproductions._markdown import LEGEND, table, with_agreement
from reproductions._results import differences, distinct_values, matching, values
from reproductions._training import fabric_for
from reproductions.east_2024 import image, published
from reproductions.east_2024._beta_offsets import against_offsets
from reproductions.east_2024._filters import learn_filters
from reproductions.east_2024._images import SETS, darknet, load_images, scores_and_labels, sets_of
from reproductions.east_2024._protocol import Effort, Options, Parts, course, courses, train_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JUDGED = ("dog", "frog")
AIMS = (*(f"dog {beta}" for beta in published.TABLE_6), "frog 0.25", "frog 5")  # a class and its beta
FEW_AIMS = ("dog 0.25", "dog 5", "frog 0.25", "frog 5")  # Caltech256 has Tables 4 and 5 only
QUICK_AIMS = ("dog 0.25", "dog 5")
OFFSETS = "CE + offsets, "  # a method's name, before its aim

PER_CLASS, N_FILTERS, N_HIDDEN = 2000, 200, 128
OPTIONS = Options(batch=256, rate=0.001, dropout=0.5, decay=0.8)
EFFORT = Effort(epochs=400, patience=5)
QUICK_PER_CLASS, QUICK_FILTERS, QUICK = 20, 20, Effort(epochs=2, patience=1, give_up_after=1)


def cells(scope: Scope) -> list[Cell]:
    if "caltech256" in scope.datasets and not scope.full:
        raise UsageError("--datasets 'caltech256' needs --full in east-beta: the small network is for CIFAR-10 only.")
    seeds = 1 if scope.quick else scope.seeds
    return [
        {"set": name, "method": method, "seed": seed}
        for name in sets_of(scope)
        for method in _methods(name, scope.quick)
        for seed in range(seeds)
    ]


def _methods(name: str, quick: bool) -> tuple[str, ...]:
    aims = QUICK_AIMS if quick else AIMS if name == "cifar10" else FEW_AIMS
    return "CE", *aims, *(OFFSETS + aim for aim in aims)


def run(cell: Cell, scope: Scope) -> Numbers:
    name, method, seed = str(cell["set"]), str(cell["method"]), int(cell["seed"])
    parts = _parts(name, scope)
    if method == "CE" or method.startswith(OFFSETS):
        trainer = _cross_entropy(name, seed, scope)
    else:
        trainer = _train(name, mf.EastLoss(_metric(method, name)), seed, scope)
    scores, true = scores_and_labels(trainer, parts.test)
    if not method.startswith(OFFSETS):
        return _scores(scores.argmax(1), true, name) | course(trainer, _effort(scope))
    known, known_labels = scores_and_labels(trainer, parts.validation)
    offsets = mf.tune_offsets(known.astype(np.float64), known_labels, _metric(method.removeprefix(OFFSETS), name))
    return _scores(mf.decide(scores.astype(np.float64), offsets), true, name)


@lru_cache(maxsize=10)
def _cross_entropy(name: str, seed: int, scope: Scope) -> Trainer:
    """One network for cross-entropy itself and for all its offsets."""
    return _train(name, nn.CrossEntropyLoss(), seed, scope)


def _train(name: str, loss: nn.Module, seed: int, scope: Scope) -> Trainer:
    parts, options = _parts(name, scope), OPTIONS
    torch.manual_seed(seed)
    if scope.full:
        options = image.options_for(name, "CE" if isinstance(loss, nn.CrossEntropyLoss) else "F1*")
        module = darknet(parts.train[0], SETS[name].n_classes, image.SIZES["full"].width, options.dropout)
    else:
        module = network(parts.train[0].shape[1])
    return train_network(module, loss, parts, options, _effort(scope), seed, fabric=fabric_for(scope), at_once=500)


def _effort(scope: Scope) -> Effort:
    return image.SIZES["full"].effort if scope.full else QUICK if scope.quick else EFFORT


def _parts(name: str, scope: Scope) -> Parts:
    if scope.full:
        return load_images(name, scope.data)
    quick = QUICK_PER_CLASS, QUICK_PER_CLASS, QUICK_FILTERS
    return load_data(scope.data, *(quick if scope.quick else (PER_CLASS, None, N_FILTERS)))


@lru_cache(maxsize=1)
def load_data(data: Path, per_class: int, test_per_class: int | None, n_filters: int) -> Parts:
    """Features of the first pictures of each class of CIFAR-10: responses of filters that were learned from those to train."""
    n_classes = SETS["cifar10"].n_classes
    parts = load_images("cifar10", data, n_classes * per_class, test_per_class and n_classes * test_per_class)
    filters = learn_filters(parts.train[0], n_filters)
    train, validation, test = (filters(images) for images, _ in (parts.train, parts.validation, parts.test))
    centre, width = train.mean(0), train.std(0).clamp_min(1e-6)
    scaled = [(values - centre) / width for values in (train, validation, test)]
    return Parts((scaled[0], parts.train[1]), (scaled[1], parts.validation[1]), (scaled[2], parts.test[1]))


def network(n_features: int) -> nn.Sequential:
    """One hidden layer; half as much is dropped of the input as of it."""
    first, second = nn.Dropout(OPTIONS.dropout / 2.0), nn.Dropout(OPTIONS.dropout)
    n_classes = SETS["cifar10"].n_classes
    return nn.Sequential(first, nn.Linear(n_features, N_HIDDEN), nn.ReLU(), second, nn.Linear(N_HIDDEN, n_classes))


def _metric(aim: str, name: str = "cifar10") -> mf.metrics.FBeta:
    """F.3: macro F with a beta for one class, 1 for the others; ``"dog 0.25"`` asks for precision of dogs."""
    judged, beta = aim.split()
    own = getattr(SETS[name], judged)
    return mf.metrics.FBeta([float(beta) if label == own else 1.0 for label in range(SETS[name].n_classes)], average="macro")


def _scores(predicted: np.ndarray, true: np.ndarray, name: str = "cifar10") -> Numbers:
    numbers = {"macro_f1": 100.0 * f1_score(true, predicted, average="macro", zero_division=0.0)}
    for judged in JUDGED:
        own = [getattr(SETS[name], judged)]
        for title, score in (("precision", precision_score), ("recall", recall_score)):
            numbers[f"{title}_{judged}"] = 100.0 * score(true, predicted, labels=own, average="macro", zero_division=0.0)
    return numbers


def summary(found: Results) -> str:
    parts = []
    for name in distinct_values(found, "set"):
        own = matching(found, set=name)
        parts += [*(_table_4(own, name, judged) for judged in JUDGED), _table_5(own, name)]
        if name == "cifar10":
            parts += [_table_6(own), _table_7(own)]
        parts.append(against_offsets(own, OFFSETS, AIMS, SETS[name].n_classes))
    return "\n\n".join(part for part in (*parts, LEGEND, courses(found)) if part) + "\n"


def _table_4(found: Results, name: str, judged: str) -> str:
    rows = []
    for beta, paper in published.TABLE_4[name][judged].items():
        method = beta if beta == "CE" else f"{judged} {beta}"
        rows.append((method, _title(method), paper, (f"precision_{judged}", f"recall_{judged}", "macro_f1")))
    return _beside(found, f"Table 4, {SETS[name].title}: beta of {judged}", rows)


def _table_5(found: Results, name: str) -> str:
    scores = tuple(f"{title}_{judged}" for judged in JUDGED for title in ("precision", "recall"))
    rows = [(f"dog {beta}", _title(f"dog {beta}"), paper, scores) for beta, paper in published.TABLE_5[name].items()]
    return _beside(found, f"Table 5, {SETS[name].title}: what the dogs' beta does to frogs", rows)


def _table_6(found: Results) -> str:
    rows = [(f"dog {beta}", beta, paper, ("precision_dog", "recall_dog")) for beta, paper in published.TABLE_6.items()]
    return _beside(found, "Table 6: dogs by their beta", rows) + _trend(found)


def _trend(found: Results) -> str:
    """Rank correlations of beta with precision and recall of dogs, where all betas were run."""
    betas = [float(beta) for beta in published.TABLE_6]
    texts = []
    for index, title in enumerate(("precision", "recall")):
        of_beta = [values(found, f"{title}_dog", method=f"dog {beta}") for beta in published.TABLE_6]
        if not all(of_beta):
            return ""
        ours, paper = [np.mean(one) for one in of_beta], [row[index] for row in published.TABLE_6.values()]
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
    """Rows of method, its title, published values and the names of ours; empty if we have no results."""
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
    made = [one for name in distinct_values(found, "set") for one in _claims_of_set(matching(found, set=name), name)]
    low, high = published.TABLE_6["0.1"], published.TABLE_6["10"]
    own = matching(found, set="cifar10")
    made += [
        _gain(own, "cifar10", "precision(dog), beta 0.1 over 10", low[0] - high[0], "dog 0.1", "dog 10", "precision_dog"),
        _gain(own, "cifar10", "recall(dog), beta 10 over 0.1", high[1] - low[1], "dog 10", "dog 0.1", "recall_dog"),
    ]
    return [one for one in made if one is not None]


def _claims_of_set(found: Results, name: str) -> list[Claim | None]:
    """Those of Tables 4 and 5."""
    made = []
    for judged in JUDGED:
        paper = published.TABLE_4[name][judged]
        for beta, title, index in (("0.25", "precision", 0), ("5", "recall", 1)):
            gain = paper[beta][index] - paper["CE"][index]
            text, method = f"{title}({judged}), beta {beta} over CE", f"{judged} {beta}"
            made.append(_gain(found, name, text, gain, method, "CE", f"{title}_{judged}"))
        for beta in ("0.25", "5"):
            gain = paper[beta].macro_f1 - paper["CE"].macro_f1
            text = f"macro F1, {judged} beta {beta} over CE"
            made.append(_gain(found, name, text, gain, f"{judged} {beta}", "CE", "macro_f1"))
    low, high = published.TABLE_5[name]["0.25"], published.TABLE_5[name]["5"]
    for index, title in ((2, "precision"), (3, "recall")):
        text = f"{title}(frog), dog beta 0.25 minus 5"
        made.append(_gain(found, name, text, low[index] - high[index], "dog 0.25", "dog 5", f"{title}_frog"))
    return made


def _gain(found: Results, name: str, text: str, paper: float, method: str, other: str, score: str) -> Claim | None:
    ours, theirs = values(found, score, method=method), values(found, score, method=other)
    if not ours or not theirs:
        return None
    runs = Runs(seeds=len(ours), test_rows=SETS[name].n_test)
    text += "" if name == "cifar10" else f", {SETS[name].title}"
    return claim(text, round(100.0 * paper, 1), differences(ours, theirs), runs, group="east-beta")


def figure(found: Results) -> Figure:
    """Precision and recall of CIFAR-10's dogs by their beta, published (dashed) and ours, with deviations over seeds."""
    found = matching(found, set="cifar10")
    drawing = empty_figure(6.0, 3.4)
    axes = drawing.subplots()
    betas = [beta for beta in published.TABLE_6 if values(found, "macro_f1", method=f"dog {beta}")]
    for index, (title, colour) in enumerate((("precision", "C0"), ("recall", "C1"))):
        of_beta = [values(found, f"{title}_dog", method=f"dog {beta}") for beta in betas]
        x = [float(beta) for beta in betas]
        axes.errorbar(
            x, [np.mean(v) for v in of_beta], [np.std(v) for v in of_beta], color=colour, marker="o", label=f"{title}, ours"
        )
        paper = [100.0 * published.TABLE_6[beta][index] for beta in betas]
        axes.plot(x, paper, color=colour, linestyle="--", label=f"{title}, paper")
    axes.set(xscale="log", xlabel="beta of dog", ylabel="dog, %")
    axes.legend(frameon=False, fontsize="small")
    return drawing


EXPERIMENT = Experiment(
    name="east-beta",
    title="EAST, Tables 4 to 7 (arXiv 2405.20954): precision or recall of one class",
    datasets=tuple(SETS),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    seeds=5,
    scaled=True,
    version=2,
)
