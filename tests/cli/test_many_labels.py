"""Several labels per row on the command line: several columns of targets, and of predictions."""

import json

import numpy as np
import pytest
from scipy.special import expit

from metricfit import DecisionRule
from tests.cli.test_decide import lines_of

LABELS = ("jazz", "rock", "folk")


def songs(n=300, seed=0):
    """Targets, and scores in another order."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, 3)) + random.normal(size=(n, 1)) - [0.5, 1.0, 1.5]
    labels = (random.random((n, 3)) < expit(2.0 * logits)).astype(int)
    scores = {f"p_{LABELS[index]}": expit(logits[:, index]) for index in (2, 0, 1)}
    return {"id": np.arange(n), **{f"y_{label}": labels[:, index] for index, label in enumerate(LABELS)}, **scores}


def arrays(columns):
    return tuple(np.stack([columns[f"{prefix}_{label}"] for label in LABELS], 1) for prefix in "py")


def expected(columns, metric="f1_samples"):
    return DecisionRule(metric, classes=list(LABELS)).fit(*arrays(columns))


def test_thresholds_and_predictions_are_those_of_python(run, table):
    columns = songs()
    file, rule = table(lines_of(columns), "songs.csv"), expected(columns)
    given = ("decide", file, "--target", "y_jazz,y_rock", "--target", "y_folk", "--metric", "f1_samples")
    code, out, err = run(*given, "--out", "rule.json")
    assert (code, out) == (0, f"{rule.summary()}\nNext: metricfit predict rule.json new_scores.csv\n")
    sizes = ", ".join(f"{label} {columns[f'y_{label}'].sum()}" for label in LABELS)
    assert err.startswith(f"songs.csv: 300 rows; labels: {sizes}.\n")
    found = json.loads(run(*given, "--json")[1])
    assert (found["target"], found["threshold"]) == (["y_jazz", "y_rock", "y_folk"], None)
    assert found["thresholds"] == rule.thresholds_.tolist()
    code, out, _ = run("predict", "rule.json", file, "--keep", "id")
    header, *lines = out.splitlines()
    assert (code, header) == (0, '"id","prediction_jazz","prediction_rock","prediction_folk"')
    predicted = np.array([list(map(int, line.replace('"', "").split(","))) for line in lines])
    np.testing.assert_array_equal(predicted[:, 1:], rule.predict(arrays(columns)[0]))


def test_a_rule_of_lists_in_python_predicts_columns(run, table, tmp_path):
    columns = songs()
    scores, labels = arrays(columns)
    lists = [[name for name, is_on in zip(LABELS, row, strict=True) if is_on] for row in labels]
    DecisionRule("f1_macro", classes=list(LABELS)).fit(scores, lists).save(tmp_path / "rule.json")
    out, _ = run.ok("predict", "rule.json", table(lines_of(columns)))
    predicted = np.array([list(map(int, line.split(","))) for line in out.splitlines()[1:]])
    np.testing.assert_array_equal(predicted, expected(columns, "f1_macro").predict(scores))


def test_rows_without_one_of_the_targets_are_dropped_and_words_are_read(run, table):
    columns = songs()
    columns["y_jazz"] = np.where(columns["id"] < 5, "", np.where(columns["y_jazz"] == 1, "true", "false"))
    code, out, err = run("decide", table(lines_of(columns)), "--target", "2,3,4", "--json")
    assert (code, json.loads(out)["n_rows"]) == (0, 295)
    assert "5 rows without a value in 'y_jazz, y_rock, y_folk' are dropped." in err
    assert "No --metric: f1_macro is used." in err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--target", "y_jazz,id"), 1, "songs.csv, column 'id': one of several targets should be 0 and 1, or true and false, got '10'. For one label per row, pass one --target."),
        (("--target", "y_jazz", "--metric", "f1_samples"), 2, "--metric f1_samples is for several labels per row: pass all their columns as --target a,b."),
        (("--target", "y_jazz,y_rock", "--budget", "jazz=3"), 2, "--budget is for rows with one label each, but these have several. Leave it out."),
        (("--target", "y_jazz,y_rock", "--classes", "a,b"), 2, "--classes is for rows with one label each, and these have several. Leave it out."),
        (("--target", "y_jazz,y_rock", "--scores", "p_jazz"), 1, "Only column 'p_jazz' has scores, and there are 2 labels. Pass --scores with a column for each of them."),
        (("--target", ""), 2, "--target should name columns, got ''."),
    ],
)  # fmt: skip
def test_one_line_for_a_mistake(run, table, options, code, message):
    table(lines_of(songs()), "songs.csv")
    assert run("decide", "songs.csv", *options) == (code, "", f"metricfit: {message}\n")
