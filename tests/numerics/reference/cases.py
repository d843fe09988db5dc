"""The scores and labels behind the 30-digit references, made again from a seed whenever they are needed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("label_probability.csv")
CLASSES = (2, 3, 10, 100, 1000, 10_000)
SPREADS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
KINDS = ("random", "leading", "tied")


@dataclass(frozen=True)
class Case:
    n_classes: int
    spread: float
    kind: str

    def __str__(self) -> str:
        return f"{self.n_classes}-{self.spread:g}-{self.kind}"

    def scores(self) -> tuple[np.ndarray, int]:
        """Scores (k,) and the label. Rounded to 1/40 of the spread, so that many are equal and the reference is quick."""
        random = np.random.RandomState(self.n_classes * 7 + int(self.spread * 1000))  # its stream never changes
        scores = np.round(random.standard_normal(self.n_classes) * 40) / 40 * self.spread
        if self.kind == "random":
            return scores, int(random.randint(self.n_classes))
        label = int(np.argmax(scores))
        if self.kind == "tied":
            scores[(label + 1) % self.n_classes] = scores[label]
        return scores, label


def all_cases() -> list[Case]:
    return [Case(k, spread, kind) for k in CLASSES for spread in SPREADS for kind in KINDS]


def references() -> list[tuple[Case, str]]:
    """Every case and the logarithm of its probability as a decimal string of 30 digits."""
    with TABLE.open() as file:
        return [(Case(int(row["n_classes"]), float(row["spread"]), row["kind"]), row["log_p"]) for row in csv.DictReader(file)]
