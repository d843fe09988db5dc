"""The code in the README and in the docs runs as it stands, and the package stays light."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from metricfit.methods._registry import REGISTRY

README = Path(__file__).parents[1] / "README.md"
PAGES = [README, *(README.parent / "docs" / "guide" / name for name in ("classifier.md", "losses.md", "training.md"))]
BLOCKS = {page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}


@pytest.fixture(autouse=True)
def _keep_registry():
    """A block may register a method."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


ALONE = [
    (page, place)
    for page, blocks in BLOCKS.items()
    for place, block in enumerate(blocks)
    if "fabric.launch()" not in block  # tests/training/test_processes.py runs it in two processes
]


@pytest.mark.parametrize(("page", "block"), ALONE)
def test_block_runs(page, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block may write a file
    exec(compile(BLOCKS[page][block], page, "exec"), {})


def test_there_are_blocks():
    assert len(BLOCKS["README.md"]) >= 3
    assert all(BLOCKS.values())


PRINTED = [re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE) for block in BLOCKS["README.md"]]


@pytest.mark.parametrize("block", range(len(PRINTED)))
def test_the_readme_shows_what_its_code_prints(block, capsys):
    exec(compile(BLOCKS["README.md"][block], "README.md", "exec"), {})
    assert PRINTED[block]
    assert capsys.readouterr().out.splitlines() == PRINTED[block]


def test_importing_brings_in_nothing_heavy_beyond_torch():
    code = "import sys, metricfit; print(*sorted({'sklearn', 'matplotlib', 'pandas', 'numba', 'lightning_fabric', 'pyarrow'} & {m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
