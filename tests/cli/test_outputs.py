"""Outputs: what somebody else wrote stays, what cannot be written is noticed before the work, what is cut short says so."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metricfit import _files
from metricfit.cli import _run
from metricfit.data import _raw as reading
from tests.cli.conftest import HEADER, rows
from tests.cli.test_bad_input import LINEAR, SHORT, check
from tests.processes import PATIENCE, started

NEW = ["id,age,colour,day", "007,44,red,2024-05-01", "008,20,blue,2024-05-02", "009,70,red,2024-05-03"]


def hidden(folder):
    return [path.name for path in folder.rglob(".*")]


def test_a_file_that_somebody_writes_meanwhile_stays(tmp_path):
    file = tmp_path / "r.csv"
    with pytest.raises(FileExistsError, match="was written by somebody else meanwhile"), _files.new_file(file):
        file.write_text("theirs")
    assert file.read_text() == "theirs"
    assert hidden(tmp_path) == []
    with _files.new_file(file, overwrite=True) as mine:
        mine.write_text("mine")
    assert file.read_text() == "mine"


def test_it_stays_also_where_there_are_no_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    file = tmp_path / "r.csv"
    with _files.new_file(file) as mine:
        mine.write_text("mine")
    assert file.read_text() == "mine"
    other = tmp_path / "s.csv"
    with pytest.raises(FileExistsError, match="somebody else"), _files.new_file(other):
        other.write_text("theirs")
    assert other.read_text() == "theirs"
    assert hidden(tmp_path) == []


def test_a_folder_that_somebody_writes_meanwhile_stays(tmp_path):
    folder = tmp_path / "model"

    def theirs():
        folder.mkdir()
        (folder / "a").write_text("theirs")

    with pytest.raises(FileExistsError, match="was written by somebody else meanwhile"), _files.new_folder(folder):
        theirs()
    assert (folder / "a").read_text() == "theirs"
    assert hidden(tmp_path) == []


def test_of_two_predictions_at_once_one_fails(fitted, tmp_path):
    (tmp_path / "new.csv").write_text("\n".join([HEADER, *rows(2000)]) + "\n")
    command = [sys.executable, "-m", "metricfit", "predict", fitted, "new.csv", "--out", "r.csv"]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = sorted((process.communicate()[1].splitlines()[-1], process.returncode) for process in both)
    assert [code for _, code in ends] in ([0, 2], [2, 0])
    assert sum("exists already" in line or "somebody else meanwhile" in line for line, _ in ends) == 1
    assert (tmp_path / "r.csv").read_text().count("\n") == 2001
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("command", ["fit", "compare", "predict"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("link", "link is a link to nowhere, which does not exist. Choose another name."),
        ("/proc/x.csv", "/proc/x.csv cannot be written: No such file or directory in /proc."),
        ("x" * 300, f"{'x' * 300}: File name too long."),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_the_work(run, good, fitted, tmp_path, monkeypatch, command, name, message):
    def too_late(*_, **__):
        raise AssertionError("the file is read already")

    monkeypatch.setattr("metricfit.data.layout_of", too_late)
    (tmp_path / "link").symlink_to("nowhere")
    given = {"fit": (good, "--out"), "compare": (good, "--report"), "predict": (fitted, good, "--out")}[command]
    code, out, err = run(command, *given, name)
    assert (code in (1, 2), out) == (True, "")
    assert err == f"metricfit: {message}\n"
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_without_the_right_to_write_is_refused_before_the_work(good, fitted, tmp_path):
    """As a user who is not root, who may write everywhere."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    code = f"""
import os, sys
from pathlib import Path
from metricfit._files import check_free
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    check_free(Path({str(folder / "r.csv")!r}))
except OSError as error:
    print(error)
