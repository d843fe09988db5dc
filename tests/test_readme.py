"""The code in the README runs as it stands, and the package stays light."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_are_blocks():
    assert len(BLOCKS) >= 3


PRINTED = [re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE) for block in BLOCKS]


@pytest.mark.parametrize("block", range(len(PRINTED)))
def test_the_readme_shows_what_its_code_prints(block, capsys):
    exec(compile(BLOCKS[block], "README.md", "exec"), {})
    assert PRINTED[block]
    assert capsys.readouterr().out.splitlines() == PRINTED[block]


def test_importing_brings_in_nothing_heavy_beyond_torch():
    code = "import sys, metricfit; print(*sorted({'sklearn', 'matplotlib', 'pandas', 'numba', 'lightning_fabric', 'pyarrow'} & {m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
