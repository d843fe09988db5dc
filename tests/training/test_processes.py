"""The script of docs/training.md for several processes: it trains and resumes, and a process that is lost ends the others."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from metricfit.training._checkpoint import read_state
from tests.processes import PATIENCE, wait_for
from tests.training.machines import Machines

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "training.md"
(SCRIPT,) = re.findall(
    r"^## Several processes and machines\n.*?^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE
)
SHORT = "timeout=timedelta(seconds=20)"  # on a busy machine each has to answer within it
N_STEPS = 60
LINE = r"^metricfit: process {} of 2 {} The last checkpoint is training\.checkpoint, of step (\d+)( or of the save before)?\. Start the training again"


def write(folder, **changes):
    """The script, for fewer epochs, and with other text for what a test changes."""
    script = SCRIPT
    for old, new in {"epochs=30": f"epochs={N_STEPS // 5}", **changes}.items():
        assert script.count(old) == 1
        script = script.replace(old, new)
    (folder / "train.py").write_text(script)
    return folder / "train.py"


def step_of(file):
    return read_state(file, 2**24)["step"]


class Run:
    """The script under torchrun, as a user starts it."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.torchrun = subprocess.Popen(command, cwd=folder, env=environment, **pipes)

    def processes(self):
        """Those that torchrun started, by rank."""
        children = psutil.Process(self.torchrun.pid).children()
        return sorted(children, key=lambda child: int(child.environ()["RANK"]))

    def wait(self):
        out, errors = self.torchrun.communicate(timeout=PATIENCE)
        return self.torchrun.returncode, out, errors


def test_a_killed_process_ends_the_other_and_the_same_command_resumes(tmp_path):
    """It ends with the checkpoint of a training on two machines that was not killed: weights, history, random numbers, all bits."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
        write(folder)
    file = killed / "training.checkpoint"
    run = Run(killed)
    wait_for(file.exists)
    processes = run.processes()
    processes[1].kill()
    code, _, errors = run.wait()
    assert code == 1
    assert not any(process.is_running() for process in processes)
    found = re.search(LINE.format(0, r"(?:lost another process|was told to end) .*?\."), errors, re.MULTILINE)
    assert found, errors
    step = step_of(file)
    assert 0 < step == int(found[1]) < N_STEPS

    code, out, errors = Run(killed).wait()
    assert code == 0, errors
    assert f"Resumed from step {step}\n" in out
    assert f"after {N_STEPS} steps of 2 processes" in out

    machines = Machines(whole / "train.py", whole)
    assert machines.wait() == [0, 0]
    assert file.read_bytes() == (whole / "training.checkpoint").read_bytes()


@contextmanager
def stopped(process):
    """A process that stands still, and is killed in the end."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        process.kill()
        process.join(PATIENCE)


CHILDREN = """
class Rows:
    def __iter__(self):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(abs, [-1, -2]) == [1, 2]
        loader = torch.utils.data.DataLoader(range(200), batch_size=50, num_workers=1, multiprocessing_context="fork")
        return iter([(x[rows], y[rows]) for rows in loader])


held_out = Rows()
"""


def test_children_in_a_fit(tmp_path):
    """A pool, which tells its processes to end, and the worker of a loader, both forked, in each evaluation."""
    changes = {"import os\n": "import multiprocessing\nimport os\n", "held_out = x[:200], y[:200]\n": CHILDREN}
    machines = Machines(write(tmp_path, **changes), tmp_path)
    assert machines.wait() == [0, 0], machines.lines(0)
    assert f"after {N_STEPS} steps of 2 processes" in machines.lines(0)[-1]
    assert not any(line.startswith("metricfit:") for rank in (0, 1) for line in machines.lines(rank))


class TestWithoutTorchrun:
    """On two machines nobody ends the process that is left."""

    def start(self, folder, **changes):
        machines = Machines(write(folder, **changes), folder)
        wait_for((folder / "training.checkpoint").exists)
        return machines

    def check(self, machines, rank, event):
        """One line says it; it may not be certain of the last step if the first process was killed while it saved."""
        (found,) = (found for line in machines.lines(rank) if (found := re.search(LINE.format(rank, event), line)))
        step = step_of(machines.folder / "training.checkpoint")
        assert 0 < step < N_STEPS
        assert step == int(found[1]) or (found[2] and abs(step - int(found[1])) == 20)

    @pytest.mark.parametrize("rank", [0, 1])
    def test_a_process_that_dies(self, tmp_path, rank):
        machines = self.start(tmp_path)
        machines.processes[rank].kill()
        codes = machines.wait()
        assert codes[rank] == -signal.SIGKILL
        assert codes[1 - rank] == 1
        self.check(machines, 1 - rank, r"lost another process after step \d+: it ended, or did not answer in time\.")
        assert machines.lines(1 - rank)[-1].startswith("metricfit._errors.ProcessLostError: process")

    def test_a_process_that_no_longer_answers(self, tmp_path):
        """The timeout ends the other."""
        machines = self.start(tmp_path, **{"timeout=timedelta(minutes=10)": SHORT})
        with stopped(machines.processes[1]):
            machines.processes[0].join(PATIENCE)
        assert machines.processes[0].exitcode == 1
        self.check(machines, 0, r"lost another process after step \d+: it ended, or did not answer in time\.")

    def test_told_to_end_while_it_waits_for_another(self, tmp_path):
        """As torchrun does it; Python itself would notice only after the timeout."""
        machines = self.start(tmp_path)
        with stopped(machines.processes[1]):
            time.sleep(0.3)  # it waits by now
            machines.processes[0].terminate()
            machines.processes[0].join(PATIENCE)
        assert machines.processes[0].exitcode == 128 + signal.SIGTERM
        self.check(machines, 0, r"was told to end \(SIGTERM\) after step \d+, as torchrun does when another process ended\.")
