"""Figures as SVG; equal numbers give equal files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def empty_figure(width: float = 8.0, height: float = 3.2) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_svg(figure: Figure, file: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "metricfit", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
