"""From outcomes on every split to results with intervals and p-values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import CONSTANT_NAME, REFERENCE, Contender
from metricfit.comparison._outcome import HeldOutPrediction, Outcome
from metricfit.comparison._result import Result
from metricfit.comparison._splits import Plan
from metricfit.comparison._statistics import Scores, SplitScores, TestScores, differences, limits_of, resample_scores
from metricfit.metrics import Metric


def collect_results(
    runs: Sequence[Mapping[str, Outcome]], plan: Plan, contenders: Sequence[Contender], statistics: Scores
) -> dict[str, Result]:
    """The results of all contenders. ``runs`` has the outcomes of every split."""
    names = [one.name for one in contenders]
    scores = {name: [run[name].score for run in runs] for name in names}
    best = max(names, key=lambda name: float(np.mean(scores[name])))  # of equals the simplest
    against, behind = differences(statistics, names, REFERENCE), differences(statistics, names, best)
    above = differences(statistics, names, CONSTANT_NAME, planned=REFERENCE)
    results = {}
    for one in contenders:
        name, outcomes = one.name, [run[one.name] for run in runs]
        first_repeat = outcomes[: plan.n_splits]
        columns = [outcome.importance for outcome in first_repeat if outcome.importance is not None]
        results[name] = Result(
            contender=one,
            scores=scores[name],
            estimate=statistics.estimate(name),
            difference=against[name][0],
            p_holm=against[name][1],
            behind_best=behind[name][0],
            p_behind=behind[name][1],
            above_constant=above[name][0],
            p_above=above[name][1],
            seconds=float(np.median([outcome.seconds for outcome in outcomes])),
            held_out=HeldOutPrediction(
                _join_rows(plan, [outcome.held_out.scores for outcome in first_repeat]),
                _join_rows(plan, [outcome.held_out.probability for outcome in first_repeat]),
            ),
            offsets=np.stack([outcome.offsets for outcome in first_repeat]),
            temperatures=np.array([outcome.temperature for outcome in first_repeat]),
            history=outcomes[0].history,
            chosen=dict(Counter(outcome.chosen for outcome in outcomes)),
            importance=np.stack(columns) if columns else None,
        )
    return results


def score_statistics(
    runs: Sequence[Mapping[str, Outcome]],
    plan: Plan,
    measure: Metric,
    labels: Ints,
    n_classes: int,
    seed: int,
) -> Scores:
    """Statistics over splits, or over the rows of a test set. Test rows are rows of ``labels``."""
    scores, limits = {name: [run[name].score for run in runs] for name in runs[0]}, limits_of(measure)
    if not plan.is_test_set:
        return SplitScores(scores, plan.test_share, limits)
    predicted = {name: runs[0][name].held_out.predicted for name in scores}
    resampled = resample_scores(measure, predicted, labels, n_classes, seed)
    return TestScores({name: own[0] for name, own in scores.items()}, resampled, limits, len(labels))


def _join_rows(plan: Plan, parts: Sequence[Floats]) -> Floats:
    """The test rows of the first repeat, in the order of the table."""
    order = np.argsort(np.concatenate([test for _, test in plan.splits[: plan.n_splits]]), kind="stable")
    return np.concatenate(parts)[order]
