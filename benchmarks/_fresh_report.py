"""The page about fresh sets: what was promised, what was found, and a figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._cells import METRICS, TIE, Results, Row, build_report, seconds_ratio, sets_of
from benchmarks._fresh_arms import ENSEMBLE, FAILED, LINEAR, LOGISTIC_OFFSETS, NETWORK, NETWORKS
from benchmarks._fresh_sets import FRESH
from benchmarks._fresh_statistics import Gain, Summary, estimate_by_set, find_gains, summarise
from benchmarks.quality import BOOSTING, LIGHTGBM
from reproductions._markdown import table, with_interval

COMMAND = "python -m benchmarks.fresh report"
GROUPS_SHOWN = tuple(dict.fromkeys(one.group for one in FRESH.values()))


@dataclass(frozen=True)
class Question:
    """Two methods on fresh sets, and the file, methods and sets of choice that made the promise."""

    title: str
    ours: str
    other: str
    file: str
    promised_ours: str
    promised_other: str

    def promised(self, folder: Path) -> list[Gain]:
        """The gains on the sets on which the rules were chosen."""
        file = folder / self.file
        rows = [{**row, "metric": "f1_macro" if row["metric"] == "f1" else row["metric"]} for row in Results(file).rows]
        return find_gains(Results(file, rows), self.promised_ours, self.promised_other)


QUESTIONS = (
    Question("ensemble against boosted trees + offsets", ENSEMBLE, BOOSTING, "quality.csv", ENSEMBLE, BOOSTING),
    Question("ensemble against LightGBM + offsets", ENSEMBLE, LIGHTGBM, "quality.csv", ENSEMBLE, LIGHTGBM),
    Question(
        "linear against logistic regression + offsets",
        LINEAR,
        LOGISTIC_OFFSETS,
        "quality_linear.csv",
        "MetricClassifier",
        "+ offsets",
    ),
    Question("four networks against one + offsets", NETWORKS, NETWORK, "quality_networks.csv", "four members", "one network"),
)
NOTES = f"""\
Gains are in points. A win or a loss is a cell (a set and a metric) beyond {TIE} points, otherwise it is a tie. An interval
over sets has the mean of a set as its unit, and p is Wilcoxon's. Significant cells are those below 5 % after Nadeau and
Bengio's correction for splits that overlap and Holm's for the number of cells. *kept*: the interval over sets leaves out
zero, and the gain is half of the promised one or more. *smaller*: less than half. *not shown*: the interval holds zero.
*reversed*: it lies below zero. The promises are computed in the same way from the committed files of `quality*.py`. Their
linear F1 is that of the rarer class where there are two classes; here it is the macro F1."""

LIMITS = """\
- The tables are small (312 to 5,472 rows). Group R is surveys, choices and medicine, where much of the class cannot be
  predicted. Large tables, pictures and text are not judged here.
