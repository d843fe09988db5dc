"""Comparisons made of given scores, without any training."""

import numpy as np

from metricfit import methods, metrics
from metricfit._table import Table
from metricfit.comparison import Comparison
from metricfit.comparison._contenders import CONSTANT, Contender
from metricfit.comparison._result import collect_results, score_statistics
from metricfit.comparison._run import HeldOutPrediction, Outcome
from metricfit.comparison._splits import Plan

SIGNS = np.array([1.0, -1.0] * 5)


def around(mean, scatter=0.0):
    """Ten scores: the mean plus and minus the scatter, in turns."""
    return (mean + scatter * SIGNS).tolist()


def compare_scores(metric="f1", chosen=None, seconds=None, margin=0.01, **scores):
    """A comparison of contenders with these scores, from simple to complex: ``linear_threshold=around(0.6)``.

    The scores are those of five folds and two repeats. ``chosen`` is what the automatic choice chose.
    """
    scores = {name.replace("_", ", ", 1): own for name, own in {"trivial_constant": around(0.2), **scores}.items()}
    contenders, runs, labels = [], [{} for _ in range(10)], np.arange(20) % 2
    for name, own in scores.items():
        model, method = name.split(", ")
        contenders.append(Contender(model, CONSTANT if model == "trivial" else methods.get(method), model))
        took = (seconds or {}).get(model, 1.0)
        held_out = HeldOutPrediction(np.eye(2)[labels[:4]], np.eye(2)[labels[:4]])
        what = "1" if model == "trivial" else (chosen or "threshold") if method == "auto" else method
        for run, score in zip(runs, own, strict=True):
            run[name] = Outcome(score, took, held_out, np.zeros(2), 1.0, Table(), what)
    folds = [(np.setdiff1d(np.arange(20), test), test) for test in np.arange(20).reshape(5, 4)]
    plan, measure = Plan(folds * 2, 5, 2, "5-fold cross-validation, 2 repeats"), metrics.get(metric)
    statistics = score_statistics(runs, plan, measure, labels, 2, 0)
    return Comparison(
        metric=metric,
        measure=measure,
        classes=np.array(["bad", "good"]),
        labels=labels,
        n_rows=20,
        class_counts=np.bincount(labels),
        columns=["x"],
        n_splits=5,
        n_repeats=2,
        seed=0,
        results=collect_results(runs, plan, contenders, statistics, None, labels),
        evaluation=plan.evaluation,
        margin=margin,
        statistics=statistics,
    )
