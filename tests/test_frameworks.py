"""The scripts of docs/howto/frameworks.md, with the real packages."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "frameworks.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE))
NEEDS = {"Lightning": "lightning", "Hugging Face Trainer": "transformers", "skorch": "skorch", "Masks": "torch"}


def test_every_section_with_a_script_is_tried():
    assert list(SECTIONS) == list(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("section", NEEDS)
def test_scripts_run(section, tmp_path):
    if importlib.util.find_spec(NEEDS[section]) is None:
        pytest.skip(f"{NEEDS[section]} is missing: pip install 'metricfit[howto]'")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SECTIONS[section]], capture_output=True, text=True, cwd=tmp_path, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
