"""Is the ensemble with a time limit ahead of AutoGluon with the same limit, on tables that nobody looked at?

    python -m benchmarks.fresh_timed run [--until 22:00] [--out benchmarks/results]      # after `make quality-peers`
    python -m benchmarks.fresh_timed report [--out benchmarks/results]

The rules were chosen in ``time_limit.py`` on the sets that have always been used for that, then frozen. The eleven sets of
``fresh_sets_timed.csv`` were listed before any fit on them; the thirty sets of ``fresh.py`` follow, on which nothing about the
time limit was chosen, but on which the default has been judged before. Rows are cut to 3,000, one split per set.

``PLAN`` is in the order of the run: every stage takes all of its sets, so that a run that was stopped compares the same sets
in what it has finished. Rows are written as they come, the same command goes on, and it refuses to go on with other rules or
another plan. Limits are in processor time (``_timed_arms.py``).

The last stages, those about the thirty sets among them, were run in two processes from the frozen commit, in another order
than the plan's, and their rows put together.

The first start was stopped in its second stage, because a deadline still began by the wall clock and every metric was trained
again. It had fitted the default to all sets, and no result with a limit had been written. Both faults were repaired, no rule
of the models was changed, and all was run again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import torch
from threadpoolctl import threadpool_limits

from benchmarks import _fresh_protocol as protocol
from benchmarks._cells import Results, Row
from benchmarks._fresh_sets import FRESH, FRESH_TIMED, LIST_TIMED, load
from benchmarks._script import RESULTS, new_parser, write_page
from benchmarks._timed_arms import AUTOGLUON, DEFAULT, OPTUNA, OURS, TWO_CLASSES, TimedSplit, name_of
from benchmarks._timed_report import report

SEED, ROWS = 0, 3000
GOOD, BEST = AUTOGLUON
# the smallest sets and the largest in turn, so that the first ones are of all kinds
NEW = ("segment", "affairs", "fertil2", "cm1", "k401", "pntsprd", "alcohol", "charity", "cps91", "happiness", "labsup")
assert set(NEW) == set(FRESH_TIMED)


@dataclass(frozen=True)
class Stage:
    """An arm on all sets. Without metrics, all of them at once: the arm trains once for all."""

    arm: str
    limit: float | None
    metric: str | None = None
    sets: tuple[str, ...] = NEW


def _both_sides(limit: float, metrics: tuple[str, ...], sets: tuple[str, ...] = NEW) -> list[Stage]:
    return [Stage(OURS, limit, sets=sets), *(Stage(GOOD, limit, metric, sets) for metric in metrics)]


OLD = tuple(FRESH)
PLAN = (
    Stage(DEFAULT, None),
    *_both_sides(20.0, ("mcc", "f1_macro")),
    Stage(OPTUNA, 20.0),
    *_both_sides(60.0, ("mcc",)),
    Stage(GOOD, 20.0, "balanced_accuracy"),
    Stage(GOOD, 20.0, "accuracy"),
    Stage(GOOD, 60.0, "f1_macro"),
    Stage(BEST, 20.0, "mcc"),
    Stage(BEST, 60.0, "mcc"),
    Stage(GOOD, 20.0, TWO_CLASSES),
    Stage(OPTUNA, 60.0),
    Stage(BEST, 20.0, "f1_macro"),
    Stage(BEST, 60.0, "f1_macro"),
    Stage(DEFAULT, None, sets=OLD),
    *_both_sides(20.0, ("mcc", "f1_macro"), OLD),
    *_both_sides(60.0, ("mcc", "f1_macro"), OLD),
)


def evaluate(stage: Stage, split: TimedSplit) -> Iterator[Row]:
    if stage.arm in (DEFAULT, OURS):
        return split.fit_ours(stage.limit)
    assert stage.limit is not None
    if stage.arm == OPTUNA:
        return split.fit_lightgbm(stage.limit)
    assert stage.metric is not None
    return split.fit_autogluon(stage.arm, stage.limit, stage.metric)


def run(results: Results, until: str | None) -> None:
    """All stages that are not there yet, until a time of the day in UTC."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for stage in PLAN:
        method = DEFAULT if stage.limit is None else name_of(stage.arm, stage.limit)
        only = {} if stage.metric is None else {"metric": stage.metric}
        for name in stage.sets:
            if until is not None and datetime.now(UTC).strftime("%H:%M") >= until:
                return
            split = TimedSplit(name, load(name), SEED, ROWS)
            if results.find(set=name, method=method, **only) or (stage.metric == TWO_CLASSES) > (TWO_CLASSES in split.metrics):
                continue
            with threadpool_limits(1):
                for row in list(evaluate(stage, split)):
                    results.add(row)
            print(f"{method}, {stage.metric or 'all metrics'}: {name}", file=sys.stderr, flush=True)


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--until", help="the time of the day in UTC after which nothing is begun, for example 22:00")
    options = parser.parse_args()
    results, frozen = Results(options.out / "fresh_timed.csv"), options.out / "fresh_timed.json"
    if options.what == "run":
        protocol.freeze(frozen, ROWS, LIST_TIMED, plan=repr(PLAN))
        run(results, options.until)
    text = report(results, frozen)
    write_page(options.out, "fresh_timed.md", text)


if __name__ == "__main__":
    main()
