"""Abstention: does the promised error of answered rows hold, and how many rows are answered, compared with MAPIE?

    python -m benchmarks.abstention [--repeats 300] [--out benchmarks/results]      # needs `pip install mapie`

As in ``promises.py``, the scores of a model for rows that it has not seen are the population, and calibration rows are drawn
from it with replacement, so the truth is known. The limit is half of the error that the largest probability has on all rows,
and the confidence is 0.9. A refusal counts as held, with no rows answered. MAPIE has no abstention by name: its
``BinaryClassificationController`` promises the precision of "the answer is right", of which the largest probability is the
score, by its default (Bonferroni-Holm over 100 thresholds) and by a fixed sequence from the highest threshold down.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks._pools import Pool, real_pool
from benchmarks._script import new_parser, write_page, written_by
from metricfit import metrics
from metricfit._typing import Floats
from metricfit.decisions._actions import NO_ANSWER, Plan
from metricfit.decisions._rows import Rows

TABLES = ("adult", "magic", "pima", "dry-bean", "satellite")
SIZES, CONFIDENCE = (500, 2500), 0.9
METHODS = ("DecisionRule", "MAPIE, default", "MAPIE, fixed sequence")
GRID = np.linspace(0.99, 0.0, 100)


def by_mapie(sure: Floats, is_right: Any, limit: float) -> Iterator[float | None]:
    """The least probability that is answered, by both procedures."""
    from mapie.risk_control import BinaryClassificationController

    probability = np.stack([1.0 - sure, sure], 1)
    for method in ("bonferroni_holm", "fixed_sequence"):
        controller = BinaryClassificationController(
            lambda _: probability,
            "precision",
            1.0 - limit,
            confidence_level=CONFIDENCE,
            best_predict_param_choice="recall",
            list_predict_params=GRID,
            fwer_method=method,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller.calibrate(np.zeros(len(sure)), is_right.astype(int))
        yield controller.best_predict_param


def study(name: str, pool: Pool, repeats: int) -> Iterator[str]:
    k, everything = pool.scores.shape[1], softmax(pool.scores, 1)
    plain_error = float((everything.argmax(1) != pool.labels).mean())
    limit = round(0.5 * plain_error, 3)
    plan = Plan(metrics.get("accuracy"), list(range(k)), error_limit=limit, confidence=CONFIDENCE)
    for n in SIZES:
        random = np.random.default_rng(n)
        outcomes: dict[str, list[Any]] = {method: [] for method in METHODS}
        for _ in range(repeats):
            drawn = pool.draw(n, random)
            actions = plan.fit(Rows(drawn.scores, drawn.labels, np.ones(n)))
            answers = np.full(len(pool.labels), NO_ANSWER) if actions.refusal else actions.answers(pool.scores, None)
            outcomes[METHODS[0]].append(judge(answers, pool, limit))
            p = softmax(drawn.scores, 1)
            for method, least in zip(METHODS[1:], by_mapie(p.max(1), p.argmax(1) == drawn.labels, limit), strict=True):
                sure = everything.max(1) >= (np.inf if least is None else least)
                outcomes[method].append(judge(np.where(sure, everything.argmax(1), NO_ANSWER), pool, limit))
        cells = []
        for found in outcomes.values():
            held, coverage = np.array(found, float).T
            cells.append(f"{held.mean():.1%} | {coverage.mean():.1%}")
        yield f"| {name} | {k} | {plain_error:.3f} | {limit:g} | {n:,} | {' | '.join(cells)} |"


def judge(answers: Any, pool: Pool, limit: float) -> tuple[bool, float]:
    """Whether the limit holds in the population, and the share of rows that are answered."""
    is_answered = answers != NO_ANSWER
    error = float((answers != pool.labels)[is_answered].mean()) if is_answered.any() else 0.0
    return error <= limit, float(is_answered.mean())


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    options = parser.parse_args()
    heads = " | ".join(f"{method}: held | answered" for method in METHODS)
    lines = [f"| table | classes | error | limit | rows | {heads} |", "|---|" + "---:|" * (4 + 2 * len(METHODS))]
    for name in TABLES:
        for line in study(name, real_pool(name), options.repeats):
            lines.append(line)
            print(line, flush=True)
    about = (
        f"{written_by()} Confidence {CONFIDENCE}, {options.repeats} repetitions: held should be at "
        f"least 90 %, give or take {2 * np.sqrt(0.09 / options.repeats):.1%} (two standard errors). "
        "The second start of 500 rows was chosen among eleven variants on these and four other pools, so these do not prove "
        "how many rows it answers. Validity does not depend on it."
    )
    text = "\n".join(["# Abstention", "", about, "", *lines, ""])
    write_page(options.out, "abstention.md", text)


if __name__ == "__main__":
    main()
