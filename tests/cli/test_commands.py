"""What the commands do when all is well."""

import json
import re
import subprocess
import sys

import pytest

import metricfit as mf
from metricfit._errors import UsageError
from metricfit.cli._inspect import REPORT_FILE, TABLE_FILE
from metricfit.metrics import names
from tests.cli.conftest import HEADER, LINEAR, SHORT, hidden, rows


def test_compare_prints_a_table_and_two_sentences(run, good):
    options = ("--metric", "f1", "--positive", "sick", "--repeats", "1", "--models", "linear", "--methods", "leaky,auto")
    out, err = run.ok("compare", good, "--target", "state", *options)
    lines = out.strip().splitlines()
    assert max(map(len, lines[:-3])) <= 120
    heads = [head.strip() for head in re.split(r"\s{2,}", lines[0])]
    assert heads == ["model", "method", "f1", "vs linear threshold", "p (Holm)", "fit, s"]
    rows = [line.split()[:2] for line in lines[2:6]]
    assert rows == [["trivial", "always"], *(["linear", name] for name in ("threshold", "leaky", "auto"))]
    assert lines[-3].startswith("Best: ")
    assert lines[-2].startswith("Linear model: ")
    assert re.fullmatch(
        r"Next: metricfit fit \S*good.csv --target state --metric f1 --positive sick --repeats 1 --model linear.* --out model",
        lines[-1],
    )
    assert "good.csv: 120 rows, 3 columns (1 number, 1 categorical or text, 1 date); classes in 'state': sick " in err
    assert "The positive class for f1 is 'sick'." in err


def test_compare_as_json_is_nothing_but_json(run, good):
    options = ("--models", "ensemble, boosting", "--methods", "auto, cross_entropy", "--metric", "mcc", *SHORT, "--json")
    code, out, _ = run("compare", good, *options)
    found = json.loads(out)
    assert code == 0
    assert (found["target"], found["partial"]) == ("state", False)  # the last column
    assert [(row["model"], row["method"]) for row in found["results"]] == [
        *(("trivial", "constant"), ("linear", "cross_entropy"), ("linear", "threshold"), ("linear", "auto")),
        *(("boosting", "cross_entropy"), ("boosting", "threshold"), ("ensemble", "cross_entropy"), ("ensemble", "threshold")),
    ]
    assert {len(row["scores"]) for row in found["results"]} == {2}
    assert {row["importance"] for row in found["results"]} == {None}
    assert (found["reference"], found["status"], found["recommended"], found["next_command"]) == (
        *("linear, threshold", "none", None, ""),  # two scores
    )


def test_a_report_has_the_importance_of_columns(run, good, tmp_path):
    out, err = run.ok("compare", good, *LINEAR, "--report", "page.html", "--json")
    assert "Report: page.html" in err
    explained = [row["importance"] for row in json.loads(out)["results"] if row["importance"]]
    assert [list(one) for one in explained] == [["age", "colour", "day"]]
    assert "Permutation importance for linear, threshold" in (tmp_path / "page.html").read_text()


def test_fit_writes_a_whole_model(fitted):
    files = ["arrays.safetensors", "model.json", "report.html", "scores.json", "table.json"]
    assert sorted(file.name for file in fitted.iterdir()) == files
    assert hidden(fitted.parent) == []
    classifier = mf.MetricClassifier.load(fitted)
    assert classifier.classes_.tolist() == ["sick", "well"]
    text = (fitted / REPORT_FILE).read_text()
    assert f"The model in this folder is <b>linear</b> by the method <b>{classifier.chosen_}</b>, fitted to all rows." in text
    assert "Permutation importance for linear, auto" in text
    found = json.loads((fitted / TABLE_FILE).read_text())
    assert found["target"] == "state"
    assert [column["type"] for column in found["columns"]] == ["number", "string", "date"]


def test_fit_says_that_the_method_is_the_automatic_choice(run, good):
    """The issue: `compare` recommended "linear, auto", and its command "Fitted to all rows: linear by threshold"."""
    _, out, _ = run("fit", good, "--out", "model", "--model", "linear", *SHORT)
    chosen = mf.MetricClassifier.load("model").chosen_
    assert f"Fitted to all rows: linear by {chosen}, the automatic choice, for f1." in out.splitlines()
    _, out, _ = run("fit", good, "--out", "other", "--model", "linear", "--method", "threshold", *SHORT)
    assert "Fitted to all rows: linear by threshold, for f1." in out.splitlines()


def test_fit_says_what_it_found_as_json(run, good):
    code, out, _ = run("fit", good, "--out", "model", "--model", "linear", *SHORT, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["model"], found["learner"], found["notes"]) == ("model", "linear", [])
    compared = [f"{row['model']}, {row['method']}" for row in found["results"]]
    assert compared == ["trivial, constant", "linear, cross_entropy", "linear, threshold", "linear, auto"]


def test_fit_takes_an_ensemble_by_default_and_says_so(run, table):
    good = table([HEADER, *rows(210)], "larger.csv")
    out, err = run.ok("fit", good, "--out", "model", *SHORT)
    assert "Fitting to all rows." in err
    lines = out.strip().splitlines()
    assert [line.split()[0] for line in lines[2:10:2]] == ["trivial", "linear", "boosting", "ensemble"]
    classifier = mf.MetricClassifier.load("model")
    assert lines[-3:] == [
        f"Fitted to all rows: ensemble by {classifier.chosen_}, for f1.",
        "Model and report.html: model",
        "Next: metricfit predict model new.csv --out predictions.csv",
    ]
    assert run("predict", "model", good, "--out", "p.csv")[0] == 0
    shown = json.loads(run("inspect", "model", "--json")[1])
    assert shown["model"] == classifier.learner_ == "ensemble"
    assert "ensemble, threshold" in shown["held out"]


