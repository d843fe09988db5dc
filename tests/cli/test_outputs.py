"""Outputs: what cannot be written is noticed before the work, a failure leaves nothing, what is cut short says so."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import csv

from metricfit import _files
from metricfit.data import _read as reading
from tests.cli.conftest import HEADER, LINEAR, NEW, SHORT, hidden, rows

COMMANDS = ("fit", "compare", "predict")


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        *((one, "/proc/x.csv", "/proc/x.csv cannot be written: No such file or directory in /proc.") for one in COMMANDS),
        ("fit", "x" * 300, f"{'x' * 300}: File name too long."),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_the_work(run, good, fitted, monkeypatch, command, name, message):
    def too_late(*_, **__):
        raise AssertionError("the file is read already")

    monkeypatch.setattr("metricfit.data.layout_of", too_late)
    given = {"fit": (good, "--out"), "compare": (good, "--report"), "predict": (fitted, good, "--out")}[command]
    assert run(command, *given, name) == (1, "", f"metricfit: {message}\n")


def test_a_check_leaves_nothing(tmp_path):
    _files.check_free(tmp_path / "a" / "b" / "r.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("new", [_files.new_file, _files.new_folder])
def test_a_failure_leaves_nothing(tmp_path, new):
    with pytest.raises(RuntimeError, match="a bug"), new(tmp_path / "out"):
        raise RuntimeError("a bug")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_whatever_a_library_calls_it(tmp_path, code):
    with pytest.raises(OSError, match="model") as caught, _files.new_folder(tmp_path / "model") as folder:
        raise RuntimeError(f"{folder}: I/O error: {os.strerror(code)} (os error {code})")
    assert caught.value.errno == code
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_the_file_system_takes(tmp_path):
    file, folder = tmp_path / ("x" * 251 + ".csv"), tmp_path / ("y" * 255)
    with _files.new_file(file) as beside:
        beside.write_text("x")
    with _files.new_folder(folder) as beside:
        (beside / "a").write_text("y")
    assert file.exists()
    assert folder.exists()


def test_overwriting_goes_through_links_and_into_pipes(run, fitted, good, tmp_path):
    (tmp_path / "kept.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("kept.csv")
    assert run("predict", fitted, good, "--out", "link.csv", "--overwrite")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert csv.read_csv("kept.csv").num_rows == 120
    assert run("predict", fitted, good, "--out", "/dev/null", "--overwrite")[0] == 0
    assert not os.path.isfile("/dev/null")


def test_a_prediction_that_fails_late_says_how_far_stdout_goes(run, fitted, table, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 200)
    new = table([NEW[0], *(NEW[1:] * 20), "1,old,red,2024-05-01"], "new.csv")
    code, out, err = run("predict", fitted, new)
    n_rows = out.count("\n") - 1
    assert code == 1
    assert 0 < n_rows < 60
    message = f"'old' is not a number. The output on stdout is incomplete: it ends after {n_rows} rows."
    assert err == f"metricfit: {new}, row 62, column 'age': {message}\n"
    code, _, err = run("predict", fitted, new, "--out", "r.csv")
    assert code == 1
    assert "incomplete" not in err
    assert (os.listdir(tmp_path), hidden(tmp_path)) == (["new.csv"], [])


@pytest.mark.parametrize("command", ["predict", "metrics"])
def test_a_full_stdout_is_one_line(fitted, good, command):
    given = {"predict": (fitted, good), "metrics": ()}[command]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "metricfit", command, *given], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "metricfit: The disk is full: the output was not written."
    assert "Exception" not in done.stderr


def test_a_terminal_that_knows_ascii_only(tmp_path):
    """Labels, columns and file names that ASCII lacks; the outputs are UTF-8 all the same."""
    lines = [line.replace("sick", "schön ±").replace("red", "röd") for line in rows()]
    (tmp_path / "données.csv").write_text("\n".join([HEADER.replace("age", "âge"), *lines]) + "\n", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}

    def metricfit(*given):
        command = [sys.executable, "-m", "metricfit", *given]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)

    done = metricfit("fit", "données.csv", "--out", "modèle", "--model", "linear", *SHORT)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stderr.isascii()
    assert b"sch\\xf6n \\xb1" in done.stderr
    done = metricfit("predict", "modèle", "données.csv")
    assert done.returncode == 0
    assert "schön ±" in done.stdout.decode("utf-8")


def test_a_file_name_that_is_not_text(run, good, tmp_path):
    name = os.fsdecode(b"\xff.csv")
    good.rename(tmp_path / name)
    run.ok("compare", name, "--report", "r.html", *LINEAR)
    assert "\\xff.csv" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_control_characters_of_a_file_are_not_printed(run, fitted, table):
    new = table([NEW[0], "1,\x1b[2J\u202e,red,2024-05-01", *NEW[1:]], "new.csv")
    assert "'\\x1b[2J\\u202e' is not a number." in run("predict", fitted, new)[2]
    assert "\\x1b]0;title\\x07" in run("predict", fitted, new, "--keep", "\x1b]0;title\x07")[2]


def test_a_signal_as_soon_as_the_temporary_file_is_there_leaves_nothing(tmp_path, monkeypatch):
    def create(path, *_, **__):
        path.write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "touch", create)
    with pytest.raises(KeyboardInterrupt), _files.new_file(tmp_path / "r.csv"):
        pass
    assert list(tmp_path.iterdir()) == []
