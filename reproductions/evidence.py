"""Writes what the results say into pages: all claims, their counts, what was run, and a figure of all gains.

    python -m reproductions.evidence [--results reproductions] [--pages reproductions]

It reads the CSV files in the papers' folders. ``claims.md`` is written whole. In ``evidence.md`` and in the READMEs of EXACT
and EAST the parts between ``<!-- NAME: written by `make evidence` -->`` and ``<!-- end of NAME -->`` are replaced. In each
page of results everything below the title and the command is written again, so that all pages follow the same rules.
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metricfit._files import new_file
from reproductions._claims import CAVEAT, NO_VERDICT, NOT_PUBLISHED, Claim, claims_table, correct, counts
from reproductions._experiment import Results, get_experiment, names, paper_folder
from reproductions._figure import empty_figure, save_svg
from reproductions._markdown import NEAR, table
from reproductions._results import values
from reproductions._runner import page_body, read_results
from reproductions.coverage import coverage_table
from reproductions.east_2024.adult import adult_section
from reproductions.exact_2022 import published
from reproductions.exact_2022._networks import TABLE_7
from reproductions.exact_2022._vision_summary import ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Gathered = dict[str, list[Claim]]  # by experiment

ROW = 0.17  # inches
LINEAR = 1.0  # points up to which the axis is linear; beyond, logarithmic
IMAGES = {"cifar10": "CIFAR-10", "mnist": "MNIST"}
LINE = 118  # characters in a line of the pages
COLOURS = {
    "holds": "#1b7f5c",
    "smaller": "#c58a00",
    "within noise": "#8a8a8a",
    "otherwise": "#b3261e",
    "no verdict": "#5b8fd0",
}


def file_of(results: Path, name: str, suffix: str = ".csv") -> Path:
    """A file of an experiment's results."""
    return results / paper_folder(name) / "results" / f"{name}{suffix}"


def gather(results: Path) -> Gathered:
    """The claims of all experiments that have a result."""
    gathered = {}
    for name in names():
        experiment, file = get_experiment(name), file_of(results, name)
        if file.exists() and (claims := experiment.claims_of(read_results(experiment, file))):
            gathered[name] = claims
    return gathered


def count_section(gathered: Gathered) -> str:
    """How many claims have which verdict: for both readings, and for the toys."""
    lines = [f"- **{title}.** {_count(some)}" for title, some in _readings(gathered).items() if some]
    if toys := [one for claims in gathered.values() for one in claims if one.toy]:
        lines.append(f"- **Toys.** {sum(one.verdict in ('holds', 'level') for one in toys)} of {len(toys)} hold.")
    return "\n".join(textwrap.fill(line, LINE, subsequent_indent="  ") for line in lines)


def exact_section(found: Results) -> str:
    """How many accuracies of EXACT's Tables 1 and 2 come out within half a point, and those that do not."""
    sentences = []
    for part, paper in (("train", published.TRAIN["EXACT"]), ("test", published.TEST["EXACT"])):
        ours = [float(np.mean(values(found, part, set=name, method="EXACT"))) for name in published.SETS]
        pairs = list(zip(published.SETS, ours, paper, strict=True))
        off = [f"{name} {own:.2f} ({reported:.2f})" for name, own, reported in pairs if abs(own - reported) > NEAR]
        n_sets = len(published.SETS)
        count = f"{n_sets - len(off)} of {n_sets} tables"
        others = f", and further off on {', '.join(off)}" if off else ""
        sentences.append(f"Accuracy on {part} is within {NEAR} points of the paper's on {count}{others}.")
    return textwrap.fill(" ".join([*sentences, "Published numbers are in brackets."]), LINE)


