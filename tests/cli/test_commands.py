"""What the commands do when all is well."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import metricfit as mf
from metricfit import methods
from metricfit.cli._model import REPORT_FILE, TABLE_FILE
from metricfit.metrics import names
from tests.cli.conftest import HEADER, rows
from tests.processes import PATIENCE, started

SHORT = ("--repeats", "1", "--folds", "2")
LINEAR = ("--models", "linear", *SHORT)


def test_compare_prints_a_table_and_two_sentences(run, good):
    code, out, err = run(
        "compare", good, "--target", "state", "--metric", "f1", "--positive", "sick", "--models", "linear", "--repeats", "1"
    )
    assert code == 0
    lines = out.strip().splitlines()
    assert max(map(len, lines[:-3])) <= 120
    heads = [head.strip() for head in re.split(r"\s{2,}", lines[0])]
    assert heads == ["model", "method", "f1", "vs linear threshold", "p (Holm)", "fit, s"]
    assert [line.split()[:2] for line in lines[2 : 3 + len(methods.names())]] == [
        ["trivial", "always"],
        *(["linear", name] for name in methods.names()),
    ]
    assert lines[-3].startswith("Best: ")
    assert lines[-2].startswith("Linear model: ")
    assert re.fullmatch(
        r"Next: metricfit fit \S*good.csv --target state --metric f1 --positive sick --repeats 1 --model linear.* --out model",
        lines[-1],
    )
    assert "good.csv: 120 rows, 3 columns (1 number, 1 categorical or text, 1 date); classes in 'state': sick " in err
    assert "The positive class for f1 is 'sick'." in err


def test_compare_models(run, good):
    code, out, _ = run("compare", good, "--models", "ensemble, boosting", *SHORT, "--json")
    assert code == 0
    models = [result["model"] for result in json.loads(out)["results"]]
    assert list(dict.fromkeys(models)) == ["trivial", "linear", "boosting", "ensemble"]


def test_compare_as_json_is_nothing_but_json(run, good):
    code, out, _ = run("compare", good, "--metric", "mcc", "--models", "linear", "--repeats", "1", "--folds", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["target"] == "state"  # the last column
    assert [len(result["scores"]) for result in found["results"]] == [3] * (1 + len(methods.names()))
    assert {result["importance"] for result in found["results"]} == {None}
    names = [f"{result['model']}, {result['method']}" for result in found["results"]]
    assert found["reference"] == "linear, threshold"
    assert {found["best"], found["reference"]} <= set(names)
    assert (found["status"], found["recommended"], found["next_command"]) == ("none", None, "")  # three scores


def test_a_report_has_the_importance_of_columns(run, good, tmp_path):
    code, out, err = run("compare", good, *LINEAR, "--report", "page.html", "--json")
    assert code == 0
    assert "Report: page.html" in err
    explained = [result["importance"] for result in json.loads(out)["results"] if result["importance"]]
    assert [list(one) for one in explained] == [["age", "colour", "day"]]
    assert "Permutation importance for linear, auto" in (tmp_path / "page.html").read_text()


def test_several_classes_take_the_macro_mean(run, table):
    three = [f"{line.rsplit(',', 1)[0]},{'abc'[place % 3]}" for place, line in enumerate(rows())]
    code, out, err = run("compare", table([HEADER, *three]), "--metric", "f1", *LINEAR, "--json")
    assert code == 0
    assert json.loads(out)["metric"] == "f1_macro"
    assert "f1_macro, the mean over classes, is used instead" in err


def test_without_a_header_and_by_number(run, table):
    code, out, err = run("compare", table(rows()), "--no-header", "--target", "4", "--drop", "3", *LINEAR, "--json")
    assert code == 0
    assert json.loads(out)["columns"] == 2
    _, _, err = run("compare", table(rows()), *LINEAR, "--json")
    assert "The first line has numbers and is read as data" in err


def test_fit_writes_a_whole_model(run, fitted):
    assert sorted(file.name for file in fitted.iterdir()) == [
        "arrays.safetensors",
        "model.json",
        "report.html",
        "scores.json",
        "table.json",
    ]
    assert [path.name for path in fitted.parent.iterdir() if path.name.startswith(".")] == []
    classifier = mf.MetricClassifier.load(fitted)
    assert classifier.classes_.tolist() == ["sick", "well"]
    text = (fitted / REPORT_FILE).read_text()
    assert f"The model in this folder is <b>linear</b> by the method <b>{classifier.chosen_}</b>, fitted to all rows." in text
    assert "Permutation importance for linear, auto" in text


def test_fit_says_what_it_found_as_json(run, good):
    code, out, _ = run("fit", good, "--out", "model", "--model", "linear", *SHORT, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["model"], found["learner"], found["notes"]) == ("model", "linear", [])
    compared = [f"{result['model']}, {result['method']}" for result in found["results"]]
    assert compared == ["trivial, constant", "linear, cross_entropy", "linear, threshold", "linear, auto"]


def test_fit_fits_nothing_that_was_not_compared(run, good):
    code, out, _ = run("fit", good, "--out", "model", *SHORT)
    assert code == 0
    assert "ensemble is left out: there are fewer than 100 rows to train on." in out
    assert mf.MetricClassifier.load("model").learner_ == "linear"


def test_fit_takes_an_ensemble_by_default_and_says_so(run, table):
    good = table([HEADER, *rows(210)], "larger.csv")
    code, out, err = run("fit", good, "--out", "model", *SHORT)
    assert code == 0
    assert "Fitting to all rows." in err
    lines = out.strip().splitlines()
    assert [line.split()[0] for line in lines[2:10:2]] == ["trivial", "linear", "boosting", "ensemble"]
    classifier = mf.MetricClassifier.load("model")
    assert classifier.learner_ == "ensemble"
    assert lines[-3:] == [
        f"Fitted to all rows: ensemble by {classifier.chosen_}, for f1.",
        "Model and report.html: model",
        "Next: metricfit predict model new.csv --out predictions.csv",
    ]
    assert run("predict", "model", good, "--out", "p.csv")[0] == 0
    shown = json.loads(run("inspect", "model", "--json")[1])
    assert shown["model"] == "ensemble"
    assert "ensemble, threshold" in shown["held out"]


def test_fit_tells_which_members_are_left_out(run, table):
    code, out, _ = run("fit", table([HEADER, *rows(60)]), "--out", "model", *SHORT)
    assert code == 0
    assert "boosting is left out: there are fewer than 100 rows to train on." in out
    assert "boosting is left out: there are fewer than 100 rows to train on." in run("inspect", "model")[1]


def test_predictions_are_those_of_the_model(run, fitted, good):
    code, _, err = run("predict", fitted, good, "--out", "p.csv", "--probabilities")
    assert code == 0
    assert "120 rows: p.csv" in err
    found, features = csv.read_csv("p.csv"), csv.read_csv(good).drop_columns("state")
    classifier = mf.MetricClassifier.load(fitted)
    assert found.column_names == ["prediction", "probability_sick", "probability_well"]
    assert found["prediction"].to_pylist() == classifier.predict(features).tolist()
    np.testing.assert_allclose(found["probability_well"].to_numpy(), classifier.predict_proba(features)[:, 1], rtol=1e-12)


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
def test_formats_of_predictions(run, fitted, good, name):
    assert run("predict", fitted, good, "--out", name)[0] == 0
    found = parquet.read_table(name) if name.endswith("parquet") else csv.read_csv(name)  # arrow unpacks by the suffix
    assert found.num_rows == 120
    assert run("predict", fitted, good, "--out", name)[0] == 2
    assert run("predict", fitted, good, "--out", name, "--overwrite")[0] == 0


def test_predict_takes_columns_by_name_and_unseen_categories(run, fitted, table):
    new = table(["extra,day,colour,age", "1,2024-05-01,violet,44", "2,,,", "3,2024-06-01,red,70"], "new.csv")
    assert run("predict", fitted, new, "--out", "p.csv", "--probabilities")[0] == 0
    found = csv.read_csv("p.csv")
    assert found.num_rows == 3
    assert found["prediction"].to_pylist()[2] == "sick"
    probability = np.stack([found[name].to_numpy() for name in found.column_names[1:]], 1)
    np.testing.assert_allclose(probability.sum(1), 1.0)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_rows_give_no_predictions(run, fitted, table, kind):
    header = table([HEADER.rsplit(",", 1)[0]], "none.csv")
    assert run("predict", fitted, header, "--out", f"p.{kind}", "--probabilities")[0] == 0
    found = csv.read_csv("p.csv") if kind == "csv" else parquet.read_table("p.parquet")
    assert found.num_rows == 0
    assert found.column_names == ["prediction", "probability_sick", "probability_well"]


def test_overwriting_goes_through_links_and_into_pipes(run, fitted, good, tmp_path):
    (tmp_path / "kept.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("kept.csv")
    assert run("predict", fitted, good, "--out", "link.csv", "--overwrite")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert csv.read_csv("kept.csv").num_rows == 120
    assert run("predict", fitted, good, "--out", "/dev/null", "--overwrite")[0] == 0
    assert not os.path.isfile("/dev/null")


def test_a_model_without_a_header_predicts_by_place(run, table):
    numbered = table([",".join(reversed(line.split(","))) for line in rows()], "numbered.csv")  # the target comes first
    assert run("fit", numbered, "--no-header", "--target", "1", "--out", "m", "--model", "linear", *SHORT)[0] == 0
    bare = table([",".join(list(reversed(line.split(",")))[1:]) for line in rows()], "bare.csv")
    assert run("predict", "m", numbered, "--out", "with.csv")[0] == 0
    assert run("predict", "m", bare, "--out", "without.csv")[0] == 0
    assert csv.read_csv("with.csv").equals(csv.read_csv("without.csv"))


def test_a_model_saved_from_python_predicts_too(run, good, tmp_path):
    features = csv.read_csv(good)
    target = features["state"].to_pylist()
    mf.MetricClassifier("f1", model="linear", method="threshold", random_state=0).fit(
        features.drop_columns("state"), target
    ).save("framed")
    assert run("predict", "framed", good, "--out", "p.csv")[0] == 0
    numbers = np.random.default_rng(0).normal(size=(60, 2))
    mf.MetricClassifier("f1", model="linear", method="threshold", random_state=0).fit(numbers, numbers[:, 0] > 0).save("bare")
    csv.write_csv(pa.table({"a": numbers[:, 0], "b": numbers[:, 1]}), "numbers.csv", csv.WriteOptions(include_header=False))
    assert run("predict", "bare", "numbers.csv", "--out", "q.csv")[0] == 0
    assert csv.read_csv("q.csv").num_rows == 60


def test_inspect_shows_the_costs(run, good):
    assert (
        run("fit", good, "--cost", "sick,well=5; well,sick=1", "--model", "linear", "--repeats", 1, "--out", "model")[0] == 0
    )
    lines = run("inspect", "model")[1].splitlines()
    at = lines.index("costs           sick, predicted well  5")
    assert lines[at + 1].split() == ["well,", "predicted", "sick", "1"]
    assert json.loads(run("inspect", "model", "--json")[1])["costs"] == {
        "sick, predicted well": 5.0,
        "well, predicted sick": 1.0,
    }


def test_inspect_says_what_is_in_a_model(run, fitted):
    code, out, _ = run("inspect", fitted)
    assert code == 0
    for words in (
        "metric          f1",
        "sick, well",
        "colour  string",
        "target          state",
        "model           linear",
        "linear, threshold",
        "best            ",
        "fitted          linear, auto",
        "verdict         linear, auto, 0.",
        "\n                Linear model: ",
        "torch",
    ):
        assert words in out
    found = json.loads(run("inspect", fitted, "--json")[1])
    assert found["columns"] == {"age": "number", "colour": "string", "day": "date"}
    assert set(found["held out"]) == {
        "trivial, constant",
        *(f"linear, {name}" for name in ("cross_entropy", "threshold", "auto")),
    }
    assert {found["best"], found["fitted"]} <= set(found["held out"])
    assert set(found["versions"]) == {"metricfit", "scikit-learn", "torch"}


def test_metrics_are_listed(run):
    code, out, _ = run("metrics")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [*names(), "f<beta>"]
    assert max(map(len, out.splitlines())) <= 110
    assert list(json.loads(run("metrics", "--json")[1])) == names()


@pytest.mark.parametrize("command", ["compare", "fit", "predict", "inspect", "metrics", "demo"])
def test_help_ends_in_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example: metricfit {command}" in " ".join(out.strip().splitlines()[-2:])


def test_compare_takes_methods(run, good):
    code, out, _ = run("compare", good, *LINEAR, "--methods", "auto, cross_entropy", "--json")
    assert code == 0
    found = json.loads(out)
    assert [row["method"] for row in found["results"]] == ["constant", "cross_entropy", "threshold", "auto"]
    assert found["partial"] is False


def test_version(run):
    assert run("--version")[:2] == (0, f"metricfit {mf.__version__}\n")


def metricfit(*arguments):
    return started([sys.executable, "-m", "metricfit", *arguments])


def test_without_arguments_it_prints_the_help_as_it_is(run):
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err == run("--help")[1]
    assert err.startswith("Usage: ")
    assert "\n  compare  " in err


def test_help_imports_neither_torch_nor_anything_else_heavy():
    code = "import sys; from metricfit.cli import app; print([m for m in ('torch', 'numpy', 'scipy', 'sklearn', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "sent"), [(1, signal.SIGTERM), (2, signal.SIGINT)])
def test_interrupted_it_leaves_nothing(good, tmp_path, jobs, sent):
    many = tmp_path / "many.csv"
    many.write_text("\n".join([HEADER, *rows(2000)]) + "\n")
    options = ("--model", "linear", "--repeats", 50, "--jobs", jobs)
    with metricfit("fit", many, "--out", tmp_path / "model", *options) as process:
        while not process.stderr.readline().startswith("Split 3 of 250 "):  # every worker works by now
            assert process.poll() is None
        os.killpg(process.pid, sent)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "metricfit: Interrupted; nothing was written."
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.csv", "many.csv"]


@pytest.mark.slow
def test_predict_does_not_hold_the_file_in_memory(fitted, tmp_path):
    """Ten times the rows, the same memory: 200,000 rows more would be 50 MB as a table, and more as features."""
    peaks = []
    for n_rows in (20_000, 220_000):
        path = tmp_path / f"{n_rows}.csv"
        path.write_text(HEADER + "\n" + ("\n".join(rows(1000)) + "\n") * (n_rows // 1000))
        with metricfit("predict", fitted, path, "--out", tmp_path / f"{n_rows}.out.csv") as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 40


def test_the_table_of_a_model_names_its_columns(fitted):
    found = json.loads((fitted / TABLE_FILE).read_text())
    assert found["target"] == "state"
    assert [column["type"] for column in found["columns"]] == ["number", "string", "date"]
