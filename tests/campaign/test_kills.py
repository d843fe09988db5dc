"""The campaign of kills notices an output that is written under its own name, and lets pass one that is renamed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from campaign import kills
from campaign._tally import Outcome
from tests.processes import wait_for

CAREFUL = "from pathlib import Path; from metricfit._files import new_file\nwith new_file(Path('out')) as path, path.open('w') as file:\n"
CARELESS = "with open('out', 'w') as file:\n"
STOP = "    import os, time\n    if not os.path.exists('.first'): open('.first', 'w').close(); time.sleep(600)\n"  # only the first run
HALF = "    file.write('line\\n' * 10); file.flush()\n"


@pytest.fixture
def kill_once(monkeypatch, tmp_path):
    """Run code as a job and kill it where it stops."""

    def call(code):
        job = kills.Job("job", (sys.executable, "-c", code), (), "out", lambda path: path.read_text(), 1.0, "line\n" * 20)
        place = tmp_path / "one"
        monkeypatch.setattr(kills, "time", SimpleNamespace(sleep=lambda _: wait_for((place / ".first").exists)))
        return kills.kill_once(job, place, 1.0)

    return call


def test_a_file_that_is_renamed_at_the_end_passes(kill_once, tmp_path):
    assert kill_once(CAREFUL + HALF + STOP + HALF) == (Outcome.ANSWERED, "")
    assert (tmp_path / "one" / "out").read_text() == "line\n" * 20


def test_a_half_written_file_is_noticed(kill_once):
    outcome, why = kill_once(CARELESS + HALF + STOP + HALF)
    assert outcome is Outcome.WRONG
    assert why.endswith("out is not complete")


@pytest.mark.parametrize(
    ("after", "outcome"),
    [("    file.write('another')\n", Outcome.WRONG), ("    raise SystemExit('locked')\n", Outcome.TRACEBACK)],
)
def test_a_second_run_that_differs_or_fails_is_noticed(kill_once, after, outcome):
    assert kill_once(CAREFUL + STOP + after)[0] is outcome


def test_a_training_that_is_killed_goes_on(tmp_path):
    tally = kills.run(np.random.default_rng(0), 1, tmp_path)
    assert tally.failures == []
    assert tally.counts[Outcome.ANSWERED] == 1
