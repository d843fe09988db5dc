"""Which offsets do best on new rows: none, the best of the rows at hand, their mean over folds, or the smoothed ones?

    python -m benchmarks.offsets [--sets pima car] [--splits 2] [--first-seed 100] [--rows 4000] [--out benchmarks/results]

Every set x accuracy, balanced accuracy, macro F1 and MCC x three models: logistic regression, boosted trees, and a logistic
regression on the out-of-fold log-probabilities of these two and ExtraTrees. Offsets are tuned on the out-of-fold scores of the
training rows (five folds, the same for all; for the stack the scores of a head that has not seen the fold) and judged on a
fifth of the rows. Differences are in points. Sets are the units: an interval is by Student's t over one difference per set,
and p is by Wilcoxon's signed ranks of the same, uncorrected. We looked at seeds 100 and 101 to choose; 102 and 103 are fresh.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

from benchmarks._script import new_parser, write_page, written_by
from metricfit import metrics
from metricfit._typing import Floats, Ints
from metricfit.decisions._calibration import cross_entropy
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._offsets import cross_fit_offsets, fit_offsets, fit_smooth_offsets
from metricfit.decisions._scores import log_probabilities
from metricfit.estimators._preprocess import build_preprocessor
from reproductions import _tables as tables

METRICS = ("accuracy", "balanced_accuracy", "f1_macro", "mcc")
MODELS = ("logistic regression", "boosted trees", "stack")
COLUMNS = ("set", "seed", "model", "metric", "offsets", "points")
OFFSETS = ("none", "hard", "hard, mean of folds", "smooth", "smooth, mean of folds")
STRENGTHS = tuple(10.0**power for power in range(-3, 4))
LEFT_OUT = ("wine", "satellite47")  # nothing to gain; a part of another set
BOOSTING = {"learning_rate": 0.05, "max_leaf_nodes": 15, "max_iter": 500, "early_stopping": True, "n_iter_no_change": 20}
STACK_LEAST = 1e-3  # probability whose logarithm the stack sees
TIE = 0.2  # points

Folds = list[tuple[Ints, Ints]]
Scores = tuple[Floats, Floats]  # out-of-fold log-probabilities of the training rows, and those of the test rows


def evaluate_split(name: str, seed: int, rows: int) -> list[dict[str, Any]]:
    """All models, metrics and offsets on one split of one set."""
    features, labels = load(name, rows)
    train, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(features, labels))
    y, truth, n_classes = labels[train], labels[test], int(labels.max()) + 1
    folds: Folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(train, y))
    parts, weight, results = [held_out for _, held_out in folds], np.ones(len(y)), []
    for model, (scores, new) in fit_models(features.iloc[train], y, features.iloc[test], folds).items():
        for metric in METRICS:
            judge = metrics.get(metric)
            found = {
                "none": np.zeros(n_classes),
                "hard": fit_offsets(scores, y, judge, weight),
                "hard, mean of folds": np.mean(cross_fit_offsets(scores, y, judge, weight, parts), 0),
                "smooth": fit_smooth_offsets(scores, y, judge, weight),
                "smooth, mean of folds": np.mean(cross_fit_offsets(scores, y, judge, weight, parts, fit_smooth_offsets), 0),
            }
            for kind, offsets in found.items():
                matrix = hard_confusion((new + offsets).argmax(1), truth, np.ones(len(truth)), n_classes)
                points = round(100.0 * float(metric_values(judge, matrix)), 4)
                results.append(dict(zip(COLUMNS, (name, seed, model, metric, kind, points), strict=True)))
    return results


def load(name: str, rows: int) -> tuple[pd.DataFrame, Ints]:
    """Features and labels 0 ... k - 1 of at most so many rows, stratified."""
    features, target = tables.load(name)
    labels = np.unique(target, return_inverse=True)[1]
    if len(labels) <= rows:
        return features, labels
    kept, _ = next(StratifiedShuffleSplit(1, train_size=rows, random_state=0).split(features, labels))
    return features.iloc[kept], labels[kept]


def fit_models(known: pd.DataFrame, y: Ints, new: pd.DataFrame, folds: Folds) -> dict[str, Scores]:
    """The scores of every model of MODELS."""
    reader = build_preprocessor(known)
    linear = logistic_regression(reader.fit_transform(known), y, reader.transform(new), folds)
    codes, new_codes, n_categories = encode(known, new)
    boosted = boosted_trees(codes, y, new_codes, folds, n_categories)
    members = (linear, boosted, extra_trees(codes, y, new_codes))
    seen, unseen = (np.concatenate([centred(member[place]) for member in members], 1) for place in (0, 1))
    return dict(zip(MODELS, (linear, boosted, logistic_regression(seen, y, unseen, folds)), strict=True))


def centred(scores: Floats) -> Floats:
    """Log-probabilities, none far below the others, minus their mean over classes; for two classes their difference."""
    bounded = np.maximum(scores, np.log(STACK_LEAST))
    return bounded[:, 1:] - bounded[:, :1] if scores.shape[1] == 2 else bounded - bounded.mean(1, keepdims=True)


def logistic_regression(table: Any, y: Ints, new: Any, folds: Folds) -> Scores:
    """L2 by the cross-entropy of the folds; out-of-fold scores are of the same L2."""
    tried = np.zeros((len(STRENGTHS), len(y), int(y.max()) + 1))
    for kept, held_out in folds:
        model = LogisticRegression(max_iter=300, warm_start=True)
        for place, strength in enumerate(STRENGTHS):
            model.set_params(C=strength).fit(table[kept], y[kept])
            tried[place, held_out] = model.predict_log_proba(table[held_out])
    best = int(np.argmin([cross_entropy(scores, y, np.ones(len(y))) for scores in tried]))
    final = LogisticRegression(C=STRENGTHS[best], max_iter=1000).fit(table, y)
    return log_probabilities(np.exp(tried[best])), log_probabilities(final.predict_proba(new))


def boosted_trees(table: Floats, y: Ints, new: Floats, folds: Folds, n_categories: int) -> Scores:
    """Every fold's model, all with as many rounds: the median of the folds' best; new rows get their mean."""
    models, rounds = [], []
    for kept, held_out in folds:
        known = ~np.isnan(table[kept]).all(0)  # an empty column is an error
        model = HistGradientBoostingClassifier(
            categorical_features=np.flatnonzero(known) < n_categories, random_state=0, **BOOSTING
        )
        model.fit(table[kept][:, known], y[kept], X_val=table[held_out][:, known], y_val=y[held_out])
        models.append((model, known))
        rounds.append(max(int(np.argmax(model.validation_score_)), 1))
    n_classes = int(y.max()) + 1
    out_of_fold, mean = np.zeros((len(y), n_classes)), np.zeros((len(new), n_classes))
    for (model, known), (_, held_out) in zip(models, folds, strict=True):
        model._predictors = model._predictors[: int(np.median(rounds))]
        out_of_fold[held_out] = model.predict_proba(table[held_out][:, known])
        mean += model.predict_proba(new[:, known]) / len(folds)
    return log_probabilities(out_of_fold), log_probabilities(mean)


def extra_trees(table: Floats, y: Ints, new: Floats) -> Scores:
    """One forest: every training row gets its scores from the trees that have not seen it."""
    forest = ExtraTreesClassifier(200, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=0).fit(table, y)
    return log_probabilities(forest.oob_decision_function_), log_probabilities(forest.predict_proba(new))


def encode(known: pd.DataFrame, new: pd.DataFrame) -> tuple[Floats, Floats, int]:
    """Codes of categories, then numbers, NaN for what is missing or unseen; and the number of categories."""
    categories = [place for place, kind in enumerate(known.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    reader = make_column_transformer((coder, categories), remainder="passthrough")
    return reader.fit_transform(known), reader.transform(new), len(categories)


def report(rows: list[dict[str, Any]]) -> str:
    found = pd.DataFrame(rows)
    means = found.groupby(["model", "metric", "offsets"])["points"].mean()
    by_set = found.pivot_table(index=["model", "metric", "set"], columns="offsets", values="points")
    lines = [
        written_by(),
        "",
        f"{found['set'].nunique()} sets, splits per set: {found['seed'].nunique()}. Points on the test rows, mean over sets:",
        "",
        "| model | metric | " + " | ".join(OFFSETS) + " |",
        "|---|---|" + "---:|" * len(OFFSETS),
    ]
    for model in MODELS:
        for metric in METRICS:
            lines.append(f"| {model} | {metric} | " + " | ".join(f"{means[model, metric, k]:.2f}" for k in OFFSETS) + " |")
    header = f"| model | metric | difference | 95 % over sets | p | better/tie/worse by {TIE} | worst set |"
    pairs = (("smooth", "hard"), ("hard, mean of folds", "hard"), ("smooth, mean of folds", "hard"))
    for first, second in (*pairs, ("smooth, mean of folds", "hard, mean of folds")):
        lines += ["", f"{first.capitalize()} offsets against {second}:", "", header, "|---|---|" + "---:|" * 5]
        gains = by_set[first] - by_set[second]
        for model in MODELS:
            for metric in METRICS:
                lines.append(f"| {model} | {metric} | {summary(gains[model][metric])} |")
            lines.append(f"| {model} | mean of the four | {summary(gains[model].groupby('set').mean())} |")
    return "\n".join(lines) + "\n"


def summary(gains: pd.Series) -> str:
    """Mean, interval, p, wins and the worst of one difference per set."""
    values = gains.to_numpy()
    reach = float(stats.t.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
    p = float(stats.wilcoxon(values).pvalue) if values.any() else 1.0
    better, worse, mean = int((values > TIE).sum()), int((values < -TIE).sum()), values.mean()
    counts = f"{better}/{len(values) - better - worse}/{worse}"
    interval = f"{mean - reach:+.2f} … {mean + reach:+.2f}"
    return f"{mean:+.2f} | {interval} | {p:.3f} | {counts} | {gains.idxmin()} {values.min():+.2f}"


def main() -> None:
    parser = new_parser(__doc__)
    usual = [name for name in tables.SETS if name not in LEFT_OUT]
    parser.add_argument("--sets", nargs="+", default=usual, choices=list(tables.SETS), metavar="SET")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4000, help="at most, per set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name in options.sets:
        for seed in range(options.first_seed, options.first_seed + options.splits):
            with threadpool_limits(1):
                rows += evaluate_split(name, seed, options.rows)
            print(f"{name}, split {seed}", file=sys.stderr)
    write_page(options.out, "offsets.md", report(rows))
    if options.out:
        pd.DataFrame(rows).to_csv(options.out / "offsets.csv", index=False)


if __name__ == "__main__":
    main()
