"""``metricfit fit`` and ``compare`` with ``--subject-to``: what can be promised, and refusals."""

import json
import re

import numpy as np
import pytest

import metricfit as mf
from tests.cli.conftest import HEADER, check_error, rows

LINEAR = ("--metric", "recall", "--models", "linear", "--repeats", "1")
FIT = ("--metric", "recall", "--model", "linear", "--repeats", "1", "--out", "model")
PROMISE = ("--subject-to", "precision >= 0.6", "--confidence", "0.8", "--calibration", "0.3")
NINETY = ("--subject-to", "precision >= 0.9")
TOO_MUCH = ("--subject-to", "precision >= 0.99", "--confidence", "0.9", "--calibration", "0.3")


@pytest.fixture
def data(table):
    return table([HEADER, *rows(500)], "data.csv")


def test_compare_shows_what_is_kept_and_promised(run, data, tmp_path):
    out, _ = run.ok("compare", data, *LINEAR, *PROMISE, "--report", "report.html")
    assert re.search(r"model +recall +precision\[sick\] >= 0\.6 +kept +refused +fit, s", out)
    assert re.search(r"linear +0\.\d{4} \(.*\) +0\.\d{4} \(0\.\d{3} to \d\.\d{3}\) +\d/5 +\d", out)
    promise = "With probability 0.8 over the draw of the rows that set the rule, precision[sick] >= 0.6 holds in the population that they came from."
    assert promise in out
    assert "This says nothing about single batches or rows from another source. The promise is exact" in out
    (following,) = [line for line in out.splitlines() if line.startswith("Next: ")]
    assert following == (
        "Next: metricfit fit data.csv --metric recall --subject-to 'precision >= 0.6' --confidence 0.8 --calibration 0.3 "
        "--repeats 1 --model linear --out model"
    )
    page = (tmp_path / "report.html").read_text()
    assert "<h1>Use the linear model with a tuned threshold: recall 0." in page
    assert "<th>precision[sick] &gt;= 0.6</th>" in page
    assert promise.replace(">", "&gt;") in page


def test_fit_keeps_the_rule_and_predicts_by_it(run, data, tmp_path):
    out, _ = run.ok("fit", data, *FIT, *PROMISE, "--json")
    found = json.loads(out)
    (linear,) = [one for one in found["results"] if one["model"] == "linear"]
    assert found["attainable"] is True
    assert found["subject"] == "linear, threshold"
    assert found["limits"]["subject_to"] == "precision[sick] >= 0.6"
    assert linear["constraints"][0]["low"] < linear["constraints"][0]["value"] < linear["constraints"][0]["high"]
    assert linear["refused"] == sum(one is None for one in linear["kept_by_split"]) == sum(map(bool, linear["refusals"]))
    assert all(score == 0 for score, why in zip(linear["scores"], linear["refusals"], strict=True) if why)
    model = mf.MetricClassifier.load(tmp_path / "model")
    assert model.rule_.summary().split("\n") == found["rule"]
    out, _ = run.ok("predict", "model", data)
    predicted = [line.strip('"') for line in out.splitlines()[1:]]
    truth = [row.split(",")[-1] for row in rows(500)]
    hits = [want == "sick" for want, said in zip(truth, predicted, strict=True) if said == "sick"]
    assert 0 < len(hits) < 250
    assert np.mean(hits) > 0.6


def test_a_refusal_is_an_answer_and_writes_nothing(run, data, tmp_path):
    out, _ = run.ok("fit", data, *FIT, *TOO_MUCH)
    refusal = (
        r"Not attainable: the best precision\[sick\] that can be promised with 90% confidence from these \d+ rows is 0\.\d+"
    )
    assert re.search(f"^{refusal}", out, re.MULTILINE)
    assert out.endswith("Pass --fallback best to use the best limit that is possible. No model was written.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    code, out, _ = run("fit", data, *FIT, *TOO_MUCH, "--json")
    assert (code, json.loads(out)["model"], json.loads(out)["attainable"]) == (0, None, False)
    out, _ = run.ok("fit", data, *FIT, *TOO_MUCH, "--fallback", "best")
    assert re.search(rf"{refusal}.*\nModel and report.html: model\nNext: metricfit predict model", out, re.DOTALL)
    assert run("predict", "model", data)[0] == 0


def test_a_model_that_refuses_does_not_predict(run, data, tmp_path):
    x, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    options = {"subject_to": "precision >= 0.99", "confidence": 0.9, "calibration": 0.3}
    mf.MetricClassifier("recall", model="linear", random_state=0, **options).fit(x, y).save(tmp_path / "refused")
    code, out, err = run("predict", "refused", data)
    assert (code, out) == (1, "")
    assert re.fullmatch(
        r"metricfit: refused makes no decisions\. Not attainable: .* Run `metricfit fit` with --fallback best\.\n", err
    )


def test_nothing_attainable_is_the_verdict_of_compare(run, data):
    out, _ = run.ok("compare", data, *LINEAR, *TOO_MUCH)
    assert "Not attainable: no model can promise precision[sick] >= 0.99 with confidence 0.9 on most splits." in out
    assert re.search(
        r"linear, threshold refused on 5 of 5 splits, first with: Not attainable: the best precision\[sick\]", out
    )
    assert "Next: " not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subject-to", "recall >= 0.9 and recall <= 0.5"), "--subject-to contradicts itself: recall[sick] >= 0.9 and recall[sick] <= 0.5."),
        (("--confidence", "0.9"), "--confidence is for constraints: pass --subject-to too, such as 'precision >= 0.9'."),
        ((*NINETY, "--calibration", "3"), "--calibration should be a share of the rows such as 0.25, got 3.0."),
        ((*NINETY, "--confidence", "0.9", "--group", "colour"), "--confidence needs independent rows, but rows of one group are dependent. Leave out --confidence or --group."),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(run, good, tmp_path, options, message):
    for command in ("compare", "fit"):
        more = ("--out", "model") if command == "fit" else ("--report", "report.html")
        check_error(run(command, good, "--metric", "recall", *options, *more), 2, message, tmp_path, ["good.csv"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("compare", *NINETY, "--methods", "exact"), "--methods should be left out with --subject-to: every model is trained with cross-entropy, because the rule decides by probabilities."),
        (("fit", *NINETY, "--method", "threshold", "--out", "model"), "--method cannot be combined with --subject-to, which trains the model with cross-entropy. Leave it out."),
        (("fit", "--fallback", "best", "--out", "model"), "--fallback is for constraints: pass --subject-to too, such as 'precision >= 0.9'."),
        (("fit", "--stream", *NINETY, "--out", "model"), "--subject-to does not support files that are read in parts. Leave it out, or pass one file."),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(run, good, tmp_path, command, message):
    check_error(run(command[0], good, *command[1:]), 2, message, tmp_path)