- Group K may share sets with the earlier, unnamed studies. Group R is the stronger evidence.
- Five splits of a small table say little about one cell. The claim is about the mean over sets.
- Nothing is tuned: every model has its defaults, and the peers are those of `quality*.py`.
- Some tables have equal rows, so that a test row may have a twin among the training rows. This is so for all models."""


def list_sets() -> str:
    """All fresh sets as a Markdown table."""
    heads = ("set", "group", "file", "class", "what it is", "rows", "columns", "of them text", "classes", "rarest", "left out")
    rows = []
    for one in FRESH.values():
        left_out = "; ".join(f"{column} ({why})" for column, why in one.left_out.items())
        size, rarest = one.size, f"{100.0 * one.size.rarest / one.size.rows:.1f} %"
        numbers = (f"{size.rows:,}", str(size.columns), str(size.text), str(size.classes), rarest)
        rows.append([one.name, one.group, one.path, one.target, one.about, *numbers, left_out])
    return table(heads, rows)


def report(results: Results, frozen: Path, promises: Path) -> str:
    """The whole page. ``frozen`` is the protocol of the run, ``promises`` the folder of the results of ``quality*.py``."""
    failed = [row for row in results.rows if row["note"].startswith(FAILED)]
    answered = Results(results.path, [row for row in results.rows if not row["note"].startswith(FAILED)])
    gains = {question: find_gains(answered, question.ours, question.other) for question in QUESTIONS}
    promised = {question: question.promised(promises) for question in QUESTIONS}
    against = {f"The {ENSEMBLE} against each, in points:": ENSEMBLE, f"The {LINEAR} model against each:": LINEAR}
    cost = (
        f"Times of a fit in the median: {ENSEMBLE} {seconds_ratio(answered, ENSEMBLE, BOOSTING):.2f} x {BOOSTING}, "
        f"{LINEAR} {seconds_ratio(answered, LINEAR, LOGISTIC_OFFSETS):.2f} x {LOGISTIC_OFFSETS}, "
        f"{NETWORKS} {seconds_ratio(answered, NETWORKS, NETWORK):.2f} x {NETWORK}."
    )
    parts = ["# Fresh sets", _introduction(results, json.loads(frozen.read_text())), "## Promised, and found", NOTES]
    for question in QUESTIONS:
        parts += [_answer(question, promised[question], gains[question]), _overview(promised[question], gains[question])]
    parts += ["![Gains by set](fresh.svg)", "## What this does not say", LIMITS, "## Fits that failed", _list_failures(failed)]
    for question in QUESTIONS:
        parts += [f"## Every cell: {question.title}", _tabulate_gains(gains[question])]
    versions = f"scikit-learn {json.loads(frozen.read_text())['versions']['scikit-learn']}"
    parts += ["## Scores", build_report(answered, COMMAND, versions, against, cost), "## The sets", list_sets()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _introduction(results: Results, frozen: dict[str, Any]) -> str:
    splits, names = sorted({row["seed"] for row in results.rows}), sets_of(results.rows)
    cut = [name for name in names if FRESH[name].size.rows > frozen["rows"]]
    groups = ", ".join(f"{sum(FRESH[name].group == group for name in names)} of group {group}" for group in GROUPS_SHOWN)
    versions = ", ".join(f"{name} {version}" for name, version in frozen["versions"].items())
    return (
        f"Written by `{COMMAND}`. {len(names)} tables ({groups}) that nobody looked at when the rules of `MetricClassifier`\n"
        f"were chosen, judged once. `benchmarks/_fresh_sets.py` says how they were chosen. The list was committed\n"
        f"({frozen['commit of the list'][:12]}) before the first fit. The rules are those of commit {frozen['commit'][:12]}\n"
        f"(SHA-256 of the package's files {frozen['rules'][:16]}). {len(splits)} stratified splits, a fifth of the rows held\n"
        f"out. Tables with more than {frozen['rows']:,} rows were cut to so many: {', '.join(cut) or 'none'}.\n{versions}."
    )


def verdict(promise: Summary, found: Summary) -> str:
    """What became of a promise, in a word."""
    if found.over_sets.high < 0.0:
        return "reversed"
    if found.over_sets.low <= 0.0:
        return "not shown"
    return "kept" if found.mean >= 0.5 * promise.mean else "smaller"


def _answer(question: Question, promised: list[Gain], gains: list[Gain]) -> str:
    promise, found = summarise(promised), summarise(gains)
    return (
        f"**{question.title[0].upper()}{question.title[1:]}: {verdict(promise, found)}.** Promised {promise.mean:+.2f}, found "
        f"{with_interval(found.over_sets)} on {found.n_sets} fresh sets (p {found.p:.3f}). {found.wins} cells won, "
        f"{found.ties} even, {found.losses} lost; worst {found.worst.text}, best {found.best.text}."
    )


def _overview(promised: list[Gain], gains: list[Gain]) -> str:
    """A line for the promise, for all fresh sets, for each group, and for each metric."""
    lines: dict[str, Summary] = {"**sets of choice**": summarise(promised), "**fresh sets**": summarise(gains)}
    for group in GROUPS_SHOWN:
        if any(_in_group(group, gain) for gain in gains):
            lines[f"fresh sets, group {group}"] = summarise(gains, partial(_in_group, group))
    for metric in METRICS:
        lines[f"sets of choice, {metric}"] = summarise(promised, partial(_has_metric, metric))
        lines[f"fresh sets, {metric}"] = summarise(gains, partial(_has_metric, metric))
    heads = ("", "sets", "cells", "gain over sets, 95 %", "p", "win/tie/loss", "significant +/-", "worst cell")
    return table(heads, [[name, *_describe(summary)] for name, summary in lines.items()])


def _describe(found: Summary) -> list[str]:
    ends = [f"{found.gained}/{found.lost}", found.worst.text]
    return [str(found.n_sets), str(found.n_cells), with_interval(found.over_sets), f"{found.p:.3f}", found.counts, *ends]


def _tabulate_gains(gains: list[Gain]) -> str:
    """Every cell with its interval; * if it is significant after Holm's correction."""
    by_set = estimate_by_set(gains)
    found = {(gain.set, gain.metric): with_interval(gain.estimate) + (" *" if gain.adjusted < 0.05 else "") for gain in gains}
    rows = [
        [name, FRESH[name].group, with_interval(mean), *(found.get((name, metric), "") for metric in METRICS)]
        for name, mean in by_set.items()
    ]
    return table(("set", "group", "mean of four", *METRICS), rows)


def _list_failures(failed: list[Row]) -> str:
    if not failed:
        return "None."
    rows = [[row["set"], str(row["seed"]), row["metric"], row["method"], row["note"]] for row in failed]
    return table(("set", "split", "metric", "method", "what happened"), rows)


def _in_group(group: str, gain: Gain) -> bool:
    return FRESH[gain.set].group == group


def _has_metric(metric: str, gain: Gain) -> bool:
    return gain.metric == metric
