"""``metricfit fit`` of several files."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    for place, n in enumerate((60, 1, 90)):
        features = random.normal(size=(n, 2))
        labels = np.where(features[:, 0] + random.normal(size=n) > 1.0, "yes", "no")
        parquet.write_table(
            pa.table({"a": features[:, 0], "b": features[:, 1], "answer": labels}), tmp_path / f"part-{place}.parquet"
        )
    return tmp_path


@pytest.mark.parametrize("given", [["part-*.parquet"], ["part-0.parquet", "part-2.parquet"], ["part-2.parquet", "--stream"]])
def test_files_are_read_in_parts(run, files, given):
    names = [str(files / one) if one.startswith("part") else one for one in given]
    out, err = run("fit", *names, "--target", "answer", "--out", str(files / "model"), "--json")[1:]
    found = json.loads(out)
    assert found["learner"] == "linear"
    assert "The model is linear" in found["notes"][-1]
    assert "16 of 16: done, f1" in err
    assert "The positive class for f1 is 'yes'" in err
    code, out, _ = run("predict", str(files / "model"), str(files / "part-2.parquet"))
    assert (code, len(out.splitlines())) == (0, 91)


def test_trees_are_fitted_and_predict(run, files):
    code, out, err = run(
        "fit", str(files / "part-*.parquet"), "--target", "answer", "--out", str(files / "model"), "--model", "xgboost"
    )
    assert code == 0, err
    assert "Fitted to all rows: XGBClassifier, threshold for f1" in out
    assert "one of 5 folds, whose rows a first model held out" in out
    assert "3 of 3: done, f1" in err
    types = "xgboost.core.Booster,xgboost.sklearn.XGBClassifier"
    assert f"To predict with it, pass --trusted {types}\n" in out
    code, out, err = run("predict", str(files / "model"), str(files / "part-2.parquet"))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.endswith(f"If you trust these types and the author of the folder, pass --trusted {types}.\n")
    code, out, _ = run("predict", str(files / "model"), str(files / "part-2.parquet"), "--trusted", types)
    assert (code, len(out.splitlines())) == (0, 91)


def test_trees_without_the_package_that_saves_them_are_refused_first(run, files, monkeypatch):
    from metricfit import _extras

    find = _extras.find_spec
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == "skops" else find(name))
    code, _, err = run("fit", str(files / "part-*.parquet"), "--out", str(files / "model"), "--model", "xgboost")
    assert (code, err.count("\n")) == (1, 1)
    assert "--model xgboost needs the package skops: pip install 'metricfit[trees]'" in err


def test_trees_of_one_table_in_memory_have_another_name(run, files):
    code, _, err = run("fit", str(files / "part-0.parquet"), "--out", str(files / "model"), "--model", "xgboost")
    assert code == 2
    assert "--model xgboost is for Parquet files that are read in parts. Pass --stream too, or --model boosting" in err


def test_data_that_cannot_be_read_are_no_mistake_of_the_command(run, files):
    path = files / "part-2.parquet"
    parquet.write_table(parquet.read_table(path).rename_columns(["a", "c", "answer"]), path)
    code, _, err = run("fit", str(files / "part-*.parquet"), "--out", str(files / "model"))
    assert code == 1
    assert "part-2.parquet lacks column 'b', which part-0.parquet has." in err
    assert not (files / "model").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "boosting"], "--model boosting does not support files that are read in parts. Pass --model linear or --model xgboost"),
        (["--group", "a"], "--group does not support files that are read in parts"),
        (["--jobs", "2", "--cluster", "tcp://127.0.0.1:1"], "--jobs 2 and --cluster cannot be combined"),
        (["--drop", "answer"], "--drop 'answer' is the target"),
    ],
)  # fmt: skip
def test_what_needs_all_rows_is_refused(run, files, options, message):
    code, _, err = run("fit", str(files / "part-*.parquet"), "--out", str(files / "model"), *options)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(("name", "reason"), [("nowhere", "No such file or directory"), ("part-0.parquet", "Not a directory")])
def test_a_scratch_folder_that_is_none_is_refused_first(run, files, name, reason):
    code, out, err = run("fit", str(files / "part-*.parquet"), "--out", str(files / "model"), "--scratch", str(files / name))
    assert (code, out) == (2, "")
    assert f"--scratch {files / name} should be a folder that can be written, got: {reason}. Pass another folder." in err
    assert "rows" not in err
