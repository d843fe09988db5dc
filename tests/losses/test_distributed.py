"""Real processes under torchrun."""

import os
import subprocess
import sys
from pathlib import Path


def test_gradients_on_two_processes_are_those_of_the_joint_batch():
    worker = Path(__file__).with_name("distributed_worker.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(worker)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "process 0 of 2: 9 losses agree" in done.stderr
    assert "process 1 of 2: 9 losses agree" in done.stderr
