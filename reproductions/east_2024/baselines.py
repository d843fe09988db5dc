"""Table 2: a random forest and CCS on images, after PCA that keeps 80 % of the variance.

Both see the principal components of pixels that are centred and scaled. The paper gives no other option, so the forest has
scikit-learn's, and the regularisation of CCS is chosen by its validation loss among three values. CIFAR-10 always has all its
images. Caltech256 takes part if it is in the folder ``caltech256`` of the data.

CCS is made for rows with several labels, and answers with a set of labels. The paper does not say how it turned these sets
into classes. Here CCS is judged twice. One answer is the class with the largest probability, as for the other methods. The
other is the set, which is right if it has the true class and nothing else; the F1 of a class counts all sets that name it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import mean_and_std, table
from reproductions._pictures import LOSSY
from reproductions._results import differences, distinct_values, values
from reproductions._training import Rows
from reproductions.east_2024 import published
from reproductions.east_2024._baselines import EXPLAINED, best_sets, fit_ccs, fit_forest, label_probabilities
from reproductions.east_2024._images import SETS, load_images
from reproductions.east_2024._protocol import Parts
from reproductions.east_2024.image import scores_of

METHODS = {"random forest": fit_forest, "CCS": fit_ccs}
SCORES = {"f1": "macro F1", "accuracy": "accuracy"}
QUICK_IMAGES, QUICK_TEST = 200, 60


def cells(scope: Scope) -> list[Cell]:
    present = [name for name in SETS if name == "cifar10" or (not scope.quick and (scope.data / name).is_dir())]
    return [
        {"set": name, "method": method, "seed": seed}
        for seed in range(1 if scope.quick else scope.seeds)
        for name in scope.datasets or present
        for method in METHODS
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    name, method, seed = str(cell["set"]), str(cell["method"]), int(cell["seed"])
    parts = load_components(name, scope.data, *((QUICK_IMAGES, QUICK_TEST) if scope.quick else (None, None)))
    features, true = (part.numpy() for part in parts.test)
    model = METHODS[method](parts, seed)
    numbers = scores_of(model.predict(features), true) | {"components": float(features.shape[1])}
    if method == "CCS":
        numbers |= scores_of_sets(best_sets(label_probabilities(model, features)), true)
    return numbers


@lru_cache(maxsize=1)
def load_components(name: str, data: Path, n_images: int | None, n_test: int | None) -> Parts:
    """The principal components of the images; scaling and components are those of the images to train on."""
    parts = load_images(name, data, n_images, n_test)
    reduction = make_pipeline(StandardScaler(), PCA(EXPLAINED, svd_solver="covariance_eigh")).fit(_pixels(parts.train))

    def reduced(rows: Rows) -> Rows:
        return torch.from_numpy(reduction.transform(_pixels(rows))), rows[1]

    return Parts(reduced(parts.train), reduced(parts.validation), reduced(parts.test))


def _pixels(rows: Rows) -> np.ndarray:
    return rows[0].flatten(1).numpy().astype(np.float32)


def scores_of_sets(sets: np.ndarray, true: np.ndarray) -> Numbers:
    """Macro F1 and the share of sets that are the true class alone, in percent; and the mean number of classes in a set.

    >>> scores_of_sets(np.array([[True, False], [True, True]]), np.array([0, 1]))
    {'f1_sets': 83.33333333333333, 'accuracy_sets': 50.0, 'set_size': 1.5}
    """
    wanted = true[:, None] == np.arange(sets.shape[1])
    return {
        "f1_sets": 100.0 * float(f1_score(wanted, sets, average="macro", zero_division=0.0)),
        "accuracy_sets": 100.0 * float((sets == wanted).all(axis=1).mean()),
        "set_size": float(sets.sum(axis=1).mean()),
    }


def summary(found: Results) -> str:
    return "\n\n".join([*(_of_set(found, name) for name in distinct_values(found, "set")), LOSSY]) + "\n"


def _of_set(found: Results, name: str) -> str:
    rows = []
    for method in ("F1*", "Acc*"):
        means, _ = published.IMAGES[name][method]
        rows.append([f"{method} (Darknet-19)", f"{100.0 * means.f1:.1f}", "", f"{100.0 * means.accuracy:.1f}", ""])
    for method, paper in published.TABLE_2[name].items():
        ours = [mean_and_std(values(found, score, set=name, method=method)) for score in SCORES]
        rows.append([method, f"{100.0 * paper[0]:.1f}", ours[0], f"{100.0 * paper[1]:.1f}", ours[1]])
    sets = [mean_and_std(values(found, f"{score}_sets", set=name, method="CCS")) for score in SCORES]
    rows.append(["CCS, judged by its sets", "", sets[0], "", sets[1]])
    heads = ["method", *(head for title in SCORES.values() for head in (f"{title}, paper", "ours"))]
    components, size = (values(found, key, set=name, method="CCS") for key in ("components", "set_size"))
    n_seeds = len(components)
    return (
        f"## {SETS[name].title} (Table 2): test, %, {n_seeds} seeds\n\n{table(heads, rows)}\n\n"
        f"PCA keeps {components[0]:.0f} components. The sets of CCS have {np.mean(size):.1f} classes in the mean. "
        "`east-image` has our networks."
    )


def claims(found: Results) -> list[Claim]:
    """That the forest is ahead of CCS."""
    made = []
    for name in distinct_values(found, "set"):
        for index, (score, title) in enumerate(SCORES.items()):
            forest, ccs = (published.TABLE_2[name][method][index] for method in METHODS)
            gained = differences(*(values(found, score, set=name, method=method) for method in METHODS))
            runs = Runs(seeds=len(gained), test_rows=SETS[name].n_test)
            text = f"random forest over CCS, {title}, {SETS[name].title}"
            made.append(claim(text, round(100.0 * (forest - ccs), 1), gained, runs, group="east-baselines"))
    return made


EXPERIMENT = Experiment(
    name="east-baselines",
    title="EAST, Table 2 (arXiv 2405.20954): a random forest and CCS on images",
    datasets=tuple(SETS),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    seeds=5,
    cut=True,
)
