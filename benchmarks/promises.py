"""Do constraints that a decision rule promises hold, how much of the objective is left, and what does MAPIE reach?

    python -m benchmarks.promises [--repeats 300] [--mapie 50] [--out benchmarks/results]
    python -m benchmarks.promises --tables adult magic --out here   # some of the tables
    python -m benchmarks.promises --report benchmarks/results       # from a promises.csv with all of them

A model is trained on a part of a table. Its scores for the other rows are a pool, and the pool is the population: calibration
rows are drawn from it with replacement, so the truth is known. A constraint holds if it does in the pool; a refusal counts as
held, with an objective of zero. The objective (recall; precision where recall is the constraint) is relative to the best
threshold of the pool. Limits are chosen from the pool so that they cost something: the largest of some precisions that leaves
a recall of 0.4, a recall of 0.9, a false positive rate of 0.05, and the largest F1 less 0.05.

Of several classes, the one that is found least often is constrained: a recall of 0.03 more than the largest score gives it, or
the precision that the largest score gives it, rounded down. The objective is macro F1, relative to the best offsets that keep
the constraint in the pool. A promise about a macro average is not offered.

MAPIE (`pip install mapie`, optional) sees the same rows in the first repetitions: its default (Bonferroni-Holm over 100
thresholds), its fixed sequence over these thresholds in the direction that suits the constraint, and the latter from five
starts.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks._pools import SEVERAL_CLASSES, Pool, drawn_pools, drawn_pools_of_four, real_pool
from benchmarks._script import new_parser, write_page
from metricfit import metrics
from metricfit._typing import Floats
from metricfit.decisions import _solve, fit_calibrated_offsets, metric_values
from metricfit.decisions._constraints import SHARES, read_constraints, resolve_constraints
from metricfit.decisions._hard import largest_class
from metricfit.decisions._promise import Path as CutPath
from metricfit.decisions._rows import Rows
from metricfit.decisions._solve import solve
from reproductions._machine import hardware

TABLES = ("adult", "magic", "mammography", "ringnorm", "satellite: 4", "dry-bean: SIRA", "mnist: 8")
SIZES = (300, 1000, 5000)
CONFIDENCES = (0.9, 0.95)
PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
GRID = np.linspace(0.0, 0.99, 100)  # MAPIE's default
OURS, SAME = "metricfit", "metricfit, same rows as MAPIE"
BEST = "best"  # kinds that begin so ask for a limit out of reach


class Truth:
    """The confusion matrices of all thresholds of a pool of two classes."""

    def __init__(self, pool: Pool) -> None:
        self.margins = pool.scores[:, 1] - pool.scores[:, 0]
        order = np.argsort(-self.margins, kind="stable")
        self.ranked = -self.margins[order]
        self.hits = np.append(0, np.cumsum(pool.labels[order]))
        self.n, self.positives = len(order), int(pool.labels.sum())
        path = CutPath.of(pool.scores, 1)
        self.matrices, self.cuts = path.two_by_two(pool.labels == 1), path.shifts

    def matrix(self, threshold: float, strictly: bool = True) -> Floats:
        """Of the rows whose margin is above the threshold."""
        k = int(np.searchsorted(self.ranked, -threshold, side="left" if strictly else "right"))
        tp = int(self.hits[k])
        return np.array([[self.n - self.positives - (k - tp), k - tp], [self.positives - tp, tp]], np.float64)

    def share(self, name: str, matrices: Floats) -> Floats:
        hits, trials = SHARES[name].counts(matrices, 1)
        return SHARES[name].value(np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0))


def settings(truth: Truth) -> dict[str, tuple[str, str]]:
    """For each kind of constraint its sentence and the objective."""
    precision, recall, f1 = (truth.share(name, truth.matrices) for name in ("precision", "recall", "f1"))
    found = {
        "recall": ("recall >= 0.9", "precision"),
        "fpr": ("fpr <= 0.05", "recall"),
        "f1": (f"f1 >= {np.floor(100 * f1.max()) / 100 - 0.05:.2f}", "recall"),
    }
    if reached := [limit for limit in PRECISIONS if recall[precision >= limit].max(initial=0.0) >= 0.4]:
        found["precision"] = f"precision >= {reached[-1]}", "recall"
        found["precision and fpr"] = f"precision >= {reached[-1]} and fpr <= 0.05", "recall"
    return found


def keeps(truth: Truth, sentence: str, matrices: Floats) -> Any:
    kept: Any = True
    for one in read_constraints(sentence):
        value = truth.share(one.quantity, matrices)
        kept = kept & (value >= one.limit - 1e-12 if one.wants_more else value <= one.limit + 1e-12)
    return kept


def by_mapie(drawn: Pool, sentence: str, objective: str, confidence: float) -> Iterator[tuple[str, float | None]]:
    """The threshold of the probability that each procedure of MAPIE finds, or None."""
    from mapie.risk_control import BinaryClassificationController, BinaryRisk
    from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

    f1 = BinaryRisk(lambda y, p: (y == 1) & (p == 1), lambda y, p: (y == 1) | (p == 1), higher_is_better=True)
    constraints = read_constraints(sentence)
    risks = [f1 if one.quantity == "f1" else one.quantity for one in constraints]
    targets = [one.limit / (2.0 - one.limit) if one.quantity == "f1" else one.limit for one in constraints]
    grid = GRID if constraints[0].quantity == "recall" else GRID[::-1]
    probability = np.exp(drawn.scores)
    methods: dict[str, Any] = {"MAPIE, default": "bonferroni_holm"}
    if len(constraints) == 1:
        methods |= {"MAPIE, fixed sequence": "fixed_sequence", "MAPIE, five starts": FWERFixedSequenceTesting(5)}
    for name, method in methods.items():
        controller = BinaryClassificationController(
            lambda _: probability,
            risks[0] if len(risks) == 1 else risks,
            targets[0] if len(risks) == 1 else targets,
            confidence_level=confidence,
            best_predict_param_choice=objective,
            list_predict_params=grid,
            fwer_method=method,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller.calibrate(np.zeros(len(drawn.labels)), drawn.labels)
        yield name, controller.best_predict_param


def study_two(name: str, pool: Pool, repeats: int, n_mapie: int) -> Iterator[dict[str, Any]]:
    truth = Truth(pool)
    for kind, (sentence, objective) in settings(truth).items():
        best = float(truth.share(objective, truth.matrices)[keeps(truth, sentence, truth.matrices)].max())
        metric = metrics.get(objective)
        constraints = resolve_constraints(read_constraints(sentence), [0, 1], 1, metric)
        for n in SIZES:
            for confidence in CONFIDENCES:
                random = np.random.default_rng([n, int(100 * confidence)])
                found: dict[str, list[tuple[bool, float, bool]]] = {}
                for repeat in range(repeats):
                    drawn = pool.draw(n, random)
                    solution = solve(Rows(drawn.scores, drawn.labels, np.ones(n)), metric, constraints, confidence)
                    own = None if solution.refusal else truth.matrix(solution.offsets[0] - solution.offsets[1])
                    answers: dict[str, Floats | None] = {OURS: own}
                    if repeat < n_mapie:
                        answers[SAME] = own
                        for method, cut in by_mapie(drawn, sentence, objective, confidence) if find_spec("mapie") else ():
                            at = None if cut is None else float(np.log(max(cut, 1e-12)) - np.log1p(-cut))
                            answers[method] = None if at is None else truth.matrix(at, strictly=False)
                    for method, matrix in answers.items():
                        held = matrix is None or bool(keeps(truth, sentence, matrix))
                        reached = 0.0 if matrix is None else float(truth.share(objective, matrix)) / best
                        found.setdefault(method, []).append((held, reached, matrix is None))
                for method, outcomes in found.items():
                    yield cell(name, kind, sentence, n, confidence, method, outcomes)


def study_best(name: str, pool: Pool, repeats: int) -> Iterator[dict[str, Any]]:
    """What is promised instead of a limit that is out of reach; here the objective is the limit that is promised."""
    truth, metric = Truth(pool), metrics.get("recall")
    for quantity in ("precision", "f1"):
        (asked,) = resolve_constraints(read_constraints(f"{quantity} >= 0.999"), [0, 1], 1, metric)
        for n in SIZES:
            for confidence in CONFIDENCES:
                random, outcomes = np.random.default_rng([n, int(100 * confidence)]), []
                for _ in range(repeats):
                    drawn = pool.draw(n, random)
                    solution = solve(Rows(drawn.scores, drawn.labels, np.ones(n)), metric, [asked], confidence)
                    limit = solution.limit if solution.refusal else asked.constraint.limit
                    matrix = truth.matrix(solution.offsets[0] - solution.offsets[1])
                    held = limit is None or truth.share(quantity, matrix) >= limit - 1e-12
                    outcomes.append((bool(held), limit or 0.0, limit is None))
                yield cell(name, f"{BEST} {quantity}", str(asked.constraint), n, confidence, OURS, outcomes)


def study_several(name: str, pool: Pool, repeats: int) -> Iterator[dict[str, Any]]:
    """The class of several that is found least often; the objective is macro F1.

    All constraints and confidences see the same draws, whose offsets for macro F1 are the same and are tuned once.
    """
    n_classes, metric = pool.scores.shape[1], metrics.get("f1_macro")
    everything = Rows(pool.scores, pool.labels, np.ones(len(pool.labels)))
    plain = everything.confusion(everything.scores.argmax(1))
    hard = int((plain.diagonal() / plain.sum(1)).argmin())
    asked = []
    for kind in ("recall", "precision"):
        share = float(np.divide(*SHARES[kind].counts(plain, hard)))
        sentence = f"{kind}[{hard}] >= {np.floor(100 * share) / 100 + (0.03 if kind == 'recall' else 0.0):.2f}"
        constraints = resolve_constraints(read_constraints(sentence), list(range(n_classes)), None, metric)
        best = float(metric_values(metric, _decided(everything, solve(everything, metric, constraints, None).offsets)))
        asked.append((f"{kind} of one of {n_classes}", sentence, constraints, best))
    for n in SIZES:
        random, found = np.random.default_rng(n), dict[Any, list[tuple[bool, float, bool]]]()
        for _ in range(repeats):
            drawn = pool.draw(n, random)
            rows = Rows(drawn.scores, drawn.labels, np.ones(n))
            with mock.patch.object(_solve, "fit_calibrated_offsets", _once(fit_calibrated_offsets)):
                for (kind, sentence, constraints, best), confidence in itertools.product(asked, CONFIDENCES):
                    solution, outcome = solve(rows, metric, constraints, confidence), (True, 0.0, True)
                    if not solution.refusal:
                        matrix = _decided(everything, solution.offsets)
                        reached = float(metric_values(metric, matrix)) / best
                        outcome = (not constraints[0].violations(matrix).any(), reached, False)
                    found.setdefault((kind, sentence, confidence), []).append(outcome)
        for (kind, sentence, confidence), outcomes in found.items():
            yield cell(name, kind, sentence, n, confidence, OURS, outcomes)


def _once(function: Any) -> Any:
    """The first result of a function, whatever it is called with next."""
    found: list[Any] = []

    def call(*arguments: Any) -> Any:
        if not found:
            found.append(function(*arguments))
        return found[0]

    return call


def _decided(rows: Rows, offsets: Floats) -> Floats:
    """The confusion matrix of the decisions with these offsets."""
    return rows.confusion(largest_class(rows.scores, offsets))


def cell(
    table: str, kind: str, sentence: str, n: int, confidence: float, method: str, outcomes: list[tuple[bool, float, bool]]
) -> dict[str, Any]:
    held, reached, refused = np.array(outcomes, np.float64).T
    return {
        "table": table,
        "kind": kind,
        "constraint": sentence,
        "rows": n,
        "confidence": confidence,
        "method": method,
        "repeats": len(held),
        "held": held.mean(),
        "objective": reached.mean(),
        "refused": refused.mean(),
    }


def report(cells: pd.DataFrame) -> str:
    cells = cells.copy()
    # a cell fails if so few successes have a chance below 1 % at the confidence that is promised
    chance = binom.cdf((cells.held * cells.repeats).round(), cells.repeats, cells.confidence)
    cells["fails"] = chance < 0.01
    lines = [
        "# Promises",
        "",
        "`python -m benchmarks.promises --out benchmarks/results`; the script says what was measured.",
        "",
        '"Held" is the share of repetitions in which the constraint holds in the pool: the lowest and the mean over tables.',
        '"Fails" counts tables with a share that has a chance of less than 1 % if the promise is kept exactly. The objective',
        "is relative to the best threshold of the pool, and refusals count as zero; means over tables. MAPIE's best procedure",
        "is the one with the largest objective in this line.",
        "",
        "| constraint | confidence | rows | tables | held, lowest | held | fails | objective | refused "
        "| MAPIE, default: objective | refused | its best: objective | held, lowest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    instead = cells[cells.kind.str.startswith(BEST)]
    cells = cells.drop(instead.index)
    for (kind, confidence, n), own in cells.groupby(["kind", "confidence", "rows"], sort=False):
        ours = own[own.method == OURS]
        line = (
            f"| {kind} | {confidence} | {n:,} | {len(ours)} | {ours.held.min():.3f} | {ours.held.mean():.3f} "
            f"| {ours.fails.sum()} | {ours.objective.mean():.3f} | {ours.refused.mean():.3f} |"
        )
        others = (
            own[~own.method.isin([OURS, SAME])]
            .groupby("method")
            .agg(objective=("objective", "mean"), refused=("refused", "mean"), held=("held", "min"))
        )
        if len(others):
            default, best = others.loc["MAPIE, default"], others.loc[others.objective.idxmax()]
            line += f" {default.objective:.3f} | {default.refused:.3f} | {best.objective:.3f} | {best.held:.3f} |"
        else:
            line += " | | | |"
        lines.append(line)
    if len(instead):
        lines += ["", *_instead(instead)]
    if cells.method.str.startswith("MAPIE").any():
        lines += ["", *_against_mapie(cells)]
    mapie = cells[cells.method == "MAPIE, default"].repeats
    seen = f", MAPIE in the first {mapie.max()}" if len(mapie) else ""
    lines += ["", f"{cells.repeats.max()} repetitions per cell{seen}. {hardware()}.", ""]
    return "\n".join(lines)


def _instead(cells: pd.DataFrame) -> list[str]:
    lines = [
        "What is promised instead of a limit of 0.999, and how often the promise holds. It does not depend on the limit asked",
        'for. "Nothing" is the share of repetitions without any promise.',
        "",
        "| quantity | confidence | rows | tables | held, lowest | held | fails | promised | nothing |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (kind, confidence, n), own in cells.groupby(["kind", "confidence", "rows"], sort=False):
        lines.append(
            f"| {kind.removeprefix(BEST).strip()} | {confidence} | {n:,} | {len(own)} | {own.held.min():.3f} "
            f"| {own.held.mean():.3f} | {own.fails.sum()} | {own.objective.mean():.3f} | {own.refused.mean():.3f} |"
        )
    return lines


def _against_mapie(cells: pd.DataFrame) -> list[str]:
    index = ["table", "kind", "rows", "confidence"]
    wide = cells[cells.method != OURS].pivot(index=index, columns="method", values="objective").dropna(subset=[SAME])
    best = wide.drop(columns=SAME).max(axis=1)
    lines = [
        "| objective of metricfit less that of | cells | mean | lowest | behind by more than 0.01 |",
        "|---|---:|---:|---:|---:|",
    ]
    rivals = {**{name: wide[name] for name in wide.columns if name != SAME}, "the best of MAPIE's, cell by cell": best}
    for name, values in rivals.items():
        gap = (wide[SAME] - values).dropna()
        lines.append(f"| {name} | {len(gap)} | {gap.mean():+.3f} | {gap.min():+.3f} | {(gap < -0.01).sum()} |")
    gap = (wide[SAME] - best).sort_values()
    lines += [
        "",
        "The cells that are furthest behind the best of MAPIE's:",
        "",
        "| table | constraint | rows | confidence | difference |",
        "|---|---|---:|---:|---:|",
    ]
    for (table, kind, n, confidence), value in gap.head(5).items():
        lines.append(f"| {table} | {kind} | {n:,} | {confidence} | {value:+.3f} |")
    return lines


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--mapie", type=int, default=50, help="repetitions in which MAPIE sees the same rows")

    parser.add_argument("--tables", nargs="*", help="names of pools; all by default")

    parser.add_argument("--report", type=Path, help="a folder with promises.csv, to write promises.md again")
    given = parser.parse_args()
    if given.report is not None:
        write_page(given.report, "promises.md", report(pd.read_csv(given.report / "promises.csv")))
        return
    begin, rows = time.process_time(), list[dict[str, Any]]()
    drawn, of_four = drawn_pools(), drawn_pools_of_four()
    for name in given.tables or [*TABLES, *drawn, *SEVERAL_CLASSES, *of_four]:
        pool = (drawn | of_four)[name] if name in drawn | of_four else real_pool(name)
        if pool.scores.shape[1] > 2:
            rows += study_several(name, pool, given.repeats)
        else:
            rows += study_two(name, pool, given.repeats, given.mapie)
            rows += study_best(name, pool, given.repeats)
        print(f"{name}: {(time.process_time() - begin) / 60:.1f} minutes", flush=True)
    cells = pd.DataFrame(rows)

    write_page(given.out, "promises.md", report(cells))
    if given.out is not None:
        cells.round(4).to_csv(given.out / "promises.csv", index=False)


if __name__ == "__main__":
    main()
