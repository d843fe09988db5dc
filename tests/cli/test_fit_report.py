"""`fit` reports the model that it saves, and both commands name the next one."""

import inspect
import json
import shlex
from pathlib import Path

import pytest
from pyarrow import csv
from sklearn.metrics import accuracy_score, f1_score

import metricfit as mf
from metricfit.cli._compare import after_compare, after_fit
from metricfit.cli._options import CompareOptions
from tests.cli.conftest import HEADER, LINEAR, rows
from tests.comparison.made import around, compare_scores


@pytest.mark.parametrize(
    ("options", "metric", "subject"),
    [
        ((), "f1", "ensemble, threshold"),
        (("--model", "boosting"), "accuracy", "boosting, cross_entropy"),  # offsets have nothing to add to accuracy
        (("--model", "linear"), "f1", "linear, auto"),
        (("--model", "linear", "--method", "leaky"), "f1", "linear, leaky"),
    ],
)
def test_fit_reports_the_score_of_the_model_that_it_saves(run, table, options, metric, subject):
    """Both are fitted to the same rows here, so that the predictions of the saved model give the reported score exactly."""
    train, test = table([HEADER, *rows(150)], "train.csv"), table([HEADER, *rows(80, 1)], "test.csv")
    positive = ("--positive", "sick") if metric == "f1" else ()
    out, _ = run.ok("fit", train, "--test", test, "--metric", metric, *positive, "--out", "model", *options)
    assert run("predict", "model", test, "--out", "p.csv")[0] == 0
    predicted = csv.read_csv("p.csv")["prediction"].to_pylist()
    target = [line.rsplit(",", 1)[1] for line in rows(80, 1)]
    score = f1_score(target, predicted, pos_label="sick") if metric == "f1" else accuracy_score(target, predicted)
    scores = json.loads(Path("model/scores.json").read_text())
    (own,) = (one for one in scores["results"] if f"{one['model']}, {one['method']}" == subject)
    assert scores["subject"] == subject
    assert own["mean"] == score
    line = next(line for line in out.splitlines() if line.startswith(f"{subject} scores {score:.4f} (95 % interval "))
    report = Path("model/report.html").read_text()
    assert scores["verdict"].splitlines()[0] == line
    assert scores["headline"].replace("'", "&#39;") in report
    assert "split" not in line
    assert "metricfit predict model new.csv --out predictions.csv" in report
    assert "on held-out rows" not in out  # one score


def options_of(**given):
    """The options of `compare`, with these."""
    return CompareOptions(**{"data": Path("my data.csv"), **given})


def test_the_next_command_fits_the_recommended_contender_with_the_same_options():
    found = compare_scores(linear_threshold=around(0.6, 0.01), boosting_threshold=around(0.8))
    given = options_of(target="the end", metric="f1", drop=["id", "a,b"], positive="it's", header=False, seed=3, merge_rare=4)
    command = after_compare(given, found)
    assert shlex.split(command) == [
        *("metricfit", "fit", "my data.csv", "--target", "the end", "--metric", "f1", "--positive", "it's"),
        *("--drop", "id", "--drop", "a,b", "--merge-rare", "4", "--no-header", "--seed", "3"),
        *("--model", "boosting", "--out", "model"),
    ]
    linear = compare_scores(linear_threshold=around(0.6, 0.01), linear_exact=around(0.8))
    assert after_compare(options_of(), linear).endswith(" --model linear --method exact --out model")
    auto = compare_scores(linear_threshold=around(0.6, 0.01), linear_auto=around(0.8))
    assert after_compare(options_of(), auto) == "metricfit fit 'my data.csv' --model linear --out model"
    assert after_fit(Path("my model")) == "metricfit predict 'my model' new.csv --out predictions.csv"


def test_the_next_command_without_a_recommendation():
    nothing = compare_scores(trivial_constant=around(0.6), linear_threshold=around(0.6, 0.1))
    assert after_compare(options_of(), nothing) == ""
    recall = compare_scores("recall", trivial_constant=around(1.0), linear_threshold=around(0.9, 0.1))
    given = options_of(metric="recall", models="linear")
    assert after_compare(given, recall) == "metricfit compare 'my data.csv' --metric f2 --models linear"


def test_an_absolute_path_below_the_folder_is_shortened(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = compare_scores(linear_threshold=around(0.6))
    assert after_compare(options_of(data=tmp_path / "a" / "b.csv"), found).startswith("metricfit fit a/b.csv ")
    assert after_compare(options_of(data=Path("/elsewhere.csv")), found).startswith("metricfit fit /elsewhere.csv ")


def test_one_default_metric_in_python_and_a_note_of_the_command(run, good):
    """Accuracy in Python, as scikit-learn's ``score``; the command says that it takes f1."""
    for front in (mf.MetricClassifier, mf.OffsetClassifier, mf.compare, mf.tune_offsets):
        assert inspect.signature(front).parameters["metric"].default == "accuracy"
    assert (
        "No --metric: f1 is used, since accuracy can be high without finding a rare class." in run("compare", good, *LINEAR)[2]
    )
    assert "No --metric" not in run("compare", good, *LINEAR, "--metric", "mcc")[2]
