"""Ctrl-C while a command compares, in a real process."""

import json
import os
import re
import signal
import sys

import pytest

from tests.processes import PATIENCE, started

LONG = ("--models", "linear", "--methods", "threshold", "--repeats", "200")


def interrupt(after, *arguments):
    """Exit code, stdout and stderr of a command that gets Ctrl-C when it prints ``after``."""
    with started([sys.executable, "-m", "metricfit", *arguments]) as process:
        lines = list[str]()
        for line in process.stderr:
            lines.append(line)
            if line.startswith(after):
                os.killpg(process.pid, signal.SIGINT)
                break
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, "".join(lines) + err


@pytest.mark.parametrize("jobs", [1, 2])
def test_compare_prints_the_finished_splits(good, tmp_path, jobs):
    code, out, err = interrupt("Split 6 of", "compare", good, *LONG, "--jobs", jobs, "--report", tmp_path / "report.html")
    assert code == 130
    last = err.strip().splitlines()[-1]
    found = re.fullmatch(
        r"metricfit: Interrupted after (\d+) of 1000 splits: these are partial results\. No report was written\.", last
    )
    assert found, last
    assert f"5-fold cross-validation, 200 repeats, partial: {found[1]} of 1000 splits; 95 % intervals; seed 0." in out
    assert "Best: " in out
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["good.csv"]


def test_json_says_that_it_is_partial(good):
    code, out, err = interrupt("Split 2 of", "compare", good, *LONG, "--json")
    found = json.loads(out)
    assert (code, found["partial"], found["answer"]) == (130, True, "none" if len(found["results"][0]["scores"]) < 5 else "no")
    assert f"after {len(found['results'][0]['scores'])} of 1000 splits" in err


def test_before_the_first_split_there_is_nothing_to_print(good):
    code, out, err = interrupt("good.csv: 120 rows", "compare", good, *LONG, "--folds", "100")
    assert (code, out) == (130, "")
    assert err.strip().splitlines()[-1] == "metricfit: Interrupted; nothing was written."


def test_fit_writes_nothing(good, tmp_path):
    code, out, err = interrupt("Split 2 of", "fit", good, "--out", tmp_path / "m", "--model", "linear", "--repeats", "200")
    assert (code, out) == (130, "")
    assert err.strip().splitlines()[-1] == "metricfit: Interrupted; nothing was written."
    assert [path.name for path in tmp_path.iterdir()] == ["good.csv"]
