"""What does MetricClassifier(time_limit=…) gain over the default, what pays, and is the limit kept?

    python -m benchmarks.time_limit members [--sets pima car] [--rows 1000]      # which members and weights pay
    python -m benchmarks.time_limit curve [--sets ...] [--times 3 10 30]         # the gain by the time
    python -m benchmarks.time_limit large [--seconds 60]                         # 100,000 x 30: seconds, memory, prediction
    python -m benchmarks.time_limit report [--out benchmarks/results]

The sets are those of ``quality.py``, cut to 1,000 rows, one split with a fifth held out. Here the rules were chosen;
``fresh_timed.py`` judges them. ``members`` trains every member once and again on other splits, then puts ensembles together
from the same scores: differences between them are not due to other trainings. ``curve`` fits the default, and then gives
multiples of its time. Times are processor time. Rows are written as they come, and a command goes on where it stopped.

The committed results leave out mice-protein and musk2, which take as long as all the others; ``members`` leaves out annealing
too. The members were chosen on an earlier, uncommitted run of the same study with 2,000 rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import metricfit as mf
from benchmarks._cells import METRICS, Judge, Results, Row
from benchmarks._fresh_statistics import find_gains, summarise
from benchmarks._script import RESULTS, memory, new_parser, write_page
from benchmarks._timed_arms import DEFAULT, processor_clock
from benchmarks.quality import LEFT_OUT, load_split
from metricfit._typing import Floats
from metricfit.estimators import FitSpec, SharedFits
from metricfit.learners import Task, Trained
from metricfit.learners._ensemble import TimedEnsembleLearner, _mean, _order
from metricfit.learners._estimators import EstimatorLearner
from metricfit.selection import fit_method
from reproductions import _tables as tables
from reproductions._markdown import table, with_interval

FIRST = ("linear", "boosting", "extra_trees")
MORE = ("network", "boosting_few_columns", "whole_trees", "wide_network", "deep_network", "boosting_additive")
ALL = (*FIRST, *MORE, "boosting_large_trees")
LOSS = "log-loss (decrease x 100)"


class _Known:
    """A model whose scores for the new rows are known."""

    def __init__(self, scores: Floats, offsets: Floats | None = None) -> None:
        self.scores, self.offsets = scores, np.zeros(scores.shape[1]) if offsets is None else offsets

    def logits(self, features: Any) -> Floats:
        return self.scores

    def with_offsets(self, offsets: Floats) -> _Known:
        return _Known(self.scores, offsets)


class _Split:
    """A table, the task of its training rows, and members with their processor seconds: each trained once and twice."""

    def __init__(self, name: str, rows: int) -> None:
        train, y, self.test, truth = load_split(name, 0, rows)
        spec = FitSpec("auto", "auto", METRICS[0], 1e9)
        shared = SharedFits(mf.MetricClassifier(random_state=0), train, y, [spec])
        self.classifier, learner = shared._prepare(spec)
        assert isinstance(learner, TimedEnsembleLearner)
        self.learner = learner
        task = self.classifier._task(shared._table, learner, shared._rows[0])
        self.task = replace(task, deadline=None)
        self.judge = Judge(name, 0, y, truth)
        self.once, self.twice = dict[str, tuple[Trained, float]](), dict[str, tuple[Trained, float]]()

    def train(self) -> None:
        others = (KNeighborsClassifier(20, weights="distance"), RandomForestClassifier(200), SVC(C=3.0, probability=True))
        seed = self.task.seed
        learners: list[Any] = [*self.learner.members, *(EstimatorLearner(one, seed, refits=False) for one in others)]
        for learner in learners:
            trained, seconds = self._train(learner, self.task)
            self.once[learner.name] = self.twice[learner.name] = trained, seconds
            if learner.repeats:
                assert self.task.resplit is not None
                again = replace(self.task, splits=self.task.resplit(1))
                found, more = self._train(replace(learner, seed=seed + 1), again)
                mean = _mean(trained, 1, found, _order(self.task, again))
                self.twice[learner.name] = mean, seconds + more

    def _train(self, learner: Any, task: Task) -> tuple[Trained, float]:
        begin = time.process_time()
        with learner.session():
            trained = learner.train(learner.read(task))
        seconds = time.process_time() - begin
        forms = self.classifier.preprocessor_.read(self.test, self.learner.forms() | {learner.reads})
        features = forms.read(learner.reads) if hasattr(forms, "read") else forms
        return replace(trained, model=_Known(trained.model.logits(features))), seconds

    def rows(self, variant: str, names: Sequence[str], twice: bool, head: str) -> Iterator[Row]:
        """Rows of an ensemble of these members, one per metric and one with the log-loss."""
        found = [(self.twice if twice else self.once)[name] for name in names if name in self.once]
        members, seconds = [one for one, _ in found], sum(one for _, one in found)
        joined = self.learner.join(self.task, members)
        if head != "logistic":
            both = self.learner._join_twice(self.task, members)
            joined = both if head == "both" else _greedy_alone(joined, both)
        for metric in METRICS:
            spec = FitSpec("auto", "auto", metric)
            task = replace(self.task, metric=mf.metrics.get(metric))
            fitted = fit_method(task, self.learner, mf.methods.get(spec.method), replace(joined, members=()))
            answer = (fitted.model.logits(None) + fitted.model.offsets).argmax(1)
            yield self.judge.row(variant, metric, self.classifier.classes_[answer], seconds)
        loss = -log_softmax(joined.model.logits(None), 1)[np.arange(len(self.judge.truth)), self.judge.truth].mean()
        yield {**self.judge.about, "metric": LOSS, "method": variant, "score": -loss, "seconds": seconds, "note": ""}


def _greedy_alone(logistic: Trained, both: Trained) -> Trained:
    """The ensemble by greedy weights, which are half of both."""

    def rest(half: Floats, mixed: Floats) -> Floats:
        return np.log(np.maximum(2.0 * np.exp(mixed) - np.exp(log_softmax(half, 1)), 1e-9))

    assert logistic.logits is not None
    assert both.logits is not None
    model = _Known(rest(logistic.model.logits(None), both.model.logits(None)))
    return replace(both, model=model, logits=rest(logistic.logits, both.logits))


def variants() -> dict[str, tuple[Sequence[str], bool, str]]:
    """Ensembles by name: members, whether they are trained twice, and the head."""
    found: dict[str, tuple[Sequence[str], bool, str]] = {DEFAULT: (FIRST, False, "logistic")}
    found["default, both heads"] = FIRST, False, "both"
    for n in range(1, len(ALL) - len(FIRST) + 1):
        found[f"+ {ALL[len(FIRST) + n - 1]}"] = ALL[: len(FIRST) + n], False, "both"
    found["all, trained twice"] = ALL, True, "both"
    found["all, trained twice, logistic head alone"] = ALL, True, "logistic"
    found["all, trained twice, greedy weights alone"] = ALL, True, "greedy"
    for name in ("KNeighborsClassifier", "RandomForestClassifier", "SVC"):
        found[f"all, trained twice + {name}"] = (*ALL, name), True, "both"
    return found


def study_members(name: str, rows: int) -> Iterator[Row]:
    split = _Split(name, rows)
    split.train()
    for variant, options in variants().items():
        yield from split.rows(variant, *options)


def study_curve(name: str, rows: int, times: Sequence[float]) -> Iterator[Row]:
    """The default, and multiples of its processor time, with rows per second of prediction in the notes."""
    train, y, test, truth = load_split(name, 0, rows)
    judge, given = Judge(name, 0, y, truth), float("nan")
    for factor in (None, *times):
        specs = [FitSpec("auto", "auto", metric, None if factor is None else factor * given) for metric in METRICS]
        with processor_clock():
            shared = SharedFits(mf.MetricClassifier(random_state=0), train, y, specs)
            fits = [shared.fit(spec) for spec in specs]
        for metric, (fitted, seconds) in zip(METRICS, fits, strict=True):
            begin = time.process_time()
            answer = fitted.predict(test)
            rate = len(test) / (time.process_time() - begin)
            method = DEFAULT if factor is None else f"{factor:g} x the default's time"
            yield judge.row(method, metric, answer, seconds, f"{rate:.0f} rows/s")
        given = float(np.median([seconds for _, seconds in fits])) if factor is None else given


def study_large(seconds: float) -> Row:
    features, y = make_classification(100_000, 30, n_informative=15, n_classes=3, flip_y=0.1, class_sep=0.7, random_state=0)
    train, test = slice(0, 80_000), slice(80_000, None)
    before = memory() / 2**20
    with processor_clock():
        begin = time.perf_counter()
        fitted = mf.MetricClassifier("f1_macro", time_limit=seconds, random_state=0).fit(features, y)
        taken = time.perf_counter() - begin
        begin = time.perf_counter()
        answer = fitted.predict(features[test])
        rate = len(answer) / (time.perf_counter() - begin)
    peak = memory() / 2**20
    note = f"peak {peak:.0f} MB ({before:.0f} before the fit), {rate:.0f} rows/s; {' '.join(fitted.notes_)}"
    judge = Judge("100,000 x 30", 0, y[train], y[test])
    return {**judge.row(f"{seconds:g} s", "f1_macro", answer, taken, note), "score": float("nan")}  # the rows were trained on


def report(folder: Path) -> str:
    members, curve, large = (Results(folder / f"time_limit_{part}.csv") for part in ("members", "curve", "large"))
    about = "\n\n".join((__doc__ or "").split("\n\n")[2:]).strip()
    lines = ["# A time limit: the study", "", "Written by `python -m benchmarks.time_limit report`.", "", about]
    lines += ["", "## Which members and weights pay", "", *_gains(members, (*METRICS, LOSS))]
    lines += ["", "## The gain by the time", "", *_gains(curve, METRICS), "", *_use(curve)]
    lines += ["", "## 100,000 rows x 30 columns, three classes", ""] if large.rows else []
    lines += [f"`time_limit={row['method'][:-2]}`: {row['seconds']:.1f} s. {row['note']}" for row in large.rows]
    return "\n".join(lines) + "\n"


def _gains(results: Results, metrics: Sequence[str]) -> list[str]:
    """Every method against the default, in points; of the log-loss, hundred times the difference."""
    heads = ("", "sets", *metrics, "mean of four, 95 % over sets", "p", "win/tie/loss", "worst cell", "median s")
    rows = []
    for method in results.methods[1:]:
        gains = find_gains(results, method, DEFAULT)
        by_metric = [np.mean([one.estimate.mean for one in gains if one.metric == metric]) for metric in metrics]
        found = summarise([one for one in gains if one.metric in METRICS])
        seconds = np.median([row["seconds"] for row in results.find(method=method)])
        shown = [method, str(found.n_sets), *(f"{value:+.2f}" for value in by_metric)]
        shown += [with_interval(found.over_sets), f"{found.p:.3f}", found.counts, found.worst.text]
        rows.append([*shown, f"{seconds:.1f}"])
    return [table(heads, rows)]


def _use(results: Results) -> list[str]:
    """Processor seconds as a share of the limit, and the speed of prediction."""
    rows, before = [], {(row["set"], row["metric"]): row["seconds"] for row in results.find(method=DEFAULT)}
    given = {name: np.median([value for (one, _), value in before.items() if one == name]) for name, _ in before}
    for method in results.methods:
        found = results.find(method=method)
        rate = f"{np.median([float(row['note'].split()[0]) for row in found]):,.0f}"
        if method == DEFAULT:
            rows.append([method, "", "", rate])
            continue
        shares = [row["seconds"] / (float(method.split()[0]) * given[row["set"]]) for row in found]
        rows.append([method, f"{100.0 * np.median(shares):.0f} %", f"{100.0 * np.max(shares):.0f} %", rate])
    return [table(("", "used / given, median", "most", "rows/s predicted, median"), rows)]


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("what", choices=("members", "curve", "large", "report"))
    parser.add_argument("--sets", nargs="+", default=[n for n in tables.SETS if n not in LEFT_OUT], metavar="SET")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--times", type=float, nargs="+", default=[3.0, 10.0, 30.0])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    results = Results(options.out / f"time_limit_{options.what}.csv")
    with threadpool_limits(1):
        if options.what == "large":
            results.add(study_large(options.seconds))
        for name in options.sets if options.what in ("members", "curve") else ():
            if results.find(set=name):
                continue
            members = options.what == "members"
            found = study_members(name, options.rows) if members else study_curve(name, options.rows, options.times)
            for row in list(found):
                results.add(row)
            print(name, file=sys.stderr, flush=True)
    if options.what == "report":
        write_page(options.out, "time_limit.md", report(options.out))


if __name__ == "__main__":
    main()
