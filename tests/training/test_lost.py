"""A training in several processes with child processes of its own, such as a pool or the workers of a loader."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.forking_worker import USES

ROOT = Path(__file__).parents[2]
OTHERS = [("use_pool", "spawn"), ("use_pool", "forkserver"), ("end_at_once", "spawn")]


@pytest.mark.parametrize(("use", "method"), [*((use, "fork") for use in USES), *OTHERS])
def test_a_child_that_is_told_to_end_does_not_end_the_training(use, method):
    """The training itself still says where the checkpoint is when it is told to end."""
    command = [sys.executable, "-m", "tests.training.forking_worker", use, method]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "goes on\n", done.stderr
    assert done.returncode == 143
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("metricfit:"))
    assert line.startswith("metricfit: process 0 of 2 was told to end (SIGTERM) after step 7, as torchrun does")
