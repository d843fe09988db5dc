"""Small files of every kind, and the command run as a user runs it, in this process."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from metricfit.cli import app, run_app

HEADER = "age,colour,day,state"
NEW = ["id,age,colour,day", "007,44,red,2024-05-01", "008,20,blue,2024-05-02", "009,70,red,2024-05-03"]
SHORT = ("--repeats", "1", "--folds", "2")
LINEAR = ("--models", "linear", "--methods", "threshold", *SHORT)


def rows(n=120, seed=0):
    """Age, colour, day, and a class that hangs on the first two."""
    random = np.random.default_rng(seed)
    age, colour = random.normal(40, 10, n), random.choice(["red", "green", "blue"], n)
    sick = age + 8.0 * (colour == "red") + random.normal(0, 6, n) > 50
    days = np.datetime64("2024-01-01") + np.arange(n)
    return [f"{a:.2f},{c},{d},{'sick' if s else 'well'}" for a, c, d, s in zip(age, colour, days, sick, strict=True)]


def hidden(folder):
    """Temporary files that were left behind."""
    return [path.name for path in Path(folder).rglob(".*")]


def check_error(found, code, message, folder, files=None):
    """The exit code, the last line of stderr, and a folder with these files alone and without temporary ones."""
    assert found[:2] == (code, "")
    assert found[2].strip().splitlines()[-1] == f"metricfit: {message}"
    assert hidden(folder) == []
    assert files is None or sorted(path.name for path in folder.iterdir()) == sorted(files)


@pytest.fixture
def table(tmp_path):
    """A function that writes a file and returns its path."""

    def write(lines, name="table.csv"):
        path = tmp_path / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    return write


@pytest.fixture
def good(table):
    return table([HEADER, *rows()], "good.csv")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Exit code, stdout and stderr of ``metricfit ...``, in an empty folder; ``run.ok`` needs success and has no code."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["metricfit", *map(str, arguments)])
        capsys.readouterr()
        code = run_app(app, "metricfit")
        out, err = capsys.readouterr()
        return code, out, err

    def ok(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out, err

    call.ok = ok
    return call


@pytest.fixture
def feed(monkeypatch):
    """A function that puts text on stdin."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A model of the good table, written by the command itself."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "good.csv").write_text("\n".join([HEADER, *rows()]) + "\n")
    options = ("--out", folder / "model", "--model", "linear", "--repeats", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["metricfit", "fit", *map(str, (folder / "good.csv", *options))])
        assert run_app(app, "metricfit") == 0
    return folder / "model"
