"""The code of docs/howto/clusters.md runs as it stands; what needs Spark, where Spark is installed."""

import re
import sys
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "clusters.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
NEEDED = ("distributed", "dask.dataframe", "pyspark")


def test_there_is_an_example_for_each_of_them():
    assert len(BLOCKS) == len(NEEDED)


@pytest.mark.parametrize("place", range(len(NEEDED)), ids=NEEDED)
def test_an_example_runs(place, monkeypatch):
    pytest.importorskip(NEEDED[place], reason=f"the example needs {NEEDED[place]}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # else Spark's workers take the python3 of the PATH
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other packages
        exec(compile(BLOCKS[place], f"clusters.md, {NEEDED[place]}", "exec"), {"__name__": "clusters"})
