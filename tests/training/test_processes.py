"""The script of docs/guide/training.md for several processes: a process that dies ends the others, and the same command resumes."""

import re
from pathlib import Path

import pytest
import torch

from tests.training.torchrun import ROOT, run_in_two

PAGE = ROOT / "docs" / "guide" / "training.md"
(SCRIPT,) = re.findall(
    r"^## Several processes and machines\n.*?^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE
)
N_STEPS, LAST_SAVED = 60, 20
DIES = """
if "DIES" in os.environ and fabric.global_rank == 1:
    optimizer.register_step_post_hook(lambda *_: trainer.step == 30 and os.kill(os.getpid(), 9))
history = """


def write(folder):
    """The script for fewer epochs; with DIES set, its second process is killed after its step 30."""
    folder.mkdir()
    script = SCRIPT
    for old, new in {"epochs=30": f"epochs={N_STEPS // 5}", "\nhistory = ": DIES}.items():
        assert script.count(old) == 1
        script = script.replace(old, new)
    (folder / "train.py").write_text(script)
    return folder


def check_finished(found):
    code, out, errors = found
    assert code == 0, errors
    assert f"after {N_STEPS} steps of 2 processes" in out
    return out


@pytest.mark.slow
def test_a_killed_process_ends_the_other_and_the_same_command_resumes(tmp_path):
    """It ends with the weights and the history of a training that was not killed."""
    killed, whole = write(tmp_path / "killed"), write(tmp_path / "whole")
    code, _, errors = run_in_two(killed, "train.py", DIES="1")
    assert code == 1
    assert re.search(r"rank +: 1 .*\n +exitcode +: -9 ", errors), errors  # torchrun tells who died
    assert [path.name for path in sorted(killed.iterdir())] == ["train.py", "training.checkpoint"]

    assert f"Resumed from step {LAST_SAVED}\n" in check_finished(run_in_two(killed, "train.py"))
    assert "Resumed" not in check_finished(run_in_two(whole, "train.py"))
    one, other = (torch.load(Path(folder, "training.checkpoint"), weights_only=True) for folder in (killed, whole))
    for name in ("step", "module", "optimizer", "history", "processes"):
        torch.testing.assert_close(one[name], other[name], equal_nan=True)