def test_fit_fits_nothing_that_was_not_compared(run, good):
    out, _ = run.ok("fit", good, "--out", "model", *SHORT)
    for name in ("boosting", "ensemble"):
        assert f"{name} is left out: there are fewer than 100 rows to train on." in out
    assert "boosting is left out: there are fewer than 100 rows to train on." in run("inspect", "model")[1]
    assert mf.MetricClassifier.load("model").learner_ == "linear"


def test_inspect_shows_the_costs(run, good):
    options = ("--cost", "sick,well=5; well,sick=1", "--model", "linear", "--repeats", "1")
    assert run("fit", good, *options, "--out", "model")[0] == 0
    lines = run("inspect", "model")[1].splitlines()
    at = lines.index("costs           sick, predicted well  5")
    assert lines[at + 1].split() == ["well,", "predicted", "sick", "1"]
    assert lines[0].split() == ["metric", "cost", "per", "case"]
    scores = [line for line in lines if "linear, threshold  " in line]
    assert len(scores) == 1
    assert 0.0 < float(scores[0].split()[-1]) < 5.0
    costs = {"sick, predicted well": 5.0, "well, predicted sick": 1.0}
    assert json.loads(run("inspect", "model", "--json")[1])["costs"] == costs


def test_inspect_describes_a_rule(run, table):
    """The issue: "Folder rule.json does not exist." of a file that does."""
    scores = table(
        ["p_bad,y", *(f"{index / 40:.3f},{'bad' if index % 7 > 7 - index / 8 else 'good'}" for index in range(1, 40))]
    )
    assert run("decide", scores, "--target", "y", "--metric", "f1", "--positive", "bad", "--out", "rule.json")[0] == 0
    rule = mf.DecisionRule.load("rule.json")
    code, out, _ = run("inspect", "rule.json")
    assert (code, out.rstrip("\n")) == (0, rule.summary())
    assert json.loads(run("inspect", "rule.json", "--json")[1])["rule"] == rule.summary().splitlines()
    code, out, err = run("inspect", scores)
    assert (code, out) == (1, "")
    assert "is not a decision rule of metricfit." in err


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("compare", ("--jobs", "1"), "10 splits of the comparison take about 10 minutes."),
        ("compare", ("--jobs", "4"), "10 splits of the comparison take about 3 minutes."),
        ("compare", ("--time", "day"), "5 splits of the comparison take about 5 minutes."),
        ("fit", ("--out", "m"), "10 splits of the comparison and the fit to all rows take about 11 minutes."),
    ],
)
def test_a_time_limit_says_how_long_all_fits_take(run, good, monkeypatch, command, options, words):
    def stop(*_, **__):  # before any fit
        raise UsageError("stopped")

    monkeypatch.setattr("metricfit.comparison.compare", stop)
    code, _, err = run(command, good, "--time-limit", "60", *options)
    assert code == 2
    assert err.splitlines()[-2:] == [f"--time-limit is for each fit of the ensemble: {words}", "metricfit: stopped"]


def test_inspect_says_what_is_in_a_model(run, fitted):
    out, _ = run.ok("inspect", fitted)
    for words in (
        "metric          f1",
        "sick, well",
        "colour  string",
        "target          state",
        "model           linear",
        "linear, threshold",
        "best            ",
        "fitted          linear, auto",
        "verdict         linear, auto scores 0.",
        "\n                Linear model: ",
        "torch",
    ):
        assert words in out
    found = json.loads(run("inspect", fitted, "--json")[1])
    assert found["columns"] == {"age": "number", "colour": "string", "day": "date"}
    compared = {"trivial, constant", *(f"linear, {name}" for name in ("cross_entropy", "threshold", "auto"))}
    assert set(found["held out"]) == compared
    assert {found["best"], found["fitted"]} <= compared
    assert set(found["versions"]) == {"metricfit", "scikit-learn", "torch"}


def test_metrics_are_listed(run):
    out, _ = run.ok("metrics")
    assert [line.split()[0] for line in out.splitlines()] == [*names(), "f<beta>"]
    assert max(map(len, out.splitlines())) <= 110
    assert list(json.loads(run("metrics", "--json")[1])) == names()


@pytest.mark.parametrize("command", ["compare", "fit", "predict", "inspect", "metrics", "demo"])
def test_help_ends_in_an_example(run, command):
    out, _ = run.ok(command, "--help")
    assert f"Example: metricfit {command}" in " ".join(out.strip().splitlines()[-2:])


def test_version_and_no_arguments(run):
    assert run("--version")[:2] == (0, f"metricfit {mf.__version__}\n")
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err == run("--help")[1]
    assert "\n  compare  " in err


def test_help_and_inspect_import_neither_torch_nor_anything_else_heavy():
    heavy = ("torch", "numpy", "scipy", "sklearn", "pyarrow")
    code = "import sys; from metricfit.cli import app, _inspect; "
    code += f"print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
