"""Costs of each row, budgets and abstention on the command line: the answers are those of Python."""

import json

import numpy as np
import pytest

from metricfit import DecisionRule
from metricfit.data import _read as reading
from metricfit.metrics import Cost
from tests.cli.conftest import check_error
from tests.cli.test_decide import lines_of, three_classes, two_classes
from tests.cli.test_predict_rule import predictions

COST = Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 5.0})
LIMITED = ("--metric", "recall", "--subject-to", "precision >= 50%", "--confidence", "0.8")
FIXED = Cost({("fraud", "ok"): 5.0, ("ok", "fraud"): 1.0})
RULES = {  # options of the command, and of Python
    "promise": (LIMITED, "recall", {"subject_to": "precision >= 0.5", "confidence": 0.8}),
    "limited cost": (
        ("--cost", "fraud,ok=5; ok,fraud=1", "--subject-to", "cost <= 0.5"),
        FIXED,
        {"subject_to": "cost <= 0.5"},
    ),
    "cost": (("--cost", "fraud,ok=amount; ok,fraud=5"), COST, {}),
    "budget": (("--cost", "fraud,ok=amount; ok,fraud=5", "--budget", "fraud=2%"), COST, {"budget": {"fraud": "2%"}}),
    "rank": (("--metric", "recall@20"), "recall@20", {}),
    "abstain": (
        ("--metric", "accuracy", "--abstain", "error <= 0.1", "--confidence", "0.9"),
        "accuracy",
        {"abstain": "error <= 0.1", "confidence": 0.9},
    ),
    "label": (
        ("--metric", "f1", "--abstain-cost", "0.2", "--abstain-label", "?"),
        "f1",
        {"abstain_cost": 0.2, "abstain_label": "?"},
    ),
}


def payments(n=600, seed=0):
    """Scores, and a column of costs that must not be taken for scores."""
    return {**two_classes(n, seed), "amount": np.random.default_rng(seed + 1).lognormal(3.0, 1.0, n).round(2)}


def fitted(name, columns):
    _, metric, options = RULES[name]
    scores, costs = np.stack([columns["p_fraud"], columns["p_ok"]], 1), {"amount": columns["amount"]}
    rule = DecisionRule(metric, classes=["fraud", "ok"], **options)
    return rule.fit(scores, columns["y"], costs=costs if metric is COST else None)


@pytest.fixture
def decide(run, table):
    """Run ``decide`` on the payments."""
    file = table(lines_of(payments()), "payments.csv")
    return lambda *options: run("decide", file, "--target", "y", *options)


@pytest.mark.parametrize("name", RULES)
def test_decide_says_and_keeps_what_python_does(decide, tmp_path, name):
    code, out, err = decide(*RULES[name][0], "--out", "rule.json")
    rule = fitted(name, payments())
    assert (code, out) == (0, f"{rule.summary()}\nNext: metricfit predict rule.json new_scores.csv\n")
    assert ("Costs of each row: amount." in err) == (rule.metric is COST)
    again = DecisionRule.load(tmp_path / "rule.json")
    assert again.summary() == rule.summary()
    assert again.columns_ == ("p_fraud", "p_ok")


def test_the_output_has_the_money_the_budget_and_the_promise(decide):
    _, out, _ = decide(*RULES["budget"][0])
    assert "per 1,000 rows.\nThat saves" in out
    assert "compared with always 'ok'" in out
    assert "The budget allows 12 predictions of 'fraud' for these 600 rows; the rule makes 12." in out
    _, out, _ = decide(*RULES["abstain"][0])
    assert "of the held-out rows, and" in out
    assert "With probability 0.9 over the draw of such rows the error of answered rows is at most 0.1" in out
    found = json.loads(decide(*RULES["budget"][0], "--json")[1])
    assert found["money"]["total"] == pytest.approx(fitted("budget", payments()).money_.total)
    assert (found["budget"], found["threshold"]) == ({"fraud": "2%"}, None)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--cost", "fraud,ok=amout; ok,fraud=5"), 1, "--cost: the cost of fraud,ok should be a number or a column of the file, got 'amout'. Did you mean 'amount'?"),
        (("--cost", "fraud,ok=5; otherwise=amount"), 2, "--cost: otherwise should be a number, got the column 'amount'. Name the pairs that it applies to."),
        (("--budget", "200"), 2, "--budget should be a class and a number of rows or a share, fraud=200 or fraud=2%; got '200'."),
        (("--budget", "fraud=2", "--budget", "fraud=3"), 2, "--budget of 'fraud' occurs twice."),
        (("--budget", "fraud=two"), 2, "--budget of 'fraud' should be a number of rows, such as 200, or a share, such as 0.02 or '2%', got 'two'."),
        (("--metric", "mcc@20"), 2, "--metric 'mcc@20': only recall and precision take a number of rows, as in recall@200."),
        (("--abstain", "error <= 0.1", "--abstain-cost", "0.2"), 2, "--abstain cannot be combined with --abstain-cost: pass a limit on the error or a cost."),
    ],
)  # fmt: skip
def test_one_line_for_a_mistake(decide, tmp_path, options, code, message):
    check_error(decide(*options, "--out", "rule.json"), code, message, tmp_path, ["payments.csv"])


