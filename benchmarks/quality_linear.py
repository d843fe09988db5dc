"""Is a linear MetricClassifier better than logistic regression with tuned offsets, and never worse?

    python -m benchmarks.quality_linear [--sets pima car] [--splits 10] [--jobs 2] [--out benchmarks/results]
    python -m benchmarks.quality_linear --time [--sets ...]            # fit times, in one process

Every set x accuracy, balanced accuracy, F1 (of the rarer class; macro for several classes) and MCC, repeated stratified
splits. The methods, with the same preprocessing: logistic regression (L2 tuned by 5-fold cross-entropy, scikit-learn),
the same with offsets tuned on 5-fold scores (for two classes: a tuned threshold), EXACT (``method="exact"``), and
``MetricClassifier(model="linear")``. Differences are to logistic regression with offsets, in points; tests are paired,
corrected for overlapping training sets (Nadeau and Bengio) and for the number of cells (Holm).
"""

from __future__ import annotations

import csv
import statistics
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from metricfit.comparison._statistics import corrected_estimate, holm
from metricfit.estimators._preprocess import build_preprocessor
from metricfit.learners._catalogue import CS
from reproductions import _tables as tables

METRICS = ("accuracy", "balanced_accuracy", "f1", "mcc")
BASELINE, OURS = "+ offsets", "MetricClassifier"
METHODS = ("logistic regression", BASELINE, "direct EXACT", OURS)


def metric_name(metric: str, n_classes: int) -> str:
    return "f1_macro" if metric == "f1" and n_classes > 2 else metric


def logistic_regression(features: Any, target: Any, seed: int) -> tuple[Any, Any]:
    """A fitted pipeline with tuned L2, and an unfitted one with that L2."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    tuned = make_pipeline(
        build_preprocessor(features),
        LogisticRegressionCV(
            Cs=list(CS), cv=folds, scoring="neg_log_loss", max_iter=300, l1_ratios=(0,), use_legacy_attributes=False
        ),
    )
    tuned.fit(features, target)
    chosen = float(np.ravel(tuned[-1].C_)[0])
    return tuned, make_pipeline(build_preprocessor(features), LogisticRegression(C=chosen, max_iter=300))


def evaluate_split(name: str, seed: int) -> list[dict[str, Any]]:
    """All methods and metrics on one split of one set."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    features, target = tables.load(name)
    classes, counts = np.unique(target, return_counts=True)
    rarer, results = classes[counts.argmin()], []
    train, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(features, target))
    training, held_out = (features.iloc[train], target[train]), (features.iloc[test], target[test])
    with threadpool_limits(1):
        plain, fixed = logistic_regression(*training, seed)
        for metric in METRICS:
            options: dict[str, Any] = {"pos_label": rarer if len(classes) == 2 else None, "random_state": seed}
            wanted = metric_name(metric, len(classes))
            offset = mf.OffsetClassifier(fixed, wanted, smooth=False, **options).fit(*training)
            ours = mf.MetricClassifier(wanted, model="linear", **options).fit(*training)
            direct = mf.MetricClassifier(wanted, model="linear", method="exact", C=ours.C_, **options).fit(*training)
            scores = {
                METHODS[0]: score_predictions(offset, plain.predict(held_out[0]), held_out[1]),  # the same metric for all
                BASELINE: offset.score(*held_out),
                OURS: ours.score(*held_out),
                "direct EXACT": direct.score(*held_out),
            }
            about = {"n_train": len(train), "n_test": len(test), "n_classes": len(classes), "chosen": ours.chosen_}
            about = {"set": name, "seed": seed, "metric": metric, **about}
            results += [{**about, "method": method, "score": score} for method, score in scores.items()]
    return results


def score_predictions(judge: mf.OffsetClassifier, predicted: Any, truth: Any) -> float:
    """The metric of ``judge`` for any predictions."""
    matrix = np.zeros((len(judge.classes_),) * 2)
    np.add.at(matrix, (np.searchsorted(judge.classes_, truth), np.searchsorted(judge.classes_, predicted)), 1.0)
    return float(judge.metric_(torch.from_numpy(matrix)))


