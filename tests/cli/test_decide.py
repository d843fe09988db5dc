"""``metricfit decide``: scores of any classifier become a rule."""

import json
import re

import numpy as np
import pytest
from scipy.special import expit

from metricfit import DecisionRule
from tests.cli.conftest import check_error


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
    out, err = run.ok("decide", scores, "--target", "y", "--metric", "mcc", "--out", "rule.json")
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


def test_stdin(run, scores, feed):
    feed(scores.read_text())
    _, err = run.ok("decide", "-", "--metric", "f1")
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
    out, _ = run.ok("decide", file, "--metric", "mcc", "--json")
    assert json.loads(out)["columns"] == [found[label] for label in classes]


def test_one_column_is_about_the_class_that_it_names(run, table):
    columns = two_classes()
    file = table(lines_of({"id": columns["id"], "p_ok": columns["p_ok"], "y": columns["y"]}))
    out, err = run.ok("decide", file, "--metric", "f1", "--json")
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
    out, err = run.ok("decide", file, "--metric", "f1")
    assert f"Column '{name}' has the scores of the positive class." in err
    assert "The positive class is 'fraud', the rarer one." in out


def test_columns_of_a_file_without_names_are_in_the_order_of_the_classes(run, table):
    columns = two_classes()
    lines = lines_of({"a": columns["p_ok"], "b": columns["p_fraud"], "y": columns["y"]})[1:]
    file = table(lines, "bare.csv")
    out, _ = run.ok("decide", file, "--scores", "1,2", "--classes", "ok,fraud", "--metric", "mcc", "--json")
    assert json.loads(out)["columns"] == ["2", "1"]
    expected = DecisionRule("mcc").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"])
    assert json.loads(out)["offsets"] == pytest.approx(expected.offsets_.tolist())


def test_log_probabilities(run, table):
    columns = two_classes()
    logs = {"log_prob_fraud": np.log(columns["p_fraud"]), "log_prob_ok": np.log(columns["p_ok"]), "y": columns["y"]}
    out, _ = run.ok("decide", table(lines_of(logs)), "--metric", "mcc")
    assert "read as log-probabilities." in out


def test_a_class_without_rows_may_have_a_column(run, table):
    columns = three_classes()
    rows = columns["y"] < 2
    file = table(lines_of({name: values[rows] for name, values in columns.items()}))
    out, _ = run.ok("decide", file, "--classes", "0,1,2", "--metric", "accuracy", "--json")
    assert json.loads(out)["classes"] == [0, 1, 2]


def test_weights_groups_and_rows_without_labels(run, table):
    columns = two_classes()
    shop, weight = columns["id"] // 3, 1.0 + columns["id"] % 2
    y = np.where(columns["id"] % 50 == 0, "", columns["y"])
    file = table(lines_of({**columns, "shop": shop, "w": weight, "y": y}))
    out, err = run.ok("decide", file, "--target", "y", "--metric", "f1", "--groups", "shop", "--weight", "w", "--json")
    assert "12 rows without a value in 'y' are dropped." in err
    rows = y != ""
    table_of = np.stack([columns["p_fraud"], columns["p_ok"]], 1)[rows]
    expected = DecisionRule("f1").fit(table_of, y[rows], weight[rows], shop[rows])
    assert json.loads(out)["score_interval"] == pytest.approx(expected.score_interval_)


def test_not_attainable_is_an_answer(run, scores, tmp_path):
    given = ("decide", scores, "--metric", "recall", "--subject-to", "precision >= 0.99", "--confidence", "0.95")
    out, _ = run.ok(*given, "--out", "rule.json")
    assert "Not attainable: the best precision[fraud] that can be promised with 95% confidence from these 600 rows is" in out
    assert out.endswith("Pass --fallback best to use the best limit that is possible. No rule was written.\n")
    assert not (tmp_path / "rule.json").exists()
    out, _ = run.ok(*given, "--out", "rule.json", "--fallback", "best")
    assert "Not attainable" in out
    assert out.endswith("Next: metricfit predict rule.json new_scores.csv\n")
    assert not DecisionRule.load(tmp_path / "rule.json").attainable_


def test_another_prevalence(run, scores, table):
    columns = two_classes()
    rule = DecisionRule("f1").fit(np.stack([columns["p_fraud"], columns["p_ok"]], 1), columns["y"])
    out, _ = run.ok("decide", scores, "--metric", "f1", "--prevalence", "fraud=0.3%", "--json")
    assert json.loads(out)["offsets"] == pytest.approx(rule.for_prevalence({"fraud": 0.003}).offsets_.tolist())
    new = two_classes(300, seed=7)
    file = table(lines_of({"p_ok": new["p_ok"], "p_fraud": new["p_fraud"]}), "new.csv")
    out, _ = run.ok("decide", scores, "--metric", "f1", "--adapt", file, "--json")
    adapted = rule.adapt(np.stack([new["p_fraud"], new["p_ok"]], 1))
    assert json.loads(out)["shares"] == pytest.approx(adapted.shares_.tolist())
    assert "estimated from 300 rows" in json.loads(out)["notes"][-1]


