"""The campaign of kills notices an output that is written under its own name, and lets pass one that is renamed."""

import sys

import numpy as np

from campaign import kills
from campaign._tally import Outcome

SLOW = "import time\nfor _ in range(20): file.write('line\\n'); file.flush(); time.sleep(0.05)\n"
CAREFUL = "from pathlib import Path; from metricfit._files import new_file\nwith new_file(Path('out')) as path, path.open('w') as file:\n"


def job(code, expected="line\n" * 20):
    return kills.Job("job", (sys.executable, "-c", code), (), "out", lambda path: path.read_text(), 1.0, expected)


def indented(code):
    return "".join(f"    {line}\n" for line in code.splitlines())


def test_a_file_that_is_renamed_at_the_end_passes(tmp_path):
    assert kills.kill_once(job(CAREFUL + indented(SLOW)), tmp_path / "one", 0.9) == (Outcome.ANSWERED, "")
    assert (tmp_path / "one" / "out").read_text() == "line\n" * 20


def test_a_half_written_file_is_noticed(tmp_path):
    outcome, why = kills.kill_once(job("file = open('out', 'w')\n" + SLOW), tmp_path / "one", 0.6)
    assert outcome is Outcome.WRONG
    assert why.endswith("out is not complete")


def test_a_second_run_that_fails_or_differs_is_noticed(tmp_path):
    refuses = (
        "import os\nif os.path.exists('.lock'): raise SystemExit('locked')\nopen('.lock', 'w')\nimport time; time.sleep(9)"
    )
    assert kills.kill_once(job(refuses), tmp_path / "one", 0.5)[0] is Outcome.TRACEBACK
    differs = CAREFUL + indented("import time; time.sleep(0.5); file.write('another')")
    assert kills.kill_once(job(differs), tmp_path / "two", 0.3)[0] is Outcome.WRONG


def test_moments_are_within_the_run():
    random = np.random.default_rng(0)
    moments = [kills.draw_moment(random, 10.0) for _ in range(200)]
    assert 3.0 <= min(moments) < 4.0
    assert 10.0 < max(moments) <= 10.5
    assert np.mean(np.array(moments) > 7.5) > 0.5


def test_a_training_that_is_killed_goes_on(tmp_path):
    tally = kills.run(np.random.default_rng(0), 1, tmp_path)
    assert tally.failures == []
    assert tally.counts[Outcome.ANSWERED] == 1
