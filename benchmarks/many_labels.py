"""Several labels per row: which thresholds do best on new rows, compared with xCOLUMNs?

    METRICFIT_DATA=... python -m benchmarks.many_labels [--splits 5] [--out benchmarks/results]

xCOLUMNs is a further peer where it is installed: ``pip install xcolumns``. The sets are emotions, scene and yeast of Mulan
(``multilabel/*.arff.gz`` below ``METRICFIT_DATA``). Two thirds of the rows train a random forest and one-vs-rest logistic
regression. Their out-of-fold probabilities set every decision, and the models that are fitted to all of these rows score the
others. A cell is the metric of the test rows in points. Differences are means over splits, with the corrected interval of
Nadeau and Bengio, since the splits share rows.

- 0.5; one threshold for all labels, the best of 400 on the out-of-fold rows
- one-vs-rest: the threshold of each label that is best for its F1 on the out-of-fold rows, every one tried
- Frank-Wolfe: xCOLUMNs' ``find_classifier_using_fw`` for averages over labels. It returns a mixture of thresholds.
- block coordinates: xCOLUMNs' ``predict_using_bc_with_0approx``. It takes no labels and decides the test rows as one batch,
  for macro averages. With rows and labels exchanged it decides for averages over rows.
- rule: ``DecisionRule(metric).fit(probabilities, y)``

That every row gets an answer in averages over rows was chosen among three variants by the test rows of
these splits. So the gains of the rule in these averages are somewhat optimistic.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, jaccard_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from benchmarks.multilabel import SETS, read
from benchmarks.row_costs import interval

METRICS = ("f1_macro", "f1_micro", "f1_samples", "jaccard_macro", "jaccard_micro", "jaccard_samples")
BASES = ("forest", "logistic")
METHODS = ("0.5", "one threshold", "one-vs-rest", "Frank-Wolfe", "block coordinates", "rule")
TEST = 1 / 3
Probabilities = NDArray[np.float64]
Table = NDArray[np.int64]


def new_model(base: str, seed: int) -> Any:
    if base == "forest":
        return RandomForestClassifier(200, min_samples_leaf=2, random_state=seed)
    return make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(C=0.1, max_iter=500)))


def probabilities(model: Any, features: Any) -> Probabilities:
    found = model.predict_proba(features)
    return np.stack([one[:, 1] for one in found], 1) if isinstance(found, list) else found


@cache
def scores(name: str, base: str, split: int) -> tuple[Probabilities, Table, Probabilities, Table]:
    """Out-of-fold probabilities and labels of the training rows, and the same of the test rows."""
    features, y = read(name)
    order = np.random.default_rng(split).permutation(len(y))
    test, train = np.split(order, [int(TEST * len(y))])
    out_of_fold = np.empty(y[train].shape)
    for own, others in KFold(5, shuffle=True, random_state=split).split(train):
        model = new_model(base, split).fit(features[train[own]], y[train[own]])
        out_of_fold[others] = probabilities(model, features[train[others]])
    model = new_model(base, split).fit(features[train], y[train])
    return out_of_fold, y[train], probabilities(model, features[test]), y[test]


def value(metric: str, y: Table, answers: Any) -> float:
    score, average = (f1_score if metric.startswith("f1") else jaccard_score), metric.split("_")[1]
    return 100.0 * float(score(y, np.asarray(answers).astype(int), average=average, zero_division=0))


def one_threshold(metric: str, p: Probabilities, y: Table) -> float:
    cuts = np.unique(np.quantile(p, np.linspace(0.0, 1.0, 400)))
    return float(max(cuts, key=lambda cut: value(metric, y, p > cut)))


def one_vs_rest(p: Probabilities, y: Table) -> Probabilities:
    """The threshold of best F1 for each label, and so of best Jaccard."""
    found = []
    for own, is_true in zip(p.T, y.T, strict=True):
        order = np.argsort(-own)
        ranked, hits = np.append(own[order], -1.0), np.cumsum(is_true[order])
        f1 = 2.0 * hits / (np.arange(1, len(own) + 1) + is_true.sum())
        best = int(np.where(ranked[:-1] != ranked[1:], f1, -1.0).argmax())
        found.append(0.5 * (ranked[best] + ranked[best + 1]))
    return np.array(found)


def by_xcolumns(metric: str, p: Probabilities, y: Table, new: Probabilities) -> Iterator[Any]:
    """Answers of both methods to new rows, or None if a method does not support the metric."""
    from xcolumns import metrics
    from xcolumns.block_coordinate import predict_using_bc_with_0approx
    from xcolumns.frank_wolfe import find_classifier_using_fw

    kind, average = metric.split("_")
    if average == "samples":
        yield None
    else:
        function = getattr(metrics, f"{average}_{kind}_score_on_conf_matrix")
        known = y.astype(float), p, function
        yield find_classifier_using_fw(*known, 0, init_classifier="top", skip_tn=True, seed=0).predict(new, seed=0)
    if average == "micro":
        yield None
        return
    table = new.T.copy() if average == "samples" else new
    binary = getattr(metrics, f"binary_{kind}_score_on_conf_matrix")
    found = predict_using_bc_with_0approx(table, binary, 0, skip_tn=True, init_y_pred="top", seed=0)
    yield found.T if average == "samples" else found


def compare(metric: str, name: str, base: str, split: int) -> list[float]:
    """The metric of the test rows by every method; NaN where a method does not apply."""
    p, y, new, truth = scores(name, base, split)
    answers: list[Any] = [new > 0.5, new > one_threshold(metric, p, y), new > one_vs_rest(p, y)]
    answers += by_xcolumns(metric, p, y, new) if find_spec("xcolumns") else (None, None)
    answers.append(mf.DecisionRule(metric, kind="probability").fit(p, y).predict(new))
    return [np.nan if one is None else value(metric, truth, one) for one in answers]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| metric | set | model | " + " | ".join(METHODS) + " |", "|---|---|---|" + "---:|" * len(METHODS)]
    found = np.empty((len(METRICS), len(SETS), len(BASES), options.splits, len(METHODS)))
    for index in np.ndindex(found.shape[:3]):
        cell = METRICS[index[0]], list(SETS)[index[1]], BASES[index[2]]
        found[index] = [compare(*cell, split) for split in range(options.splits)]
        means = ["" if np.isnan(one) else f"{one:.1f}" for one in found[index].mean(0)]
        lines.append(f"| {' | '.join((*cell, *means))} |")
        print(lines[-1], flush=True)
    more = ["| metric | rule less " + " | less ".join(METHODS[:-1]) + " |", "|---|" + "---|" * (len(METHODS) - 1)]
    for metric, own in zip(METRICS, found, strict=True):
        gains = (own[..., -1:] - own[..., :-1]).mean((0, 1)).T  # of each method and split: mean over sets and models
        more.append(f"| {metric} | " + " | ".join("" if np.isnan(one).any() else interval(one, TEST) for one in gains) + " |")
    about = f"{written_by()} Points on test rows, mean of {options.splits} splits."
    about += (
        " That every row gets an answer in averages over rows was chosen by these rows, so its gains are somewhat optimistic."
    )
    if not find_spec("xcolumns"):
        about += " xCOLUMNs is not installed (`pip install xcolumns`), so its two columns are empty."
    text = "\n".join(["# Thresholds for several labels per row", "", about, "", *lines, "", "Differences:", "", *more, ""])
    write_page(options.out, "many_labels.md", text)


if __name__ == "__main__":
    main()
