"""A user's mistake is one line on stderr: exit code 2 for usage and 1 for data, and nothing is left behind."""

import json
import os
import pickle
import shutil
import subprocess
import sys

import pytest

from metricfit._extras import MissingExtraError
from metricfit.cli import PACKAGES, _main
from tests.cli.conftest import HEADER, LINEAR, SHORT, check_error, rows
from tests.estimators.forged import seal

GOOD = [HEADER, *rows()]
REGRESSION = "(119 distinct values from 16.75 to 60.02), expected classes. Pass another column to --target, or bin the values into classes."
MODELS = "linear, boosting, extra_trees, mlp, ensemble"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, *["1,red,2024-01-01,sick"] * 2], "table.csv, column 'state' has only one class: 'sick'. At least two are needed."),
        ([], "table.csv is empty."),
        ([*GOOD, "1,red"], "table.csv, row 122 has 2 cells, expected 4 as in the first row."),
    ],
)  # fmt: skip
def test_data(run, table, tmp_path, lines, message):
    table(lines)
    check_error(run("fit", "table.csv", *SHORT, "--out", "model"), 1, message, tmp_path, ["table.csv"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("compare missing.csv", 2, "File missing.csv does not exist."),
        ("compare good.csv --target sate", 2, "--target 'sate' is not a column. Did you mean 'state'? Columns: age, colour, day, state."),
        ("compare good.csv --target 5", 2, "--target 5 is not a column. Columns are numbered from 1 to 4."),
        ("compare good.csv --target age", 1, f"good.csv, column 'age' looks like a regression target {REGRESSION}"),
        ("compare good.csv --drop color", 2, "--drop 'color' is not a column. Did you mean 'colour'? Columns: age, colour, day, state."),
        ("compare good.csv --drop state", 2, "--drop 'state' is the target. Pass another column to --target or to --drop."),
        ("compare good.csv --metric f1x", 2, "--metric 'f1x' is not a metric. Did you mean 'f1'? `metricfit metrics` lists them."),
        ("compare good.csv --positive sic", 2, "--positive 'sic' is not a class of the target. Did you mean 'sick'? Classes: sick, well."),
        ("compare good.csv --metric accuracy --positive sick", 2, "--positive does not apply to accuracy with 2 classes. It is for two classes and metrics such as f1."),
        ("compare good.csv --delimiter xx", 2, "--delimiter should be one ASCII character, or tab, space, whitespace, comma, semicolon or pipe; got 'xx'."),
        ("compare good.csv --models linear,bosting", 2, f"--models 'bosting' is not a model. Did you mean 'boosting'? Choose from {MODELS}."),
        ("compare good.csv --repeats few", 2, "Invalid value for '--repeats': expected a whole number. See `metricfit --help`."),
        ("compare good.csv --margin -1", 2, "Invalid value for '--margin': expected a number greater than or equal to 0. See `metricfit --help`."),
        ("compare good.csv --models linear --time-limit 60", 2, "--time-limit is for the ensemble: add it to --models, or leave the limit out."),
        ("fit good.csv --out m --model linear --time-limit 60", 2, "--time-limit is for the ensemble, not for --model linear. Leave one of them out."),
        ("compare good.csv --time-limit 0", 2, "--time-limit should be a positive number of seconds, got 0."),
        ("compare good.csv --models trivial", 2, f"--models 'trivial' is not a model. Choose from {MODELS}."),
        ("compare good.csv --models ,", 2, f"--models should name some of {MODELS}, got ','."),
        ("fit good.csv --out m --model lineal", 2, f"--model 'lineal' is not a model. Did you mean 'linear'? Choose from auto, {MODELS}."),
        ("fit good.csv --out m --method exact --model boosting", 2, "--method exact does not train --model boosting. Pass --model linear or --model mlp."),
        ("fit good.csv", 2, "Missing option '--out'. See `metricfit --help`."),
        ("fits good.csv", 2, "No such command 'fits'. Did you mean 'fit'? See `metricfit --help`."),
        ("fit good.csv --out other", 2, "other already exists. Choose another name or delete it first."),
        ("compare good.csv --report kept.html", 2, "kept.html already exists. Choose another name or pass --overwrite."),
        ("compare good.csv --report other --overwrite", 2, "other is a folder, expected a file name."),
        ("fit good.csv --out kept.html/m", 2, "kept.html/m cannot be written: kept.html is not a folder."),
        ("inspect none", 2, "Folder none does not exist."),
        ("inspect other", 1, "other is not a metricfit model: it has no model.json in it."),
        ("predict other good.csv", 1, "other is not a metricfit model: it has no model.json in it."),
        ("predict other good.csv --out p.xlsx", 2, "--out should end in .csv, .csv.gz or .parquet, got p.xlsx."),
    ],
)  # fmt: skip
def test_options(run, good, tmp_path, arguments, code, message):
    (tmp_path / "other").mkdir()
    (tmp_path / "kept.html").write_text("mine")
    check_error(run(*arguments.split(" ")), code, message, tmp_path, ["good.csv", "kept.html", "other"])
    assert (tmp_path / "kept.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--folds", "1"), "Invalid value for '--folds'"),
        (("--seed", "99999999999"), "Invalid value for '--seed'"),
        (("--delimiter", "é"), "--delimiter should be one ASCII character"),
        (("--methods", "exat"), "--methods 'exat' is not a method. Did you mean 'exact'? Choose from cross_entropy, "),
        (("--methods", ","), "--methods should name some of cross_entropy, threshold, "),
    ],
)
def test_options_are_checked_before_the_file_is_read(run, good, monkeypatch, options, message):
    def too_late(*_, **__):
        raise AssertionError("the table is read already")

    monkeypatch.setattr("metricfit.data.read_table", too_late)
    code, out, err = run("compare", good, *options)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["age,day,color", "1,,red"], "new.csv lacks column 'colour' that the model was fitted to. Did you mean 'color'?"),
        (["age,colour,day", "1,red,2024-01-01", "old,red,2024-01-01"], "new.csv, row 3, column 'age': 'old' is not a number."),
        ([], "new.csv is empty."),
    ],
)
def test_data_to_predict(run, fitted, table, tmp_path, lines, message):
    table(lines, "new.csv")
    for out in ((), ("--out", "p.csv")):
        check_error(run("predict", fitted, "new.csv", *out), 1, message, tmp_path, ["new.csv"])


