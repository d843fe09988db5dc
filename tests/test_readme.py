"""The code in README runs as it stands, and the package stays light."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TRAINING = README.parent / "docs" / "training.md"
BLOCKS, MORE = (re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL) for path in (README, TRAINING))


@pytest.mark.parametrize("code", [*BLOCKS, *MORE], ids=range(len(BLOCKS) + len(MORE)))
def test_block_runs(code):
    exec(compile(code, "README.md", "exec"), {})


def test_there_are_blocks():
    assert len(BLOCKS) >= 3
    assert len(MORE) == 1


@pytest.mark.parametrize("block", [0, 1])
def test_the_first_blocks_learn_something(block, capsys):
    exec(compile(BLOCKS[block], "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) > 0.6


def test_importing_brings_in_nothing_heavy_beyond_torch():
    code = "import sys, metricfit; print(*sorted({'sklearn', 'matplotlib', 'pandas', 'numba', 'lightning_fabric', 'pyarrow'} & {m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
