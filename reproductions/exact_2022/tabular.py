"""Tables 1 and 2: linear models on ten tables, by scikit-learn, cross-entropy, hinge and EXACT, on the paper's split."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

from reproductions._claims import Claim, Runs, claim, p_text
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import NEAR, but, table, with_agreement
from reproductions._results import differences, distinct_values, values
from reproductions.exact_2022 import published
from reproductions.exact_2022._arms import ARMS, draw_options, draw_penalties, first_best, table_8, train_seeds
from reproductions.exact_2022._batched import LinearModels, Options, train_models
from reproductions.exact_2022._protocol import QUICK_STEPS, STEPS, Dataset, load_data

METHODS = ("Sklearn", "Cross-entropy", "Hinge", "EXACT")
LEGEND = (
    f"= agrees with the paper: within {NEAR} points, or twice the deviation over seeds, the paper's and ours together. "
    "↑ ↓ does not."
)


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (published.SETS if not scope.quick else ("balance-scale", "car", "wine"))
    return [{"set": name, "method": method} for name in sets for method in METHODS]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """A row for each seed. EXACT's row counts the test rows on which only it, or only cross-entropy of that seed, is right."""
    name, method = str(cell["set"]), str(cell["method"])
    data = load_data(name, scope.data)
    sizes: Numbers = {"train_rows": len(data.train[1]), "test_rows": len(data.test[1])}
    if method == "Sklearn":
        penalty = _searched_penalty(data, scope.search) if scope.search else published.SKLEARN_REGULARIZATION[_place(name)]
        train, test = _sklearn(data, penalty)
        return [{"seed": 0, "train": train, "test": test, **sizes}]
    seeds = range(1 if scope.quick else scope.seeds)
    hits = _hits(_train(data, name, method, scope, seeds), data)
    rows: list[Numbers] = [
        {"seed": seed, **{part: 100.0 * float(hit[seed].mean()) for part, hit in hits.items()}, **sizes} for seed in seeds
    ]
    if method == "EXACT":
        plain = _hits(_train(data, name, "Cross-entropy", scope, seeds), data)["test"]
        for seed, row in enumerate(rows):
            row["only_exact"] = float((hits["test"][seed] & ~plain[seed]).sum())
            row["only_plain"] = float((~hits["test"][seed] & plain[seed]).sum())
    return rows


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided p-value of McNemar's exact test: rows on which only one of two models is right are fair coins.

    >>> mcnemar(8, 1)           # 2 (1 + 9) / 2**9
    0.0390625
    """
    return float(binomtest(only_first, only_first + only_second).pvalue) if only_first + only_second else 1.0


def _train(data: Dataset, name: str, method: str, scope: Scope, seeds: range) -> LinearModels:
    steps = QUICK_STEPS if scope.quick else STEPS
    options = _searched_options(data, method, scope.search, steps) if scope.search else table_8(method, name)
    return train_seeds(data, method, options, steps=steps, seeds=seeds)


def _hits(models: LinearModels, data: Dataset) -> dict[str, np.ndarray]:
    """Whether each training and test row is predicted right, by seed."""
    n_seeds, found = len(models.weights), {}
    for part, rows in (("train", data.train), ("test", data.test)):
        features, labels = (values.expand(n_seeds, *values.shape) for values in rows)
        found[part] = models.hits(features, labels)[:, 0].numpy()
    return found


def _sklearn(data: Dataset, penalty: float) -> tuple[float, float]:
    solver = LogisticRegression(C=1.0 / penalty if penalty else math.inf, max_iter=5000)
    solver.fit(*(part.numpy() for part in data.train))
    train, test = (100.0 * solver.score(x.numpy(), y.numpy()) for x, y in (data.train, data.test))
    return train, test


def _searched_penalty(data: Dataset, n_draws: int) -> float:
    inner = _held_out(data)
    return max(draw_penalties(n_draws, 0), key=lambda penalty: _sklearn(inner, penalty)[1])


def _searched_options(data: Dataset, method: str, n_draws: int, steps: int) -> Options:
    """The best of so many random draws from the ranges of Table 8, by accuracy on 20 % of the training rows."""
    inner, options = _held_out(data), ARMS[method].restrict(draw_options(n_draws, [0]))
    train, held_out = ((features[None], labels[None]) for features, labels in (inner.train, inner.test))
    models = train_models(*train, data.n_classes, ARMS[method].method, options, steps=steps, seeds=[0])
    return options.take(first_best(models.accuracy(*held_out)))


def _held_out(data: Dataset) -> Dataset:
    """Training rows alone, a fifth of them in place of the test rows."""
    order = np.random.default_rng(0).permutation(len(data.train[1]))
    held, rest = order[: len(order) // 5], order[len(order) // 5 :]
    train, test = ((data.train[0][part], data.train[1][part]) for part in (rest, held))
    return Dataset(train, test, data.n_classes)


def summary(found: Results) -> str:
    """Both tables, published and ours, the two claims about the training part, and McNemar's test on the test rows."""
    sets = distinct_values(found, "set")
    text = []
    means: dict[str, dict[str, dict[str, float]]] = {}
    for part, paper, spread in (
        ("train", published.TRAIN, published.TRAIN_DEVIATION),
        ("test", published.TEST, published.TEST_DEVIATION),
    ):
        rows = []
        for name in sets:
            index, row = _place(name), [name]
            for method in METHODS:
                scores = values(found, part, set=name, method=method)
                means.setdefault(part, {}).setdefault(name, {})[method] = float(np.mean(scores))
                row.append(f"{paper[method][index]:.2f} ± {spread[method][index]:.2f}")
                row.append(with_agreement(paper[method][index], scores, deviation=spread[method][index]))
            rows.append(row)
        heads = ["set", *(head for method in METHODS for head in (f"{method}, paper", "ours"))]
        text.append(f"## Accuracy on {part}, %\n\n{table(heads, rows)}")
    reached = [name for name in sets if means["train"][name]["EXACT"] >= published.TRAIN["EXACT"][_place(name)] - NEAR]
    best = {part: [name for name in sets if _is_best(means[part][name])] for part in means}
    text.append(
        f"{LEGEND}\n\n"
        f"EXACT reaches the paper's training accuracy (within {NEAR} points, or above) on {len(reached)} of {len(sets)} sets"
        f"{but(sets, reached)}. It is best, or as good as the best, on train on {len(best['train'])}"
        f"{but(sets, best['train'])}, on test on {len(best['test'])}{but(sets, best['test'])}. The paper: 9 and 6 of 10."
    )
    return "\n\n".join([*text, _tests_on_rows(found, sets)]) + "\n"


