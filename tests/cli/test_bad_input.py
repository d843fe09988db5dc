"""Every mistake that was thought of: one line on stderr, exit code 2 for usage and 1 for data, nothing left behind."""

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys

import pytest

from metricfit import _files
from metricfit._extras import MissingExtraError
from metricfit.cli import PACKAGES
from tests.cli.conftest import HEADER, rows
from tests.estimators.forged import seal

SHORT = ("--repeats", "1", "--folds", "2")
LINEAR = ("--models", "linear", *SHORT)


def check(found, code, message, folder, command="metricfit"):
    """The last line of stderr, the code, and a folder in which nothing is half-written."""
    assert found[0] == code
    assert found[1] == ""
    assert found[2].strip().splitlines()[-1] == f"{command}: {message}"
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("command", ["compare", "fit"])
@pytest.mark.parametrize(
    ("lines", "options", "code", "message"),
    [
        (None, (), 2, "File table.csv does not exist."),
        (
            [HEADER, *rows()],
            ("--target", "sate"),
            2,
            "--target 'sate' is not a column. Did you mean 'state'? Columns: age, colour, day, state.",
        ),
        ([HEADER, *rows()], ("--target", "5"), 2, "--target 5 is not a column. Columns are numbered from 1 to 4."),
        (
            [HEADER, *rows()],
            ("--drop", "color"),
            2,
            "--drop 'color' is not a column. Did you mean 'colour'? Columns: age, colour, day, state.",
        ),
        (
            [HEADER, *rows()],
            ("--drop", "state"),
            2,
            "--drop 'state' is the target. Pass another column to --target or to --drop.",
        ),
        (
            [HEADER, *rows()],
            ("--metric", "f1x"),
            2,
            "--metric 'f1x' is not a metric. Did you mean 'f1'? `metricfit metrics` lists them.",
        ),
        (
            [HEADER, *rows()],
            ("--positive", "sic"),
            2,
            "--positive 'sic' is not a class of the target. Did you mean 'sick'? Classes: sick, well.",
        ),
        (
            [HEADER, *rows()],
            ("--delimiter", "xx"),
            2,
            "--delimiter should be one ASCII character, or tab, space, whitespace, comma, semicolon or pipe; got 'xx'.",
        ),
        (
            [HEADER, "1,red,2024-01-01,sick", "2,red,2024-01-01,sick"],
            (),
            1,
            "table.csv, column 'state' has only one class: 'sick'. At least two are needed.",
        ),
        (
            [HEADER, *rows(), "1,red,2024-01-01,dead"],
            (),
            1,
            "table.csv, column 'state': class 'dead' has one row; cross-validation needs two. Add rows, remove the class, or pass --merge-rare 37 to join all classes with fewer than 37 rows.",
        ),
        (
            [HEADER, *rows()],
            ("--target", "age"),
            1,
            "table.csv, column 'age' looks like a regression target (119 distinct values from 16.75 to 60.02), expected classes. Pass another column to --target, or bin the values into classes.",
        ),
        ([], (), 1, "table.csv is empty."),
        ([HEADER], (), 1, "table.csv has a header but no rows."),
        ([HEADER, *rows(), "1,red"], (), 1, "table.csv, row 122 has 2 cells, expected 4 as in the first row."),
        (["state", "sick", "well"], (), 1, "table.csv has no columns except the target 'state'."),
    ],
)
def test_data_and_options(run, table, tmp_path, command, lines, options, code, message):
    if lines is not None:
        table(lines)
    found = run(
        command, "table.csv", *options, *SHORT, *(("--out", "model") if command == "fit" else ("--report", "page.html"))
    )
    check(found, code, message, tmp_path)
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "page.html").exists()


def test_an_output_that_exists(run, good, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "page.html").write_text("mine")
    check(run("fit", good, "--out", "model"), 2, "model exists already. Choose another name or delete it first.", tmp_path)
    check(
        run("compare", good, "--report", "page.html"),
        2,
        "page.html exists already. Choose another name or pass --overwrite.",
        tmp_path,
    )
    assert (tmp_path / "page.html").read_text() == "mine"


def test_an_output_that_cannot_be_overwritten(run, good, fitted, tmp_path):
    (tmp_path / "folder").mkdir()
    message = "folder is a folder, expected a file name."
    check(run("compare", good, "--report", "folder", "--overwrite"), 2, message, tmp_path)
    check(
        run("predict", fitted, good, "--out", "p.xlsx"),
        2,
        "--out should end in .csv, .csv.gz or .parquet, got p.xlsx.",
        tmp_path,
    )


