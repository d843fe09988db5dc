"""From the text of a data file to a table: CSV with row names, KEEL and ARFF files, and CSV without a header."""

from __future__ import annotations

import io

import pandas as pd

UNKNOWN = ("?", "<null>")


def parse(text: str) -> pd.DataFrame:
    """Numbers as numbers, everything else as text, unknown values as missing.

    >>> parse("@attribute Age integer [1, 9]\\n@attribute Class {g, b}\\n@data\\n5, g\\n?, b")
       Age Class
    0  5.0     g
    1  NaN     b
    >>> parse("b,1\\na,?")
      c0   c1
    0  b  1.0
    1  a  NaN
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("%")]
    if lines[0].startswith('"",'):  # written by R: the first column has the names of the rows
        return pd.read_csv(io.StringIO(text), index_col=0).reset_index(drop=True)
    heads = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    rows = "\n".join(line for line in lines if not line.startswith("@"))
    table = pd.read_csv(io.StringIO(rows), header=None, names=heads or None, skipinitialspace=True, na_values=list(UNKNOWN))
    return table if heads else table.add_prefix("c")
