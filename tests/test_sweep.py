"""The sweep with real processes: one is killed, and a second command continues the study."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from optuna.trial import TrialState

from examples import sweep

ROOT = Path(__file__).parents[1]
PATIENCE = 240  # seconds, on a busy machine


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def start(*arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, ROOT / "examples" / "sweep.py", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_two_processes(storage):
    """The processes of the trials, as soon as the file has two."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = set(re.findall(r'"process":(\d+)', storage.read_text() if storage.exists() else ""))
        if len(found) == 2:
            return sorted(map(int, found))
        time.sleep(0.05)
    raise TimeoutError("the two processes did not start")


def finished(storage, name):
    return sweep.open_study(storage, name).get_trials(states=(TrialState.COMPLETE,))


def rows_of(text):
    """The table that the command prints: trials and both F1 by study."""
    return {line[:16].strip(): line[16:].split()[:3] for line in text.splitlines()[1:]}


def test_two_processes_share_a_file_and_the_command_continues(tmp_path, capsys):
    storage = tmp_path / "sweep.log"
    command = start("--trials", 3, "--processes", 2, "--storage", storage)
    survivor, killed = wait_for_two_processes(storage)
    os.kill(killed, signal.SIGKILL)
    out, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, err
    assert f"Process {killed} ended with code -9." in err
    first = {name: finished(storage, name) for name in sweep.STUDIES}
    for trials in first.values():
        assert len(trials) == 3
        assert len({trial.user_attrs["process"] for trial in trials}) >= 2  # a third one, if the second had no trial yet
    assert survivor in {trial.user_attrs["process"] for trial in first["any loss"]}
    assert {trial.params["loss"] for trial in first["cross-entropy"]} == {"cross_entropy"}
    rows = rows_of(out)
    for name in sweep.STUDIES:
        assert rows[name][0] == "3"
        assert float(rows[name][1]) > 2 * float(rows["all positive"][0])

    best = sweep.open_study(storage, "any loss").best_trial
    assert sweep.fit(best.params, seed=best.number).f1 == best.value  # in another process, from the number

    sweep.main(["--trials", "4", "--processes", "1", "--storage", str(storage)])
    captured = capsys.readouterr()
    assert captured.err.count(" has F1 ") == 2  # only what was missing; kernels may say that they are compiled
    assert {rows_of(captured.out)[name][0] for name in sweep.STUDIES} == {"4"}
    for name, trials in first.items():
        assert [(one.number, one.value) for one in finished(storage, name)[:3]] == [(one.number, one.value) for one in trials]


def test_a_mistake_is_one_line_and_changes_no_file(tmp_path, capsys):
    other = tmp_path / "table.csv"
    other.write_text("a,b\n1,2\n")
    missing = tmp_path / "missing" / "sweep.log"
    for wrong in (["--trials", "0"], ["--storage", str(other)], ["--storage", str(missing)], ["--storage", str(tmp_path)]):
        with pytest.raises(SystemExit):
            sweep.main(wrong)
        assert f"error: argument {wrong[0]}: should be" in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert other.read_text() == "a,b\n1,2\n"