def test_a_positive_class_where_there_is_none(run, good, tmp_path):
    message = "--positive does not apply to accuracy with 2 classes. It is for two classes and metrics such as f1."
    check(run("compare", good, "--metric", "accuracy", "--positive", "sick"), 2, message, tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("linear,bosting", "--models 'bosting' is not a model. Did you mean 'boosting'? Choose from {}."),
        ("trivial", "--models 'trivial' is not a model. Choose from {}."),
        (",", "--models should name some of {}, got ','."),
    ],
)
def test_models_that_nobody_knows(run, good, tmp_path, given, message):
    known = "linear, boosting, extra_trees, mlp, ensemble"
    check(run("compare", good, "--models", given), 2, message.format(known), tmp_path)
    message = f"--model 'lineal' is not a model. Did you mean 'linear'? Choose from auto, {known}."
    check(run("fit", good, "--out", "model", "--model", "lineal"), 2, message, tmp_path)


def test_a_network_without_its_packages(run, good, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    message = "{} mlp needs the package lightning_fabric: pip install 'metricfit[train]'"
    check(run("compare", good, "--models", "linear,mlp"), 1, message.format("--models"), tmp_path)
    check(run("fit", good, "--out", "model", "--model", "mlp"), 1, message.format("--model"), tmp_path)


def test_usage_that_typer_sees(run, good, tmp_path):
    check(run("fit", good), 2, "Missing option '--out'. See `metricfit --help`.", tmp_path)
    check(run("fits", good), 2, "No such command 'fits'. Did you mean 'fit'? See `metricfit --help`.", tmp_path)
    assert run("compare", good, "--folds", "1")[0] == 2
    assert run("compare", good, "--folds", "many")[0] == 2
    assert run("compare", good, "--seed", "99999999999")[0] == 2
    for delimiter in ("é", "\n", '"'):
        assert run("compare", good, "--delimiter", delimiter)[0] == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["age,day", "1,2024-01-01"], "new.csv lacks column 'colour' that the model was fitted to."),
        (
            ["age,day,color", "1,2024-01-01,red"],
            "new.csv lacks column 'colour' that the model was fitted to. Did you mean 'color'?",
        ),
        (["years", "1"], "new.csv lacks 3 columns (age, colour, day) that the model was fitted to."),
        (["age,colour,day", "1,red,2024-01-01", "old,red,2024-01-01"], "new.csv, row 3, column 'age': 'old' is not a number."),
        (["age,colour,day", "1e300,red,2024-01-01"], "new.csv, row 2, column 'age': 1e+300 is too large (maximum 1e+100)."),
        (["age,colour,day", "1,red,soon"], "new.csv, row 2, column 'day': 'soon' is not a date."),
        (["age,colour,day", "1,red"], "new.csv, row 2 has 2 cells, expected 3 as in the first row."),
        ([], "new.csv is empty."),
    ],
)
def test_data_to_predict(run, fitted, table, tmp_path, lines, message):
    table(lines, "new.csv")
    check(run("predict", fitted, "new.csv", "--out", "p.csv"), 1, message, tmp_path)
    assert not (tmp_path / "p.csv").exists()


def test_no_model(run, good, tmp_path):
    (tmp_path / "other").mkdir()
    for command in (("predict", "other", good), ("inspect", "other")):
        check(run(*command), 1, "other holds no metricfit model: there is no model.json in it.", tmp_path)
    check(run("inspect", "none"), 2, "Folder none does not exist.", tmp_path)


FILES = ["model.json", "arrays.safetensors", "table.json"]


class Harm:
    """Unpickled, it would leave a trace."""

    def __reduce__(self):
        return os.mkdir, ("harmed",)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [pickle.dumps(Harm()), b"", None])
