"""The command around the reproductions."""

import os
import signal
import subprocess
import sys

from reproductions._command import COMMAND, STOPPED
from reproductions._experiment import names
from tests.cli.test_bad_input import check
from tests.processes import PATIENCE
from tests.reproductions.conftest import ROOT, start


def test_the_help_has_an_example():
    with start("--help") as process:
        out, err = process.communicate()
    assert out.startswith("Usage: python -m reproductions [OPTIONS] ")
    assert "Example: python -m reproductions exact-tabular --quick\n" in out
    assert err == ""


def test_help_imports_neither_torch_nor_anything_else_heavy():
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


def test_a_small_run(run, data):
    code, out, err = run("exact-tabular", "--quick", "--datasets", "wine", "--data", data)
    assert code == 0
    assert "| wine | 100.00 ± 0.00 |" in out
    assert "EXACT reaches the paper's training accuracy" in out
    assert "4 of 4: wine, EXACT\n" in err
    assert "exact-tabular-quick.csv, .md" in err


def test_the_list(run):
    code, out, _ = run("list")
    assert code == 0
    assert out.startswith("exact-tabular ")


def test_mistakes(run, tmp_path, monkeypatch):
    def offline(name):
        raise OSError(name)

    monkeypatch.setattr("reproductions._openml.fetch", offline)
    known = ", ".join(names())
    check(
        run("exact-tabula"),
        2,
        f"'exact-tabula' is not an experiment. Did you mean 'exact-tabular'? Experiments: {known}.",
        tmp_path,
        COMMAND,
    )
    code, _, err = run("exact-tabular", "--datasets", "wien")
    assert code == 2
    assert "--datasets 'wien' is not in exact-tabular. Did you mean 'wine'?" in err
    code, _, err = run("exact-tabular", "--datasets", "wine", "--data", "nowhere")
    assert code == 1
    assert "Data set 'wine' not found" in err
    assert "Traceback" not in err


def test_an_option_that_there_is_not_is_told_in_one_line(run):
    code, out, err = run("list", "--sets", "wine")
    assert (code, out) == (2, "")
    assert err.startswith(f"{COMMAND}: No such option: --sets")
    assert err.endswith(f"See `{COMMAND} --help`.\n")
    assert err.count("\n") == 1


def test_options_that_mean_nothing(run):
    code, _, err = run("leaky-mnist", "--search", "5")
    assert code == 2
    assert "--search does not apply to leaky-mnist" in err
    code, _, err = run("leaky-mnist", "--full")
    assert code == 2
    assert "--full does not apply to leaky-mnist" in err
    code, _, err = run("leaky-mnist", "--saved")
    assert code == 2
    assert "--saved does not apply to leaky-mnist: its tables need all cells." in err
    code, _, err = run("exact-integral", "--datasets", "wine")
    assert code == 2
    assert "--datasets does not apply to exact-integral: it has no data sets." in err


def test_a_set_named_twice_is_run_once(run, data):
    twice = ("--datasets", "wine", "--datasets", "wine")
    code, out, _ = run("exact-tabular", "--quick", *twice, "--data", data)
    assert code == 0
    assert out.count("| wine |") == 3  # train, test and row by row
