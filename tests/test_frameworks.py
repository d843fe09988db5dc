"""The scripts of docs/howto, with the real packages."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[1] / "docs" / "howto"
TEXT = "".join((HOWTO / name).read_text() for name in ("frameworks.md", "libraries.md"))
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE))
NEEDS = {
    "Lightning": ["lightning"],
    "Hugging Face Trainer": ["transformers"],
    "skorch": ["skorch"],
    "Masks": ["torch"],
    "scikit-learn": ["sklearn"],
    "LightGBM and XGBoost": ["lightgbm", "xgboost"],
    "imbalanced-learn": ["imblearn"],
}


def test_every_section_with_a_script_is_tried():
    assert list(SECTIONS) == list(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("section", NEEDS)
def test_scripts_run(section, tmp_path):
    if missing := [name for name in NEEDS[section] if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{missing} should be installed: pip install 'metricfit[howto]'")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", SECTIONS[section]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