def test_a_model_with_a_foreign_file(run, fitted, good, tmp_path, name, content):
    """A pickle, an empty file, half of what was there."""
    shutil.copytree(fitted, tmp_path / "model")
    whole = (tmp_path / "model" / name).read_bytes()
    (tmp_path / "model" / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    for command in (("predict", "model", good, "--out", "p.csv"), ("inspect", "model")):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert err.startswith("metricfit: model")
        assert err.count("\n") == 1
    assert not (tmp_path / "harmed").exists()
    assert not (tmp_path / "p.csv").exists()


def test_a_pickle_in_place_of_the_scores_is_refused_too(run, fitted, tmp_path):
    shutil.copytree(fitted, tmp_path / "model")
    (tmp_path / "model" / "scores.json").write_bytes(pickle.dumps(Harm()))
    assert run("inspect", "model")[0] == 1
    assert not (tmp_path / "harmed").exists()


def test_a_model_with_a_missing_file(run, fitted, good, tmp_path):
    shutil.copytree(fitted, tmp_path / "model")
    (tmp_path / "model" / "arrays.safetensors").unlink()
    code, _, err = run("predict", "model", good)
    assert code == 1
    assert err.startswith("metricfit: model holds a damaged model: ")


def test_columns_that_are_not_those_of_the_model(run, fitted, good, tmp_path):
    shutil.copytree(fitted, tmp_path / "model")
    found = json.loads((tmp_path / "model" / "table.json").read_text())
    found["columns"].pop()
    (tmp_path / "model" / "table.json").write_text(json.dumps(found))
    check(
        run("predict", "model", good), 1, "model holds a damaged model: table.json is not the file that was saved.", tmp_path
    )
    seal(tmp_path / "model")
    message = "model holds a damaged model: table.json has 2 columns, expected 3."
    check(run("predict", "model", good), 1, message, tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("scores.json", {"results": [1]}),
        ("model.json", {"candidates": [1]}),
        ("model.json", {"candidates": [{}]}),
        ("model.json", {"method": 5}),
        ("model.json", {"torch": None}),
        ("model.json", {"temperature": None}),
        ("model.json", {"temperature": "x"}),
        ("model.json", {"temperature": -1.0}),
        ("model.json", {"classes": {"dtype": "<U4", "values": ["sick", "well", "dead"]}}),
        ("model.json", {"preprocessor": False}),
        ("model.json", {"feature_names_in": ["a", "b", "c"]}),
        ("model.json", {"n_inputs": 7}),
        ("table.json", {"columns": []}),
    ],
)
def test_a_model_whose_parts_do_not_fit(run, fitted, good, tmp_path, name, change):
    shutil.copytree(fitted, tmp_path / "model")
    file = tmp_path / "model" / name
    found = {**json.loads(file.read_text()), **change}
    file.write_text(json.dumps({key: value for key, value in found.items() if key != "torch" or value is not None}))
    seal(tmp_path / "model")
    codes = []
    for command in (("predict", "model", good), ("inspect", "model")):
        code, _, err = run(*command)
        codes.append(code)
        assert code in (0, 1)
        assert code == 0 or (err.startswith("metricfit: ") and err.count("\n") == 1)
    assert 1 in codes


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for 16 KiB; only root may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_a_full_disk(run, good, fitted, small_disk):
    found = run("fit", good, "--out", small_disk / "model", "--model", "linear", *SHORT)
    check(found, 1, f"The disk is full: {small_disk / 'model'} was not written.", small_disk)
    found = run("compare", good, "--report", small_disk / "page.html", *LINEAR)
    check(found, 1, f"The disk is full: {small_disk / 'page.html'} was not written.", small_disk)
    (small_disk.parent / "long.csv").write_text("\n".join([HEADER, *rows(2000)]) + "\n")
    found = run("predict", fitted, small_disk.parent / "long.csv", "--out", small_disk / "p.csv", "--probabilities")
    check(found, 1, f"The disk is full: {small_disk / 'p.csv'} was not written.", small_disk)
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_whatever_a_library_calls_it(tmp_path):
    """As safetensors does it, for machines on which no small disk can be made."""

    def half(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("I/O error: No space left on device (os error 28)")

    with pytest.raises(OSError, match="No space left") as caught, _files.new_folder(tmp_path / "model") as beside:
        half(beside)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_into(run, good, tmp_path):
    (tmp_path / "file").write_text("in the way")
    check(run("fit", good, "--out", "file/model"), 2, "file/model cannot be written: file is not a folder.", tmp_path)
    check(
        run("compare", good, "--report", "file/page.html"),
        2,
        "file/page.html cannot be written: file is not a folder.",
        tmp_path,
    )


def test_a_bug_keeps_its_traceback(good):
    """Only a user's mistake is told in one line."""
    code = (
        "import sys; from metricfit.cli import _options, main\n"
        "def broken(*_): raise ZeroDivisionError('a bug')\n"
        "_options.check_metric = broken\n"
        f"sys.argv = ['metricfit', 'compare', {str(good)!r}]; main()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "ZeroDivisionError: a bug" in found.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_of_the_extra_is_one_line(package):
    code = f"import sys; sys.modules[{package!r}] = None; from metricfit.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    line = f"metricfit: the command line needs the package {package}: pip install 'metricfit[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


def test_an_extra_that_a_command_misses_on_its_way_is_one_line(run, monkeypatch, good, tmp_path):
    def needs_more(*_, **__):
        raise MissingExtraError("this needs the package another: pip install 'metricfit[more]'")

    monkeypatch.setattr("metricfit.data.layout_of", needs_more)
    check(run("compare", good), 1, "this needs the package another: pip install 'metricfit[more]'", tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("exat", "--methods 'exat' is not a method. Did you mean 'exact'? Choose from cross_entropy, threshold, hinge, "),
        (",", "--methods should name some of cross_entropy, threshold, hinge, "),
    ],
)
def test_methods_are_checked_before_the_file_is_read(run, tmp_path, given, message):
    code, out, err = run("compare", tmp_path / "missing.csv", "--methods", given)
    assert (code, out) == (2, "")
    assert err.startswith(f"metricfit: {message}")