class Harm:
    """Unpickled, it would leave a trace."""

    def __reduce__(self):
        return os.mkdir, ("harmed",)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.json", lambda whole: pickle.dumps(Harm())),
        ("arrays.safetensors", lambda whole: whole[: len(whole) // 2]),
        ("table.json", None),
        ("scores.json", lambda whole: pickle.dumps(Harm())),
    ],
)
def test_a_damaged_model(run, fitted, good, tmp_path, name, damage):
    """A pickle in place of a file, half of it, or nothing."""
    shutil.copytree(fitted, tmp_path / "model")
    file = tmp_path / "model" / name
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    commands = {"inspect": ("inspect", "model"), "predict": ("predict", "model", good, "--out", "p.csv")}
    if name == "scores.json":
        del commands["predict"]  # which does not read it
    for command in commands.values():
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert err.startswith("metricfit: model")
        assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["good.csv", "model"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table.json", {"columns": []}, "table.json has 0 columns, expected 3."),
        ("table.json", {"columns": [{"name": "age"}]}, "table.json is damaged: columns are missing or invalid."),
        ("model.json", {"classes": {"dtype": "<U4", "values": ["sick", "well", "dead"]}}, ""),
    ],
)
def test_a_model_whose_parts_do_not_fit(run, fitted, good, tmp_path, name, change, message):
    shutil.copytree(fitted, tmp_path / "model")
    file = tmp_path / "model" / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    seal(tmp_path / "model")
    code, out, err = run("predict", "model", good)
    assert (code, out) == (1, "")
    assert err.startswith("metricfit: model")
    assert err.endswith(f"{message}\n")
    assert err.count("\n") == 1


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MissingExtraError("this needs the package another: pip install 'metricfit[more]'"), None),
        (MemoryError(), _main.NO_MEMORY),
        (type("TerminatedWorkerError", (Exception,), {})("killed"), f"A process of --jobs was killed, perhaps because of its memory. {_main.NO_MEMORY}"),
    ],
)  # fmt: skip
def test_errors_that_are_not_the_users_mistake_but_no_bug(run, good, monkeypatch, tmp_path, error, message):
    monkeypatch.setattr("metricfit.comparison.compare", raising(error))
    check_error(run("compare", good, *LINEAR), 1, message or str(error), tmp_path)


def test_a_bug_keeps_its_traceback(run, good, monkeypatch):
    monkeypatch.setattr("metricfit.comparison.compare", raising(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("compare", good, *LINEAR)


def test_a_network_without_its_packages(run, good, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    message = "{} mlp needs the package lightning_fabric: pip install 'metricfit[train]'"
    check_error(run("compare", good, "--models", "linear,mlp"), 1, message.format("--models"), tmp_path)
    check_error(run("fit", good, "--out", "model", "--model", "mlp"), 1, message.format("--model"), tmp_path)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_of_the_extra_is_one_line(package):
    code = f"import sys; sys.modules[{package!r}] = None; from metricfit.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    line = f"metricfit: the command line needs the package {package}: pip install 'metricfit[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)
