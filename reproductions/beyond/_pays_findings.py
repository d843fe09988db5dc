"""What the study of where it pays found, as Markdown: controlled data, the cut they give, and real tables by kind."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import stats

from metricfit.comparison._statistics import Estimate
from metricfit.methods import AUTO, CROSS_ENTROPY
from reproductions._experiment import Results
from reproductions._markdown import table, with_interval
from reproductions._ranks import wilcoxon
from reproductions.beyond._pays_gains import CONTROLLED, DIRECT, METRICS, NOTABLE, REAL, REST, Gains, collect_gains, of_part
from reproductions.beyond._pays_rule import CUTS, RARE, by_kind, by_source, derive_cut, find, kind_of, n_right

TITLES = {"accuracy": "accuracy", "f1": "F1", "mcc": "MCC"}


def summary(found: Results) -> str:
    gains = collect_gains(found)
    points, real, rests = (of_part(gains, part) for part in (CONTROLLED, REAL, REST))
    return f"""Gains are in points over cross-entropy with tuned offsets (`threshold`). "Removed" is the share of the linear
model's log-loss that boosted trees remove on held-out rows. F1 is that of the rarer class, or the mean over several classes.

## Controlled data (95 % intervals over independent replications)

{_points_table(points)}

## The cut

{_derivation(points)}

## Real tables by kind

{_rule_table(real, "sets")}

{_rule_table([*real, *rests], "sets and classes against the rest; p-values take the mean of the tables of one set")}

{_correlations(real)}

## Real tables (95 % intervals over splits, corrected for their overlap)

{_tables_table([*real, *rests])}
"""


def _points_table(points: Sequence[Gains]) -> str:
    rows = [
        [
            one.name,
            f"{100 * one.removed:.0f} %",
            *(with_interval(one.estimate(metric)) for metric in METRICS),
            with_interval(one.estimate("f1", AUTO)),
            with_interval(one.estimate("f1", CROSS_ENTROPY)),
        ]
        for one in points
    ]
    heads = [f"direct, {TITLES[metric]}" for metric in METRICS]
    return table(["point", "removed", *heads, "auto, F1", "no threshold, F1"], rows)


def _derivation(points: Sequence[Gains]) -> str:
    cut = derive_cut(points)
    others = ", ".join(f"{one:g}: {n_right(one, points)}" for one in CUTS)
    n_gained = sum(one.gained("f1") for one in points)
    return (
        f"Training for F1 gained half a point or more at {n_gained} of {len(points)} points. A cut at **{100 * cut:g} %** of "
        f"the log-loss tells these best from the others: it is right at {n_right(cut, points)} points (by cut: {others}). "
        f"With a cut, a table is *straight* (below it), *curved, rare* (above it, and the rarest class has at most "
        f"{100 * RARE:g} % of the rows, the base point of the controlled data), or *curved*."
    )


def _rule_table(tables: Sequence[Gains], words: str) -> str:
    rows = []
    for metric in METRICS:
        for method in (DIRECT, AUTO):
            for kind, own in by_kind(tables).items():
                units = by_source(own, metric, method)
                finding = find(own, metric, method)
                rows.append(
                    [
                        f"{TITLES[metric]}, {method}, {kind}",
                        str(finding.n_tables),
                        f"{finding.n_gained}",
                        f"{finding.n_lost}",
                        f"{sum(one.estimate(metric, method).low > 0.0 for one in own)}",
                        f"{sum(one.estimate(metric, method).high < 0.0 for one in own)}",
                        f"{finding.mean:+.1f}",
                        _range([one.estimate(metric, method) for one in own]),
                        f"{wilcoxon(units):.3f} ({len(units)})" if units else "",
                    ]
                )
    heads = [
        "",
        "tables",
        f"gain ≥ {NOTABLE:g}",
        f"loss ≥ {NOTABLE:g}",
        "beyond chance",
        "loss beyond chance",
        "mean gain",
        "range",
        "p, Wilcoxon (sets)",
    ]
    return f"On {words}:\n\n{table(heads, rows)}"


def _range(estimates: Sequence[Estimate]) -> str:
    means = [one.mean for one in estimates]
    return f"{min(means):+.2f} … {max(means):+.2f}" if means else ""


def _correlations(real: Sequence[Gains]) -> str:
    """Spearman's correlation over sets of the gain with what is known before."""
    if len(real) < 3:
        return ""
    rows = []
    for metric in METRICS:
        gains = [one.estimate(metric).mean for one in real]
        known = {"removed": [one.removed for one in real], "rarest": [-one.rarest for one in real]}
        found = [stats.spearmanr(values, gains) for values in known.values()]
        rows.append([TITLES[metric], *(f"{float(one.statistic):+.2f} (p {float(one.pvalue):.3f})" for one in found)])
    return "Spearman's correlation with the gain of direct, over sets:\n\n" + table(
        ["metric", "removed", "rarity of the rarest class"], rows
    )


def _tables_table(tables: Sequence[Gains]) -> str:
    rows = [
        [
            one.name,
            f"{100 * one.rarest:.1f} %",
            f"{100 * one.removed:.0f} %",
            kind_of(one.removed, one.rarest),
            *(with_interval(one.estimate(metric)) for metric in METRICS),
            with_interval(one.estimate("f1", AUTO)),
        ]
        for one in tables
    ]
    heads = [f"direct, {TITLES[metric]}" for metric in METRICS]
    return table(["table", "rarest", "removed", "kind", *heads, "auto, F1"], rows)
