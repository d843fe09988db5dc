"""The campaign of disks notices commands that end as if all were well, end in a traceback, or leave something behind."""

import sys

import pytest

from campaign import disk
from campaign._tally import Outcome

SAYS_SO = "import sys; print('metricfit: The disk is full.', file=sys.stderr); sys.exit(1)"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (SAYS_SO, Outcome.REFUSED),
        ("open(__import__('sys').argv[-1], 'w').write('half'); " + SAYS_SO, Outcome.WRONG),
        ("pass", Outcome.WRONG),
        ("1 / 0", Outcome.TRACEBACK),
        ("raise SystemExit(1)", Outcome.TRACEBACK),
    ],
)
def test_what_a_command_does_on_a_full_disk(tmp_path, monkeypatch, code, outcome):
    monkeypatch.setattr(disk, "METRICFIT", (sys.executable, "-c", code))
    assert disk.try_command("fit", tmp_path / "out", tmp_path)[0] is outcome


def test_a_limit_on_the_size_of_files_works(tmp_path, monkeypatch):
    code = "open(__import__('sys').argv[-1], 'w').write('x' * 10**6)"
    monkeypatch.setattr(disk, "METRICFIT", (sys.executable, "-c", code))
    outcome, why = disk.small_files("fit", tmp_path)
    assert outcome is Outcome.TRACEBACK
    assert "File too large" in why