def report(rows: list[dict[str, Any]]) -> str:
    scores: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    sizes = {row["set"]: row for row in rows}
    for row in rows:
        scores.setdefault((row["set"], row["metric"]), {}).setdefault(row["method"], {})[row["seed"]] = 100.0 * row["score"]
    cells = []
    for (name, metric), by_method in scores.items():
        seeds = sorted(by_method[BASELINE])
        values = {method: np.array([found[seed] for seed in seeds]) for method, found in by_method.items()}
        difference = values[OURS] - values[BASELINE]
        p = corrected_estimate(difference, sizes[name]["n_test"] / sizes[name]["n_train"]).p
        cells.append((name, metric, values, difference, p))
    adjusted = holm([cell[4] for cell in cells])
    means = np.array([cell[3].mean() for cell in cells])
    gains = sum(q < 0.05 and d > 0 for q, d in zip(adjusted, means, strict=True))
    losses = sum(q < 0.05 and d < 0 for q, d in zip(adjusted, means, strict=True))
    lines = [
        written_by(),
        "",
        f"{len(cells)} cells. MetricClassifier against tuned offsets: {means.mean():+.2f} points in the mean,"
        f" {int((means > 0.2).sum())} better by more than 0.2, {int((means < -0.2).sum())} worse by more than 0.2, worst cell "
        f"{means.min():+.2f}; significant at 5 % (corrected, Holm): {gains} gains, {losses} losses.",
        "",
        "| mean over sets | " + " | ".join(METRICS) + " |",
        "|---|" + "---:|" * len(METRICS),
    ]
    for method in METHODS:
        found = [np.mean([c[2][method].mean() for c in cells if c[1] == metric and method in c[2]]) for metric in METRICS]
        lines.append(f"| {method} | " + " | ".join(f"{value:.2f}" for value in found) + " |")
    lines += ["", "| set | metric | splits | " + " | ".join(METHODS) + " | difference | p | after Holm |"]
    lines.append("|---|---|---:|" + "---:|" * (len(METHODS) + 3))
    for (name, metric, values, difference, p), q in zip(cells, adjusted, strict=True):
        shown = " | ".join(f"{values[method].mean():.2f}" if method in values else "" for method in METHODS)
        lines.append(f"| {name} | {metric} | {len(difference)} | {shown} | {difference.mean():+.2f} | {p:.3f} | {q:.3f} |")
    return "\n".join(lines) + "\n"


def fit_times(names: list[str], repeats: int) -> str:
    """Fit times: logistic regression with tuned L2 and offsets against MetricClassifier; one C against method "direct"."""
    warnings.simplefilter("ignore")
    lines = ["| set | baseline, s | auto, s | ratio | one logistic regression, s | leaky, s | ratio |", "|---|" + "---:|" * 6]
    ratios: list[tuple[float, float]] = []
    for name in names:
        features, target = tables.load(name)
        times: dict[str, list[float]] = {}
        for repeat in range(repeats):
            with threadpool_limits(1):  # with more threads small matrices are several times slower
                seconds_of = _fit_seconds(features, target, repeat)
            for label, seconds in seconds_of.items():
                times.setdefault(label, []).append(seconds)
            if times["baseline"][-1] > 20.0:  # noise is negligible
                break
        median = {label: statistics.median(found) for label, found in times.items()}
        ratios.append((median["auto"] / median["baseline"], median["direct"] / median["one"]))
        lines.append(
            f"| {name} | {median['baseline']:.2f} | {median['auto']:.2f} | {ratios[-1][0]:.2f} | {median['one']:.3f} | "
            f"{median['direct']:.3f} | {ratios[-1][1]:.2f} |"
        )
        print(lines[-1], file=sys.stderr)
    auto, leaky = (statistics.median(column) for column in zip(*ratios, strict=True))
    return "\n".join([*lines, "", f"Medians over sets: auto {auto:.2f} times the baseline, leaky {leaky:.2f} times one fit."])


def _fit_seconds(features: Any, target: Any, seed: int) -> dict[str, float]:
    """Seconds of each fit, one after the other."""
    metric, times, start = metric_name("f1", len(np.unique(target))), {}, time.perf_counter()

    def record(label: str) -> None:
        nonlocal start
        times[label], start = time.perf_counter() - start, time.perf_counter()

    _, fixed = logistic_regression(features, target, seed)
    mf.OffsetClassifier(fixed, metric, smooth=False, random_state=seed).fit(features, target)
    record("baseline")
    mf.MetricClassifier(metric, model="linear", random_state=seed).fit(features, target)
    record("auto")
    make_pipeline(build_preprocessor(features), LogisticRegression(max_iter=300)).fit(features, target)
    record("one")
    mf.MetricClassifier(metric, model="linear", method="direct", C=1.0).fit(features, target)
    record("direct")
    return times


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(tables.SETS), choices=list(tables.SETS), metavar="SET")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)

    parser.add_argument("--time", action="store_true", help="measure fit times instead")
    options = parser.parse_args()

    if options.time:
        text = f"{written_by()}\n\n{fit_times(options.sets, 3)}"
    else:
        rows: list[dict[str, Any]] = []
        jobs = [(name, seed) for name in options.sets for seed in range(options.splits)]
        work = (delayed(evaluate_split)(name, seed) for name, seed in jobs)
        for done, found in enumerate(Parallel(n_jobs=options.jobs, return_as="generator")(work), 1):
            rows += found
            print(f"{done} of {len(jobs)}: {found[0]['set']}, split {found[0]['seed']}", file=sys.stderr)
        text = report(rows)
        if options.out:
            with (options.out / "quality_linear.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    write_page(options.out, "fit_time.md" if options.time else "quality_linear.md", text)


if __name__ == "__main__":
    main()
