"""A script in two processes under torchrun, of which nothing is left."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.processes import PATIENCE, started

ROOT = Path(__file__).parents[2]


def run_in_two(folder, *script, **environment):
    """Exit code, stdout and stderr of the script."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *script]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **environment}
    with started(command, cwd=folder, env=environment) as torchrun, ended(torchrun):
        out, errors = torchrun.communicate(timeout=PATIENCE)
        return torchrun.returncode, out, errors


@contextmanager
def ended(torchrun):
    """Kill what torchrun started if it hangs: its processes have sessions of their own."""
    try:
        yield
    finally:
        if torchrun.poll() is None:
            for child in psutil.Process(torchrun.pid).children(recursive=True):
                child.kill()