"""
    for parent in (tmp_path, *tmp_path.parents[:2]):  # pytest's own folders are closed to others
        parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if "cannot be written" not in done.stdout:
        pytest.skip(f"no way to be another user here: {done.stderr[-200:]}")
    assert done.stdout == f"{folder / 'r.csv'} cannot be written: Permission denied in {folder}.\n"


def test_a_name_as_long_as_the_file_system_takes_can_be_written(tmp_path):
    file, folder = tmp_path / ("x" * 251 + ".csv"), tmp_path / ("y" * 255)
    with _files.new_file(file) as beside:
        beside.write_text("x")
    with _files.new_folder(folder) as beside:
        (beside / "a").write_text("y")
    assert file.exists()
    assert folder.exists()


def test_a_check_leaves_nothing(tmp_path):
    _files.check_free(tmp_path / "a" / "b" / "r.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EFBIG, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_no_more_whatever_a_library_calls_it(tmp_path, code):
    with pytest.raises(OSError, match="model") as caught, _files.new_folder(tmp_path / "model"):
        raise RuntimeError(f"I/O error: {os.strerror(code)} (os error {code})")
    assert caught.value.errno == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_file_leaves_nothing(fitted, tmp_path, sent):
    (tmp_path / "new.csv").write_text(HEADER + "\n" + ("\n".join(rows(1000)) + "\n") * 1000)
    command = [sys.executable, "-m", "metricfit", "predict", fitted, "new.csv", "--out", "r.csv", "--probabilities"]
    with started(command, cwd=tmp_path) as process:
        while not hidden(tmp_path):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sent)
        process.send_signal(sent)  # somebody who is in a hurry
        err = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert err.splitlines()[-1] == "metricfit: Interrupted; nothing was written."
    assert os.listdir(tmp_path) == ["new.csv"]


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
    assert sorted(os.listdir(tmp_path)) == ["new.csv"]


def test_a_prediction_that_fails_at_once_sends_nothing(run, fitted, table):
    new = table([NEW[0], "1,old,red,2024-05-01"], "new.csv")
    code, out, err = run("predict", fitted, new)
    assert (code, out) == (1, "")
    assert "incomplete" not in err


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


def test_too_little_memory_is_one_line(run, good, monkeypatch, tmp_path):
    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("metricfit.data.read_table", too_much)
    check(run("compare", good), 1, _run.NO_MEMORY, tmp_path)


def test_a_worker_that_is_killed_is_one_line(run, good, monkeypatch, tmp_path):
    class TerminatedWorkerError(Exception):
        pass

    def killed(*_, **__):
        raise TerminatedWorkerError("a worker process was killed by the operating system")

    monkeypatch.setattr("metricfit.comparison.compare", killed)
    message = f"A process of --jobs was ended from outside, perhaps for its memory. {_run.NO_MEMORY}"
    check(run("compare", good, *LINEAR), 1, message, tmp_path)


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def test_a_terminal_that_knows_ascii_only(tmp_path):
    """Labels, columns, a file name and the report's name that ASCII lacks; the outputs are UTF-8 all the same."""
    lines = [line.replace("sick", "schön ±").replace("red", "röd") for line in rows()]
    (tmp_path / "données.csv").write_text("\n".join([HEADER.replace("age", "âge"), *lines]) + "\n", encoding="utf-8")

    def metricfit(*given):
        command = [sys.executable, "-m", "metricfit", *given]
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, **ASCII}, capture_output=True, check=False)

    done = metricfit("fit", "données.csv", "--out", "modèle", "--model", "linear", *SHORT)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stderr.isascii()
    assert b"sch\\xf6n \\xb1" in done.stderr
    assert metricfit("inspect", "modèle").returncode == 0
    done = metricfit("predict", "modèle", "données.csv")
    assert done.returncode == 0
    assert "schön ±" in done.stdout.decode("utf-8")
    done = metricfit("predict", "modèle", "nirgends é.csv")
    assert done.returncode == 2
    assert done.stderr.startswith(b"metricfit: File nirgends \\")
    assert done.stderr.isascii()


def test_a_file_name_that_is_no_text(run, good, tmp_path):
    name = os.fsdecode(b"\xff.csv")
    good.rename(tmp_path / name)
    code, _, err = run("compare", name, "--report", "r.html", *LINEAR)
    assert code == 0, err
    assert "\\xff.csv" in (tmp_path / "r.html").read_text(encoding="utf-8")


FORMULAS = [
    "id,age,colour,day",
    "=1+1,44,red,2024-05-01",
    "-1.5,20,blue,2024-05-02",
    "@x,70,red,2024-05-03",
    "-5 %,1,red,2024-05-03",
]


def test_cells_that_are_formulas_are_told_or_made_harmless(run, fitted, table):
    new = table(FORMULAS, "new.csv")
    code, out, err = run("predict", fitted, new, "--keep", "id")
    assert code == 0
    assert err == "A spreadsheet may run '=1+1' in the output as a formula. --safe-csv writes a ' before it.\n"
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ['"=1+1"', '"-1.5"', '"@x"', '"-5 %"']
    code, out, err = run("predict", fitted, new, "--keep", "id", "--safe-csv")
    assert (code, err) == (0, "")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ['"\'=1+1"', '"-1.5"', '"\'@x"', '"-5 %"']
    code, _, err = run("predict", fitted, new, "--safe-csv", "--out", "r.parquet")
    assert (code, err) == (2, "metricfit: --safe-csv is for CSV files, got --out r.parquet.\n")


def test_a_label_and_a_name_that_are_formulas(run, table):
    lines = [line.replace("sick", "=cmd|' /C calc'!A0").replace("well", "+49") for line in rows()]
    good = table([HEADER.replace("age", "=age"), *lines], "good.csv")
    assert run("fit", good, "--out", "model", "--model", "linear", *SHORT)[0] == 0
    code, out, err = run("predict", "model", good, "--keep", "=age")
    assert code == 0
    assert "--safe-csv" in err
    code, out, err = run("predict", "model", good, "--keep", "=age", "--safe-csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == '"\'=age","prediction"'
    assert {line.split(",", 1)[1] for line in out.splitlines()[1:]} == {"\"'=cmd|' /C calc'!A0\"", '"+49"'}


def test_safe_csv_says_it_in_the_help(run):
    assert "--safe-csv" in run("predict", "--help")[1]


def test_a_number_that_overflows_in_the_model_names_row_and_column(run, good, table, tmp_path):
    assert run("fit", good, "--out", "model", "--model", "mlp", *SHORT)[0] == 0
    new = table([*NEW[:2], "1,1e50,red,2024-05-01", *NEW[2:]], "new.csv")
    code, out, err = run("predict", "model", new, "--probabilities")
    assert (code, out) == (1, "")
    assert err.startswith(f"metricfit: {new}, row 3, column 'age' is too far from the rows of the fit (")
    assert err.count("\n") == 1
    code, out, err = run("predict", "model", new, "--probabilities", "--keep", "id", "--on-error", "skip")
    assert code == 0
    assert [line.count(",,") for line in out.splitlines()] == [0, 0, 1, 0, 0]
    assert "nan" not in out.lower()
    assert "row 3, column 'age' is too far" in err
