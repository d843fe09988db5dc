"""The command around the reproductions."""

import os
import signal
import subprocess
import sys

import pytest

from reproductions._command import COMMAND, STOPPED
from reproductions._experiment import names
from tests.processes import PATIENCE
from tests.reproductions.conftest import ROOT, start


def test_help_has_an_example_and_imports_nothing_heavy(run):
    assert "Example: python -m reproductions exact-tabular --quick\n" in run("--help")[1]
    code = "import sys, reproductions._command; print([m for m in ('torch', 'numpy', 'scipy', 'sklearn', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_interrupted_it_says_what_is_kept(data, tmp_path):
    """With two processes, which have to find the package too."""
    arguments = ("exact-tabular", "--datasets", "wine", "--data", data, "--out", tmp_path, "--jobs", 2)
    with start(*arguments) as process:
        assert process.stderr.readline().startswith("1 of ")  # a cell has ended
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == f"{COMMAND}: {STOPPED}"
    assert [path.name for path in tmp_path.iterdir()] == [".exact-tabular-cells2"]


def test_a_small_run_of_a_set_that_is_named_twice(run, data):
    assert run("list")[1].split()[0] == "exact-tabular"
    code, out, err = run("exact-tabular", "--quick", "--datasets", "wine", "--datasets", "wine", "--data", data)
    assert code == 0
    assert out.count("| wine |") == 3  # train, test and row by row
    assert "4 of 4: wine, EXACT\n" in err
    assert "exact-tabular-quick.csv, .md" in err
    assert out.split("\n\n")[1].startswith("**This run is shortened by `--quick`")
    assert "| quick | quick: no verdict |" in out
    assert "| full |" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["exact-tabula"],
            f"'exact-tabula' is not an experiment. Did you mean 'exact-tabular'? Experiments: {', '.join(names())}.",
        ),
        (
            ["exact-tabular", "--datasets", "wien"],
            "--datasets 'wien' is not in exact-tabular. Did you mean 'wine'? Data sets: ",
        ),
        (["leaky-mnist", "--search", "5"], "--search does not apply to leaky-mnist"),
        (["leaky-mnist", "--full"], "--full does not apply to leaky-mnist"),
        (["leaky-mnist", "--saved"], "--saved does not apply to leaky-mnist: its tables need all cells."),
        (["exact-vision", "--full", "--quick"], "--full and --quick cannot be combined"),
        (["exact-integral", "--datasets", "wine"], "--datasets does not apply to exact-integral: it has no data sets."),
        (["list", "--sets", "wine"], "No such option: --sets"),
    ],
)
def test_mistakes_are_reported_in_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"{COMMAND}: {message}")
    assert err.count("\n") == 1
