"""Ctrl-C, SIGTERM and the end of the terminal, in real processes."""

import json
import os
import re
import signal
import sys

import pytest

from tests.cli.conftest import HEADER, hidden, rows
from tests.processes import PATIENCE, started, wait_for

pytestmark = pytest.mark.slow
LONG = ("--models", "linear", "--methods", "threshold", "--repeats", "200")
NOTHING = "metricfit: Interrupted; nothing was written."


def interrupt(after, *arguments, sent=signal.SIGINT):
    """Exit code, stdout and stderr of a command that gets a signal when it prints ``after``."""
    with started([sys.executable, "-m", "metricfit", *arguments]) as process:
        lines = list[str]()
        for line in process.stderr:
            lines.append(line)
            if line.startswith(after):
                os.killpg(process.pid, sent)
                break
        out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
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
    assert [path.name for path in tmp_path.iterdir()] == ["good.csv"]


def test_json_says_that_it_is_partial(good):
    code, out, err = interrupt("Split 2 of", "compare", good, *LONG, "--json")
    found = json.loads(out)
    assert (code, found["partial"]) == (130, True)
    assert f"after {len(found['results'][0]['scores'])} of 1000 splits" in err


def test_before_the_first_split_there_is_nothing_to_print(good):
    code, out, err = interrupt("good.csv: 120 rows", "compare", good, *LONG, "--folds", "100")
    assert (code, out, err.strip().splitlines()[-1]) == (130, "", NOTHING)


@pytest.mark.parametrize(("jobs", "sent"), [(1, signal.SIGTERM), (1, signal.SIGINT), (2, signal.SIGINT)])
def test_fit_writes_nothing(good, tmp_path, jobs, sent):
    options = ("--model", "linear", "--repeats", "200", "--jobs", jobs)
    code, out, err = interrupt("Split 3 of", "fit", good, "--out", tmp_path / "m", *options, sent=sent)
    assert (code, out, err.strip().splitlines()[-1]) == (130, "", NOTHING)
    assert [path.name for path in tmp_path.iterdir()] == ["good.csv"]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_file_leaves_nothing(fitted, tmp_path, sent):
    (tmp_path / "new.csv").write_text(HEADER + "\n" + ("\n".join(rows(1000)) + "\n") * 1000)
    command = [sys.executable, "-m", "metricfit", "predict", fitted, "new.csv", "--out", "r.csv", "--probabilities"]
    with started(command, cwd=tmp_path) as process:
        wait_for(lambda: hidden(tmp_path) or process.poll() is not None)
        process.send_signal(sent)
        process.send_signal(sent)  # somebody who is in a hurry
        err = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, err.splitlines()[-1]) == (130, NOTHING)
    assert os.listdir(tmp_path) == ["new.csv"]