def _tests_on_rows(found: Results, sets: list[str]) -> str:
    rows = []
    for name in sets:
        ahead, behind, n_rows = (
            int(values(found, score, set=name, method="EXACT")[0]) for score in ("only_exact", "only_plain", "test_rows")
        )
        counts = [f"{_published_gain(name) * n_rows / 100.0:+.1f}", f"{ahead:,}", f"{behind:,}"]
        rows.append([name, f"{n_rows:,}", *counts, p_text(mcnemar(ahead, behind))])
    heads = ["set", "test rows", "published gain in rows", "only EXACT right", "only cross-entropy right", "p"]
    return (
        "## EXACT against cross-entropy, row by row\n\nMcNemar's exact test on the test rows of the one split. It takes the "
        "models of the first seed: a row has one answer, and seeds hardly differ.\n\n" + table(heads, rows)
    )


def claims(found: Results) -> list[Claim]:
    """EXACT over cross-entropy on test, seed by seed."""
    made = []
    for name in distinct_values(found, "set"):
        exact, plain = (values(found, "test", set=name, method=method) for method in ("EXACT", "Cross-entropy"))
        train_rows, test_rows = (values(found, part, set=name, method="EXACT") for part in ("train_rows", "test_rows"))
        runs = Runs(seeds=len(exact), test_rows=int(test_rows[0]), train_rows=int(train_rows[0]))
        text = f"EXACT over cross-entropy, accuracy, {name}, the paper's split"
        made.append(claim(text, _published_gain(name), differences(exact, plain), runs, group="exact-tabular"))
    return made


def _published_gain(name: str) -> float:
    return published.TEST["EXACT"][_place(name)] - published.TEST["Cross-entropy"][_place(name)]


def _place(name: str) -> int:
    return published.SETS.index(name)


def _is_best(by_method: dict[str, float]) -> bool:
    return by_method["EXACT"] >= max(by_method.values()) - 0.005


EXPERIMENT = Experiment(
    name="exact-tabular",
    title="EXACT, Tables 1 and 2 (arXiv 2205.09615): linear models on ten tables",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    searches=True,
    version=2,
)
