"""Is the recipe for networks better than one network with tuned offsets: as shipped, and at equal cost?

    python -m benchmarks.quality_networks run [--sets pima car] [--seeds 0 1 2 3 4] [--rows 3000] [--out benchmarks/results]
    python -m benchmarks.quality_networks report [--out benchmarks/results]

Every set (rows cut to ``--rows``) x accuracy, balanced accuracy, macro F1 and MCC, stratified splits with a fifth of the rows
held out. All networks are those of ``MetricClassifier(model="mlp")`` with its defaults: AdamW on cross-entropy, stopped by the
cross-entropy of rows that they hold out, smoothed offsets from these rows (none for accuracy).

- four members: as shipped, four fold networks, offsets from their out-of-fold scores.
- one network: ``n_members=1``.
- one network, four times longer: the same with four times the epochs and the patience. It costs what four members may cost.
- four members at the cost of one: their epochs together pass over as many rows as those of the one network.
- without offsets: four members and one network that predict the most probable class.

The networks are untuned. The recipe comes from an earlier study that may share sets with this one, and its criterion for
stopping from other splits of 14 of these sets (seeds 100 and 101). So the sets are not fresh, the splits are.

Training does not depend on the metric, so that each network serves all metrics. Rows are written as they come, and a command
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch

import metricfit as mf
from benchmarks._cells import METRICS, TIE, Judge, Results, Row, build_report, run_missing, seconds_ratio
from benchmarks._script import RESULTS, new_parser, write_page
from benchmarks.quality import LEFT_OUT, load_split
from metricfit.estimators import FitSpec, SharedFits
from metricfit.estimators._folds import HELD_OUT
from metricfit.methods import NetworkTraining
from reproductions import _tables as tables

OURS, ONE = "four members", "one network"
LONGER, CHEAPER = "one network, four times longer", "four members at the cost of one"
TIMES, PLAIN = 4, NetworkTraining()


def evaluate_split(name: str, seed: int, rows: int) -> Iterator[Row]:
    """All recipes and metrics on one split of one set."""
    train, y, test, truth = load_split(name, seed, rows)
    judge = Judge(name, seed, y, truth)

    def fit(method: str, without_offsets: bool = False, **options: Any) -> tuple[list[Row], int]:
        """Rows of all metrics, and the epochs of all networks together."""
        ways = {method: "threshold"} | ({f"{method}, without offsets": "cross_entropy"} if without_offsets else {})
        model, found, epochs = mf.Network(**options), list[Row](), 0
        shared = SharedFits(mf.MetricClassifier(random_state=seed), train, y, [FitSpec(model, "auto", METRICS[0])])
        for way, decision in ways.items():
            for metric in METRICS:
                plain = "cross_entropy" if metric == "accuracy" else decision
                fitted, seconds = shared.fit(FitSpec(model, plain, metric))
                epochs = epochs or fitted.n_iter_  # the first fit has the history
                found.append(judge.row(way, metric, fitted.predict(test), seconds, f"{epochs} epochs"))
        return found, epochs

    yield from fit(OURS, without_offsets=True)[0]
    one, epochs = fit(ONE, without_offsets=True, n_members=1)
    yield from one
    yield from fit(LONGER, n_members=1, max_epochs=TIMES * PLAIN.max_epochs, patience=TIMES * PLAIN.patience)[0]
    share = (1.0 - HELD_OUT) / (mf.Network().n_members - 1.0)  # of the rows: one network sees 0.8, four members see 4 x 0.75
    yield from fit(CHEAPER, max_epochs=max(1, round(share * epochs)))[0]


def report(results: Results) -> str:
    command, library = "python -m benchmarks.quality_networks report", f"torch {torch.__version__}"
    against = {
        f"As shipped: {OURS} against each, in points (win, tie, loss by {TIE}):": OURS,
        f"{CHEAPER.capitalize()} against each:": CHEAPER,
    }
    ours, longer, cheaper = (seconds_ratio(results, method, ONE) for method in (OURS, LONGER, CHEAPER))
    cost = f"Times of a fit beside {ONE}, in the median: {OURS} {ours:.1f}; {LONGER} {longer:.1f}; {CHEAPER} {cheaper:.1f}."
    return build_report(results, command, library, against, cost)


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--sets", nargs="+", default=[n for n in tables.SETS if n not in LEFT_OUT], metavar="SET")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.out / "quality_networks.csv")
    if options.what == "run":
        run_missing(results, options.seeds, options.sets, lambda name, seed: evaluate_split(name, seed, options.rows))
    text = report(results)
    write_page(options.out, "quality_networks.md", text)


if __name__ == "__main__":
    main()