def vision_section(found: Results, claims: list[Claim]) -> str:
    """The accuracy under cross-entropy and SGD, and what EXACT gains over the other losses on images."""
    reached = []
    for name, title in IMAGES.items():
        own = values(ends(found), "test", set=name, optimizer="SGD", loss="Cross-entropy", variant=TABLE_7)
        reported = published.VISION_TEST["SGD", "Cross-entropy"][published.VISION.index(name)][0]
        reached.append(f"{np.mean(own):.2f} % on {title} ({len(own)} seeds; the paper's {reported:.2f})")
    text = f"Under cross-entropy and SGD our networks reach {' and '.join(reached)}. EXACT's gains in points of accuracy:"
    gains = [one for one in claims if one.text.startswith("EXACT over")]
    rows = [[one.text.removeprefix("EXACT "), one.published_text, _ours(one), str(one.runs.seeds)] for one in gains]
    return f"{textwrap.fill(text, LINE)}\n\n{table(['EXACT', 'published', 'ours, scaled', 'seeds'], rows)}"


def _ours(one: Claim) -> str:
    return f"{one.ours:+.2f} ({one.low:+.2f} … {one.high:+.2f})" if one.runs.seeds > 1 else f"{one.ours:+.2f}"


def _readings(gathered: Gathered) -> dict[str, list[Claim]]:
    """The claims without toys, by what their runs can say."""
    real = [one for claims in gathered.values() for one in claims if not one.toy]
    return {
        "The published number, on one split": [one for one in real if one.runs.splits == 1],
        "The gain, over several splits": [one for one in real if one.runs.splits > 1],
    }


def _count(claims: list[Claim]) -> str:
    shared = len({one.group or one.text for one in claims})
    seen = sum(p < 0.05 for p in correct(claims))
    differ = f"{seen} differs" if seen == 1 else f"{seen} differ"
    return (
        f"{len(claims)} claims from {shared} groups of runs. {counts(claims)} {differ} from zero after Holm's correction for "
        f"all {len(claims)}."
    )


def claims_page(gathered: Gathered) -> str:
    """The page of all claims: a table per experiment; p-values are corrected for all claims of the same reading."""
    adjusted = {id(one): p for claims in _readings(gathered).values() for one, p in zip(claims, correct(claims), strict=True)}
    parts = [
        "# All claims",
        "Written by `make evidence`. What the verdicts mean: [evidence.md](evidence.md#how-to-read-it).",
        count_section(gathered),
        CAVEAT,
        "![Gains, published and ours](claims.svg)",
    ]
    for name, claims in gathered.items():
        corrected = [adjusted.get(id(one), 1.0) for one in claims]
        parts.append(f"## {name}\n\n{claims_table(claims, corrected)}")
    return "\n\n".join(parts) + "\n"


def fill(text: str, sections: dict[str, str]) -> str:
    """The text with new sections between their marks.

    >>> marks = "<!-- counts: written by `make evidence` -->", "<!-- end of counts -->"
    >>> fill(f"before {marks[0]} old {marks[1]} after", {"counts": "new"}).splitlines()[1:]
    ['new', '<!-- end of counts --> after']
    """
    for name, content in sections.items():
        begin, end = f"<!-- {name}: written by `make evidence` -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"The page should have the lines {begin!r} and {end!r}, and one of them is missing.")
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return text


def write(results: Path, folder: Path) -> None:
    """Write the pages and the figures."""
    gathered = gather(results)
    found = {name: read_results(get_experiment(name), file_of(results, name)) for name in names()}
    vision = vision_section(found["exact-vision"], gathered["exact-vision"])
    sections = {
        folder / "evidence.md": {
            "counts": count_section(gathered),
            "coverage": coverage_table(),
            "exact": exact_section(found["exact-tabular"]),
            "vision": vision,
        },
        results / "exact_2022" / "README.md": {"vision": vision},
        results / "east_2024" / "README.md": {"adult": adult_section(found["east-tabular"])},
    }
    pages = {page: fill(page.read_text(encoding="utf-8"), parts) for page, parts in sections.items()}
    pages[folder / "claims.md"] = claims_page(gathered)
    for name, rows in found.items():
        page = file_of(results, name, ".md")
        title, command, _ = page.read_text(encoding="utf-8").split("\n\n", 2)
        pages[page] = f"{title}\n\n{command}\n\n{page_body(get_experiment(name), rows, name)}"
    for page, content in pages.items():
        with new_file(page, overwrite=True) as file:
            file.write_text(content, encoding="utf-8")
    for name, drawn in (("claims.svg", gathered), ("gains.svg", over_splits(gathered))):
        with new_file(folder / name, overwrite=True) as file:
            save_svg(figure(drawn), file)


