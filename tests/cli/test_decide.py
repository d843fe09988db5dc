"""``metricfit decide``: scores of any classifier become a rule."""

import gzip
import io
import json
import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.special import expit

from metricfit import DecisionRule
from tests.data.workbook import write_workbook


def two_classes(n=600, seed=0):
    """Columns of a file: probabilities of two classes that are too low for the rare one."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.15, "fraud", "ok")
    fraud = expit(1.2 * random.normal(size=n) + 2.5 * (y == "fraud") - 3.0).round(6)
    return {"id": np.arange(n), "p_fraud": fraud, "p_ok": 1.0 - fraud, "y": y}


def three_classes(n=450, seed=1):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    logits = random.normal(size=(n, 3)) + np.array([0.5, 0.0, -1.0])
    logits[np.arange(n), y] += 1.5
    return {**{f"logit_{index}": logits[:, index] for index in range(3)}, "y": y}


def lines_of(columns, delimiter=","):
    rows = zip(*(map(str, values.tolist()) for values in columns.values()), strict=True)
    return [delimiter.join(columns), *map(delimiter.join, rows)]


@pytest.fixture
def scores(table):
    return table(lines_of(two_classes()), "scores.csv")


def test_a_rule_is_written_and_is_that_of_python(run, scores, tmp_path):
    code, out, err = run("decide", scores, "--target", "y", "--metric", "mcc", "--out", "rule.json")
    assert code == 0
    columns = two_classes()
    rule = DecisionRule("mcc").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"])
    assert out == f"{rule.summary()}\nNext: metricfit predict rule.json new_scores.csv\n"
    assert re.search(r"mcc is 0\.\d{4} \(0.*\) on held-out rows\.\n.*the rule gains .*, p = ", out)
    assert err.splitlines() == [
        f"scores.csv: 600 rows; classes in 'y': fraud {(columns['y'] == 'fraud').sum()}, ok {(columns['y'] == 'ok').sum()}.",
        "Columns of scores: 'p_fraud' of 'fraud', 'p_ok' of 'ok'.",
        "Rule: rule.json",
    ]
    again = DecisionRule.load(tmp_path / "rule.json")
    np.testing.assert_array_equal(again.offsets_, rule.offsets_)
    assert again.columns_ == ("p_fraud", "p_ok")


def write(folder, kind, columns):
    """The columns as a file of this kind."""
    path, lines = folder / f"scores.{kind}", lines_of(columns)
    match kind:
        case "csv.gz":
            path.write_bytes(gzip.compress("\n".join(lines).encode()))
        case "tsv":
            path.write_text("\n".join(lines_of(columns, "\t")))
        case "parquet":
            parquet.write_table(pa.table(columns), path)
        case "jsonl":
            path.write_text("\n".join(json.dumps(row) for row in pa.table(columns).to_pylist()))
        case "xlsx":
            rows = zip(*(values.tolist() for values in columns.values()), strict=True)
            write_workbook(path, scores=[list(columns), *map(list, rows)])
        case "arff":
            kinds = ["numeric", "numeric", "numeric", "{fraud,ok}"]
            names = [f"@attribute {name} {kind}" for name, kind in zip(columns, kinds, strict=True)]
            path.write_text("\n".join(["@relation r", *names, "@data", *lines[1:]]))
    return path


@pytest.mark.parametrize("kind", ["csv.gz", "tsv", "parquet", "jsonl", "xlsx", "arff"])
def test_every_format_gives_the_same_rule(run, scores, tmp_path, kind):
    other = write(tmp_path, kind, two_classes())
    first, second = (json.loads(run("decide", file, "--target", "y", "--json")[1]) for file in (scores, other))
    assert first.pop("data") != second.pop("data")
    assert first == second


def test_stdin(run, scores, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(scores.read_bytes())))
    code, _, err = run("decide", "-", "--metric", "f1")
    assert code == 0
    assert err.startswith("stdin: 600 rows;")


@pytest.mark.parametrize(
    ("names", "classes", "found"),
    [
        (("proba_1", "proba_0"), (0, 1), {0: "proba_0", 1: "proba_1"}),
        (("prob_ok", "prob_fraud"), ("fraud", "ok"), {"fraud": "prob_fraud", "ok": "prob_ok"}),
        (("score_ok", "score_fraud"), ("fraud", "ok"), {"fraud": "score_fraud", "ok": "score_ok"}),
        (("OK", "Fraud"), ("fraud", "ok"), {"fraud": "Fraud", "ok": "OK"}),
        (("P(ok)", "P(fraud)"), ("fraud", "ok"), {"fraud": "P(fraud)", "ok": "P(ok)"}),
        (("p1", "p0"), (0, 1), {0: "p0", 1: "p1"}),
    ],
)
def test_columns_are_found_by_the_names_of_classes(run, table, names, classes, found):
    columns = two_classes()
    y = np.array(classes)[(columns["y"] == "ok").astype(int)]
    of = dict(zip(classes, (columns["p_fraud"], columns["p_ok"]), strict=True))
    by_name = {name: label for label, name in found.items()}
    file = table(lines_of({"id": columns["id"], **{name: of[by_name[name]] for name in names}, "y": y}))
    code, out, err = run("decide", file, "--metric", "mcc", "--json")
    assert code == 0, err
    assert json.loads(out)["columns"] == [found[label] for label in classes]


def test_one_column_is_about_the_class_that_it_names(run, table):
    columns = two_classes()
    file = table(lines_of({"id": columns["id"], "p_ok": columns["p_ok"], "y": columns["y"]}))
    code, out, err = run("decide", file, "--metric", "f1", "--json")
    assert code == 0
    assert "Column 'p_ok' has the scores of 'ok'." in err
    found = json.loads(out)
    expected = DecisionRule("f1", pos_label="ok").fit(columns["p_ok"], columns["y"])
    assert found["threshold"] == pytest.approx(expected.threshold_)
    assert run("decide", file, "--metric", "f1", "--pos-label", "fraud")[0::2] == (
        2,
        "metricfit: --pos-label is 'fraud', but the only column of scores, 'p_ok', belongs to 'ok'. Add a column for 'fraud'.\n",
    )


@pytest.mark.parametrize("name", ["score", "probability", "y_score"])
def test_one_column_without_a_class_is_about_the_positive_one(run, table, name):
    columns = two_classes()
    file = table(lines_of({"id": columns["id"], name: columns["p_fraud"], "y": columns["y"]}))
    code, out, err = run("decide", file, "--metric", "f1")
    assert code == 0
    assert f"Column '{name}' has the scores of the positive class." in err
    assert "The positive class is 'fraud', the rarer one." in out


def test_columns_of_a_file_without_names_are_in_the_order_of_the_classes(run, table):
    columns = two_classes()
    lines = lines_of({"a": columns["p_ok"], "b": columns["p_fraud"], "y": columns["y"]})[1:]
    file = table(lines, "bare.csv")
    code, out, _ = run("decide", file, "--scores", "1,2", "--classes", "ok,fraud", "--metric", "mcc", "--json")
    assert code == 0
    assert json.loads(out)["columns"] == ["2", "1"]
    expected = DecisionRule("mcc").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"])
    assert json.loads(out)["offsets"] == pytest.approx(expected.offsets_.tolist())


def test_three_classes_of_logits(run, table):
    code, out, err = run("decide", table(lines_of(three_classes())))
    assert code == 0
    assert "read as logits" in out
    assert "No --metric: f1_macro is used." in err


def test_log_probabilities(run, table):
    columns = two_classes()
    logs = {"log_prob_fraud": np.log(columns["p_fraud"]), "log_prob_ok": np.log(columns["p_ok"]), "y": columns["y"]}
    code, out, _ = run("decide", table(lines_of(logs)), "--metric", "mcc")
    assert code == 0
    assert "read as log-probabilities." in out


def test_a_class_without_rows_may_have_a_column(run, table):
    columns = three_classes()
    rows = columns["y"] < 2
    file = table(lines_of({name: values[rows] for name, values in columns.items()}))
    code, out, _ = run("decide", file, "--classes", "0,1,2", "--metric", "accuracy", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == [0, 1, 2]


def test_weights_groups_and_rows_without_labels(run, table):
    columns = two_classes()
    shop, weight = columns["id"] // 3, 1.0 + columns["id"] % 2
    y = np.where(columns["id"] % 50 == 0, "", columns["y"])
    file = table(lines_of({**columns, "shop": shop, "w": weight, "y": y}))
    code, out, err = run("decide", file, "--target", "y", "--metric", "f1", "--groups", "shop", "--weight", "w", "--json")
    assert code == 0
    assert "12 rows without a value in 'y' are dropped." in err
    rows = y != ""
    table_of = np.stack([columns["p_fraud"], columns["p_ok"]], 1)[rows]
    expected = DecisionRule("f1").fit(table_of, y[rows], weight[rows], shop[rows])
    assert json.loads(out)["score_interval"] == pytest.approx(expected.score_interval_)


def test_costs(run, scores):
    code, out, _ = run("decide", scores, "--cost", "fraud,ok=5; ok,fraud=1", "--subject-to", "cost <= 0.5", "--json")
    assert code == 0
    assert json.loads(out)["constraints"][0]["value"] <= 0.5


def test_a_promise(run, table, tmp_path):
    file = table(lines_of(two_classes(3000)))
    given = ("decide", file, "--metric", "recall", "--subject-to", "precision >= 70%", "--confidence", "0.9")
    code, out, _ = run(*given, "--out", "rule.json")
    assert code == 0
    assert "With probability 0.9 over the draw of such rows it is >= 0.7 in the population that they came from." in out
    assert DecisionRule.load(tmp_path / "rule.json").attainable_


def test_not_attainable_is_an_answer(run, scores, tmp_path):
    given = ("decide", scores, "--metric", "recall", "--subject-to", "precision >= 0.99", "--confidence", "0.95")
    code, out, _ = run(*given, "--out", "rule.json")
    assert code == 0
    assert "Not attainable: the best precision[fraud] that can be promised with 95% confidence from these 600 rows is" in out
    assert out.endswith("Pass --fallback best to use the best limit that is possible. No rule was written.\n")
    assert not (tmp_path / "rule.json").exists()
    code, out, _ = run(*given, "--out", "rule.json", "--fallback", "best")
    assert code == 0
    assert "Not attainable" in out
    assert out.endswith("Next: metricfit predict rule.json new_scores.csv\n")
    assert not DecisionRule.load(tmp_path / "rule.json").attainable_


def test_a_promise_at_another_prevalence(run, scores):
    given = ["decide", scores, "--metric", "recall", "--subject-to", "precision >= 0.5", "--confidence", "0.8"]
    code, out, _ = run(*given, "--prevalence", "fraud=0.1")
    assert code == 0
    lines = out.splitlines()
    assert lines[1] == "The promise was made for the class shares of the fit and does not carry over to others."
    assert lines[2].startswith("precision[fraud] is ")
    assert " at these shares, on " in lines[2]
    code, out, _ = run("decide", scores, "--metric", "recall")
    assert code == 0
    assert "recall alone is best if every row is predicted as 'fraud'. Add a limit, such as subject_to=" in out


def test_another_prevalence(run, scores, table):
    columns = two_classes()
    rule = DecisionRule("f1").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"])
    code, out, _ = run("decide", scores, "--metric", "f1", "--prevalence", "fraud=0.3%", "--json")
    assert code == 0
    assert json.loads(out)["offsets"] == pytest.approx(rule.for_prevalence({"fraud": 0.003}).offsets_.tolist())
    new = two_classes(300, seed=7)
    file = table(lines_of({"p_ok": new["p_ok"], "p_fraud": new["p_fraud"]}), "new.csv")
    code, out, _ = run("decide", scores, "--metric", "f1", "--adapt", file, "--json")
    assert code == 0
    adapted = rule.adapt(np.stack([new["p_fraud"], new["p_ok"]], 1))
    assert json.loads(out)["shares"] == pytest.approx(adapted.shares_.tolist())
    assert "estimated from 300 rows" in json.loads(out)["notes"][-1]


def test_a_report(run, scores, tmp_path):
    code, _, err = run("decide", scores, "--metric", "mcc", "--report", "page.html", "--out", "rule.json")
    assert code == 0
    assert err.endswith("Report: page.html\nRule: rule.json\n")
    html = (tmp_path / "page.html").read_text()
    assert "<code>metricfit decide" in html
    assert "<code>metricfit predict rule.json new_scores.csv</code>" in html
    assert run("decide", scores, "--report", "page.html")[0] == 2
    assert run("decide", scores, "--report", "a", "--out", "a")[0::2] == (
        2,
        "metricfit: --out and --report name the same file, a.\n",
    )


def broken(change):
    columns = two_classes()
    change(columns)
    return lines_of(columns)


def with_a_gap(columns):
    columns["p_fraud"] = np.where(columns["id"] == 5, np.nan, columns["p_fraud"])


def with_a_word(columns):
    columns["p_ok"] = np.where(columns["id"] == 5, "high", columns["p_ok"].astype(str))


def doubled(columns):
    columns["p_ok"] = columns["p_ok"] * columns["p_ok"]


def without_ok(columns):
    columns["y"] = np.where(columns["id"] % 7 == 0, "loan", columns["y"])


def both(columns):
    columns |= {"proba_fraud": columns["p_fraud"], "proba_ok": columns["p_ok"]}


def same(columns):
    columns["y"] = np.full(len(columns["y"]), "ok")


@pytest.mark.parametrize(
    ("change", "options", "code", "message"),
    [
        (with_a_gap, (), 1, "scores.csv, row 7, column 'p_fraud' is not a number. Every row needs all scores and costs."),
        (with_a_word, (), 1, "scores.csv, row 7, column 'p_ok': 'high' is not a number."),
        (
            doubled,
            (),
            1,
            "scores.csv: The scores are ambiguous: they lie between 0 and 1, but their rows sum to 0.75 ... 0.999. "
            "Pass --kind probability to take their logarithm (as for a sigmoid per class), or --kind logit to use them as "
            "they are.",
        ),
        (
            without_ok,
            (),
            1,
            "Class 'loan' has no column of scores; found p_fraud, p_ok. Pass --scores with a column for each of the 3 classes.",
        ),
        (
            without_ok,
            ("--classes", "ok,fraud"),
            1,
            "scores.csv, column 'y': the label 'loan' (86 rows) is not in --classes, so it has no column of scores.",
        ),
        (without_ok, ("--scores", "p_ok,p_fraud"), 1, "Class 'loan' has no column: --scores has 2 for 3 classes."),
        (
            both,
            (),
            2,
            "Several columns could be the scores of each class: p_fraud, p_ok and proba_fraud, proba_ok. Pass --scores "
            "p_fraud,p_ok.",
        ),
        (same, (), 1, "scores.csv, column 'y' has only one class: ok."),
        (
            dict,
            ("--subject-to", "precision >= 0.9 and precision <= 0.5"),
            2,
            "--subject-to contradicts itself: precision[fraud] >= 0.9 and precision[fraud] <= 0.5.",
        ),
        (
            dict,
            ("--subject-to", "precision[frod] >= 0.9"),
            2,
            "--subject-to should name classes of the labels, ['fraud', 'ok'], got 'frod'. Did you mean 'fraud'?",
        ),
        (
            dict,
            ("--subject-to", "__import__('os')"),
            2,
            "--subject-to should be terms such as 'precision >= 0.9' or 'recall[fraud] >= 0.95', joined by 'and'; got "
            "\"__import__('os')\".",
        ),
        (
            dict,
            ("--confidence", "0.9"),
            2,
            "--confidence applies to constraints: pass --subject-to too, such as 'precision >= 0.9'.",
        ),
        (
            dict,
            ("--subject-to", "precision >= 0.5", "--confidence", "90"),
            2,
            "--confidence should lie between 0 and 1, such as 0.9, got 90.0.",
        ),
        (
            dict,
            ("--subject-to", "precision >= 0.5", "--confidence", "0.9", "--groups", "id"),
            2,
            "--confidence needs independent rows of equal weight: leave out --weight and --group.",
        ),
        (dict, ("--metric", "f1", "--cost", "a,b=1"), 2, "--cost replaces the metric: pass --cost or --metric, not both."),
        (
            dict,
            ("--prevalence", "fraud=0.1", "--adapt", "new.csv"),
            2,
            "--prevalence and --adapt cannot be combined: both set the class shares.",
        ),
        (
            dict,
            ("--prevalence", "fraud"),
            2,
            "--prevalence should be shares such as fraud=0.003, separated by commas; got 'fraud'.",
        ),
        (
            dict,
            ("--prevalence", "frod=0.1"),
            2,
            "--prevalence 'frod' is not a class of the target. Did you mean 'fraud'? Classes: fraud, ok.",
        ),
        (
            dict,
            ("--prevalence", "fraud=1.5"),
            2,
            "--prevalence should be positive and sum to one, or to less if classes are left out, got {'fraud': 1.5}.",
        ),
        (
            dict,
            ("--fallback", "best"),
            2,
            "--fallback applies to constraints that cannot be kept: pass --subject-to or --abstain too.",
        ),
        (dict, ("--groups", "y"), 2, "--target, --weight and --groups should be different columns."),
        (
            dict,
            ("--scores", "p_fraud,y"),
            2,
            "--scores 'y' is used twice: scores, labels, weights and groups need separate columns.",
        ),
    ],
)
def test_one_line_for_a_mistake_and_nothing_is_written(run, table, tmp_path, change, options, code, message):
    table(broken(change), "scores.csv")
    before = set(tmp_path.iterdir())
    target = () if "--target" in options else ("--target", "y")
    found = run("decide", "scores.csv", *target, *options, "--out", "rule.json")
    assert found == (code, "", f"metricfit: {message}\n")
    assert set(tmp_path.iterdir()) == before


def test_an_existing_rule_is_kept(run, scores, tmp_path):
    (tmp_path / "rule.json").write_text("mine")
    assert run("decide", scores, "--out", "rule.json")[0] == 2
    assert (tmp_path / "rule.json").read_text() == "mine"
    assert run("decide", scores, "--out", "rule.json", "--overwrite")[0] == 0
    assert DecisionRule.load(tmp_path / "rule.json").columns_ == ("p_fraud", "p_ok")


@pytest.mark.parametrize("options", [(), ("--scores", "p_jazz,p_folk")])
def test_labels_in_one_cell_need_columns(run, table, options):
    """The issue: a target of "jazz|folk" was a class without scores."""
    lines = ["p_jazz,p_folk,y", *(f"0.{index},0.4,{('jazz', 'folk', 'jazz|folk')[index % 3]}" for index in range(1, 10))]
    code, _, err = run("decide", table(lines), "--target", "y", "--metric", "f1_macro", *options)
    assert code == 1
    assert err.rstrip().endswith("these need a column of 0 and 1 each, --target jazz,folk.")
