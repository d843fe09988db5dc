"""``metricfit predict rule.json new_scores.csv``: a rule decides as a model does."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit import DecisionRule
from metricfit.data import _read as reading
from tests.cli.conftest import check_error
from tests.cli.test_decide import lines_of, three_classes, two_classes

LIKE_THE_FIT = "probabilities in 2 columns, as in the fit, got 1 row of 2 columns, read as logits."


@pytest.fixture
def rule(run, table):
    assert run("decide", table(lines_of(two_classes()), "scores.csv"), "--metric", "f1", "--out", "rule.json")[0] == 0
    return DecisionRule.load("rule.json")


def new_rows(n=100, seed=5):
    columns = two_classes(n, seed)
    return {"p_ok": columns["p_ok"], "name": np.char.add("n", columns["id"].astype(str)), "p_fraud": columns["p_fraud"]}


def predictions(out):
    return [line.strip('"') for line in out.splitlines()[1:]]


def test_labels_are_those_of_python(run, rule, table, monkeypatch):
    columns = new_rows()
    expected = rule.predict(np.stack([columns["p_fraud"], columns["p_ok"]], 1)).tolist()
    assert {"fraud", "ok"} == set(expected)
    file = table(lines_of(columns), "new.csv")
    monkeypatch.setattr(reading, "CHUNK_ROWS", 7)
    code, out, err = run("predict", "rule.json", file)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == '"prediction"'
    assert predictions(out) == expected
    code, out, _ = run("predict", "rule.json", file, "--keep", "name", "--out", "labels.parquet")
    assert (code, out) == (0, "")
    found = parquet.read_table("labels.parquet")
    assert found.column_names == ["name", "prediction"]
    assert found["prediction"].to_pylist() == expected


def test_files_of_every_kind_many_at_once_and_stdin(run, rule, table, tmp_path, feed):
    columns = new_rows()
    expected = rule.predict(np.stack([columns["p_fraud"], columns["p_ok"]], 1)).tolist()
    first = table(lines_of(columns), "a.csv")
    parquet.write_table(pa.table(columns), tmp_path / "b.parquet")
    run.ok("predict", "rule.json", first, "b.parquet", "--out", "labels")
    assert predictions((tmp_path / "labels" / "a.csv").read_text()) == expected
    assert parquet.read_table(tmp_path / "labels" / "b.parquet")["prediction"].to_pylist() == expected
    feed(first.read_text())
    assert predictions(run("predict", "rule.json", "-")[1]) == expected


def test_three_classes_and_one_column(run, table):
    columns = three_classes()
    file = table(lines_of(columns), "three.csv")
    assert run("decide", file, "--out", "three.json")[0] == 0
    table_of = np.stack([columns[f"logit_{index}"] for index in range(3)], 1)
    expected = DecisionRule.load("three.json").predict(table_of)
    assert predictions(run("predict", "three.json", file)[1]) == list(map(str, expected))
    two = two_classes()
    file = table(lines_of({"p_ok": two["p_ok"], "y": two["y"]}), "one.csv")
    assert run("decide", file, "--out", "one.json", "--metric", "f1")[0] == 0
    assert predictions(run("predict", "one.json", file)[1]) == DecisionRule.load("one.json").predict(two["p_ok"]).tolist()


def test_a_file_without_a_header(run, table):
    columns = two_classes()
    file = table(lines_of(columns)[1:], "bare.csv")
    given = ("decide", file, "--target", "4", "--scores", "2,3", "--metric", "f1", "--out", "bare.json")
    assert run(*given)[0] == 0
    expected = DecisionRule.load("bare.json").predict(np.stack([columns["p_fraud"], columns["p_ok"]], 1))
    assert predictions(run("predict", "bare.json", file)[1]) == expected.tolist()


def test_stdin_is_refused_where_columns_are_found_by_their_names(run, tmp_path, feed):
    columns = two_classes()
    DecisionRule("f1").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"]).save(tmp_path / "python.json")
    feed("p_fraud,p_ok\n0.2,0.8\n")
    code, _, err = run("predict", "python.json", "-")
    assert (code, "Pass a file instead of stdin." in err) == (2, True)


@pytest.mark.parametrize("names", [("a", "b"), ("p_ok", "p_fraud", "score_ok", "score_fraud")])  # none, or two of each class
def test_columns_that_are_not_found_by_their_names_need_other_names(run, table, tmp_path, names):
    """A rule from Python has no names of columns, and ``predict`` has no ``--scores``."""
    columns = two_classes()
    DecisionRule("f1").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"]).save(tmp_path / "python.json")
    table([",".join(names), ",".join(["0.5"] * len(names))], "new.csv")
    code, out, err = run("predict", "python.json", "new.csv")
    assert (code, out) in [(1, ""), (2, "")]
    assert "Rename the columns of new.csv." in err
    assert "--scores" not in err


def test_rows_without_a_score(run, rule, table):
    columns = new_rows()
    columns["p_fraud"] = np.where(np.arange(100) == 3, np.nan, columns["p_fraud"])
    file = table(lines_of(columns), "new.csv")
    message = "new.csv, row 5, column 'p_fraud' is not a number."
    code, out, err = run("predict", "rule.json", file, "--out", "labels.csv")
    assert (code, out) == (1, "")
    assert err.endswith(f"{message}\n")
    assert not (file.parent / "labels.csv").exists()
    out, err = run.ok("predict", "rule.json", file, "--on-error", "skip")
    found = predictions(out)
    assert [found.index(""), len(found)] == [3, 100]
    assert "1 row has no prediction" in err


@pytest.mark.parametrize(
    ("text", "options", "code", "message"),
    [
        ("p_fraud,ok\n0.2,0.8\n", (), 1, "new.csv lacks column 'p_ok' that the rule was fitted to."),
        ("p_fraud,p_ok\n0.2,0.8\n", ("--probabilities",), 2, "--probabilities needs a model. A rule uses the scores of your file: --keep copies them."),
        ("p_fraud,p_ok\n0.2,0.1\n", (), 1, f"The model in rule.json cannot predict these data: `scores` should be {LIKE_THE_FIT}"),
    ],
)  # fmt: skip
def test_scores_that_are_not_those_of_the_fit(run, rule, tmp_path, text, options, code, message):
    (tmp_path / "new.csv").write_text(text)
    found = run("predict", "rule.json", "new.csv", *options, "--out", "labels.csv")
    check_error(found, code, message, tmp_path, ["new.csv", "rule.json", "scores.csv"])


def test_files_that_are_not_rules(run, tmp_path, table):
    file = table(lines_of(new_rows()), "new.csv")
    (tmp_path / "other.json").write_text("{}")
    assert run("predict", "other.json", file)[0::2] == (1, "metricfit: other.json is not a decision rule of metricfit.\n")
    columns = two_classes()
    given = ("recall", {"subject_to": "precision >= 0.99", "confidence": 0.95})
    DecisionRule(given[0], **given[1]).fit(columns["p_fraud"], columns["y"]).save(tmp_path / "refuses.json")
    code, _, err = run("predict", "refuses.json", file)
    assert code == 1
    assert err.startswith("metricfit: refuses.json makes no decisions. Not attainable: the best precision[fraud] that can be")
    assert err.endswith("Run `metricfit decide` with --fallback best.\n")