@pytest.fixture
def new(table):
    """New rows without labels, and where they are."""
    columns = {name: column for name, column in payments(100, seed=5).items() if name != "y"}
    return columns, table(lines_of(columns), "new.csv")


def answers(rule, columns):
    costs = {"amount": columns["amount"]} if getattr(rule.metric, "columns", ()) else None
    return rule.predict(np.stack([columns["p_fraud"], columns["p_ok"]], 1), costs=costs).tolist()


@pytest.mark.parametrize("name", RULES)
def test_predict_answers_as_python_does(run, new, tmp_path, monkeypatch, name):
    (columns, file), rule = new, fitted(name, payments())
    rule.save(tmp_path / "rule.json")  # of Python: the columns are found by the names of the classes
    expected = answers(rule, columns)
    assert len(set(expected)) > 1
    monkeypatch.setattr(reading, "CHUNK_ROWS", 7)
    code, out, err = run("predict", "rule.json", file)
    assert (code, err) == (0, "")
    assert predictions(out) == expected


def test_each_file_is_one_batch_without_the_rows_that_cannot_be_read(decide, run, new, table, tmp_path, monkeypatch):
    columns, file = new
    decide("--metric", "recall@20", "--out", "rule.json")
    worst = int(np.argmax(columns["p_fraud"]))
    gap = {**columns, "p_fraud": np.where(np.arange(100) == worst, np.nan, columns["p_fraud"])}
    monkeypatch.setattr(reading, "CHUNK_ROWS", 7)
    _, err = run.ok("predict", "rule.json", file, table(lines_of(gap), "gap.csv"), "--on-error", "skip", "--out", "labels")
    assert f"row {worst + 2}, column 'p_fraud' is not a number" in err
    first, second = (predictions((tmp_path / "labels" / name).read_text()) for name in ("new.csv", "gap.csv"))
    assert first == answers(DecisionRule.load(tmp_path / "rule.json"), columns)
    assert (first.count("fraud"), second.count("fraud"), second[worst]) == (20, 20, "")


def test_no_answer_among_numbers_may_be_a_word(run, table):
    columns = three_classes()
    file = table(lines_of(columns), "three.csv")
    for label, expected in (((), "-1"), (("--abstain-label", "none"), "none")):
        run("decide", file, "--abstain-cost", "0.3", *label, "--out", "rule.json", "--overwrite")
        code, out, _ = run("predict", "rule.json", file)
        assert (code, set(predictions(out))) == (0, {"0", "1", "2", expected})
    (file.parent / "none.csv").write_text("logit_0,logit_1,logit_2\n")
    assert run("predict", "rule.json", "none.csv")[:2] == (0, '"prediction"\n')


def test_a_missing_column_of_costs_is_one_line(decide, run, new, table, tmp_path):
    columns, _ = new
    decide(*RULES["cost"][0], "--out", "rule.json")
    table(lines_of({name: column for name, column in columns.items() if name != "amount"}), "less.csv")
    message = "less.csv lacks column 'amount', the cost of an answer in each row, which the rule needs."
    assert run("predict", "rule.json", "less.csv", "--out", "labels.csv") == (1, "", f"metricfit: {message}\n")
    assert not (tmp_path / "labels.csv").exists()