def over_splits(gathered: Gathered) -> Gathered:
    """The claims whose intervals are over several splits."""
    kept = {name: [one for one in claims if one.runs.splits > 1] for name, claims in gathered.items()}
    return {name: claims for name, claims in kept.items() if claims}


def kind(claim: Claim) -> str:
    """The verdict in one of five words, for the colours of the figure.

    >>> kind(Claim("LEErr over NegLog, magic", 0.82, 0.1, 0.5)), kind(Claim("EXACT over cross-entropy, car", 3.29, 1.0, 0.1))
    ('within noise', 'smaller')
    """
    words = {"larger": "holds", "level": "holds", "unclear": "within noise"}
    words |= dict.fromkeys(("a difference", "no such gain", "reversed"), "otherwise")
    words |= dict.fromkeys((NOT_PUBLISHED, NO_VERDICT), "no verdict")
    return words.get(claim.verdict, claim.verdict)


def figure(gathered: Gathered) -> Figure:
    """Published gains (open) beside ours (filled, with 95 % intervals), a row per claim."""
    n_rows = sum(len(claims) + 1 for claims in gathered.values())
    drawing = empty_figure(9.0, 0.8 + ROW * n_rows)
    axes = drawing.subplots()
    labels, index = [], 0
    for name, claims in gathered.items():
        labels.append((index, name, "bold"))
        index += 1
        for claim in claims:
            _draw(axes, index, claim)
            labels.append((index, claim.text, "normal"))
            index += 1
    axes.set_yticks([one for one, _, _ in labels], [text for _, text, _ in labels], fontsize=7)
    for tick, (_, _, weight) in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_fontweight(weight)
    axes.set_ylim(index - 0.5, -0.5)
    axes.set_xscale("symlog", linthresh=LINEAR, linscale=0.7)
    ticks = (-30, -10, -3, -1, 0, 1, 3, 10, 30)
    axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks], fontsize=8)
    axes.axvline(0.0, color="0.5", linewidth=0.8)
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("gain in points, with 95 % intervals", fontsize=8)
    keys = [axes.plot([], [], "D", markersize=4, markerfacecolor="white", markeredgecolor="0.2", label="published")[0]]
    keys += [axes.plot([], [], "o-", markersize=3.5, color=COLOURS[one], label=f"ours: {one}")[0] for one in COLOURS]
    drawing.legend(handles=keys, loc="outside upper right", ncols=6, frameon=False, fontsize=8)
    return drawing


def _draw(axes: Axes, index: int, claim: Claim) -> None:
    colour = COLOURS[kind(claim)]
    if claim.published is None:
        marker, x = (">", 0.15) if claim.direction > 0 else ("<", -0.15)
    else:
        marker, x = "D", claim.published
    if claim.kind != "nothing":
        axes.plot([x], [index], marker, markersize=4, markerfacecolor="white", markeredgecolor="0.2")
    axes.errorbar(
        [claim.ours], [index], xerr=[claim.half_width], fmt="o", markersize=3.5, color=colour, capsize=2, linewidth=1
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("reproductions"))
    parser.add_argument("--pages", type=Path, default=Path("reproductions"))
    options = parser.parse_args()
    write(options.results, options.pages)


if __name__ == "__main__":
    main()