def test_a_report(run, scores, tmp_path):
    _, err = run.ok("decide", scores, "--metric", "mcc", "--report", "page.html", "--out", "rule.json")
    assert err.endswith("Report: page.html\nRule: rule.json\n")
    html = (tmp_path / "page.html").read_text()
    assert "<code>metricfit decide" in html
    assert "<code>metricfit predict rule.json new_scores.csv</code>" in html
    assert run("decide", scores, "--report", "page.html")[0] == 2


def with_a_gap(columns):
    columns["p_fraud"] = np.where(columns["id"] == 5, np.nan, columns["p_fraud"])


def with_a_word(columns):
    columns["p_ok"] = np.where(columns["id"] == 5, "high", columns["p_ok"].astype(str))


def doubled(columns):
    columns["p_ok"] = columns["p_ok"] * columns["p_ok"]


def without_ok(columns):
    columns["y"] = np.where(columns["id"] % 7 == 0, "loan", columns["y"])


def same(columns):
    columns["y"] = np.full(len(columns["y"]), "ok")


AMBIGUOUS = (
    "they lie between 0 and 1, but their rows sum to 0.75 ... 0.999. Pass --kind probability to take their logarithm (as for a "
    "sigmoid per class), or --kind logit to use them as they are."
)
PROMISE = ("--subject-to", "precision >= 0.5", "--confidence", "0.9")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (with_a_gap, (), "scores.csv, row 7, column 'p_fraud' is not a number. Every row needs all scores and costs."),
        (with_a_word, (), "scores.csv, row 7, column 'p_ok': 'high' is not a number."),
        (doubled, (), f"scores.csv: The scores are ambiguous: {AMBIGUOUS}"),
        (without_ok, (), "Class 'loan' has no column of scores; found p_fraud, p_ok. Pass --scores with a column for each of the 3 classes."),
        (without_ok, ("--classes", "ok,fraud"), "scores.csv, column 'y': the label 'loan' (86 rows) is not in --classes, so it has no column of scores."),
        (without_ok, ("--scores", "p_ok,p_fraud"), "Class 'loan' has no column: --scores has 2 for 3 classes."),
        (same, (), "scores.csv, column 'y' has only one class: ok."),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_one_line(run, table, tmp_path, change, options, message):
    columns = two_classes()
    change(columns)
    table(lines_of(columns), "scores.csv")
    found = run("decide", "scores.csv", "--target", "y", *options, "--out", "rule.json")
    check_error(found, 1, message, tmp_path, ["scores.csv"])


def test_scores_in_the_last_column_need_a_target(run, table, tmp_path):
    """By default the last column is the target, and in a file of scores that is often a column of scores."""
    columns = two_classes(40)
    table(lines_of({"y": columns["y"], "p_fraud": columns["p_fraud"]}), "scores.csv")
    code, _, err = run("decide", "scores.csv")
    assert code == 1
    assert "separated by commas, or --target if the labels are elsewhere. Columns: y." in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subject-to", "precision[frod] >= 0.9"), "--subject-to should name classes of the labels, ['fraud', 'ok'], got 'frod'. Did you mean 'fraud'?"),
        (("--confidence", "0.9"), "--confidence applies to constraints: pass --subject-to too, such as 'precision >= 0.9'."),
        ((*PROMISE, "--groups", "id"), "--confidence needs independent rows of equal weight: leave out --weight and --group."),
        (("--metric", "f1", "--cost", "a,b=1"), "--cost replaces the metric: pass --cost or --metric, not both."),
        (("--prevalence", "fraud=0.1", "--adapt", "new.csv"), "--prevalence and --adapt cannot be combined: both set the class shares."),
        (("--prevalence", "fraud"), "--prevalence should be shares such as fraud=0.003, separated by commas; got 'fraud'."),
        (("--prevalence", "frod=0.1"), "--prevalence 'frod' is not a class of the target. Did you mean 'fraud'? Classes: fraud, ok."),
        (("--prevalence", "fraud=1.5"), "--prevalence should be positive and sum to one, or to less if classes are left out, got {'fraud': 1.5}."),
        (("--fallback", "best"), "--fallback applies to constraints that cannot be kept: pass --subject-to or --abstain too."),
        (("--groups", "y"), "--target, --weight and --groups should be different columns."),
        (("--scores", "p_fraud,y"), "--scores 'y' is used twice: scores, labels, weights and groups need separate columns."),
        (("--report", "a", "--out", "a"), "--out and --report name the same file, a."),
    ],
)  # fmt: skip
def test_a_mistake_in_the_options_is_one_line(run, scores, tmp_path, options, message):
    check_error(run("decide", scores, "--target", "y", *options), 2, message, tmp_path, ["scores.csv"])


def test_two_columns_for_every_class_are_one_line(run, table, tmp_path):
    columns = two_classes()
    table(lines_of({**columns, "proba_fraud": columns["p_fraud"], "proba_ok": columns["p_ok"]}), "scores.csv")
    pairs = "p_fraud, p_ok and proba_fraud, proba_ok. Pass --scores p_fraud,p_ok."
    message = f"Several columns could be the scores of each class: {pairs}"
    check_error(run("decide", "scores.csv", "--target", "y"), 2, message, tmp_path)


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
