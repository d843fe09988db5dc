"""Predictions of one file and of many: what is copied, what is left out, and what happens to rows that cannot be read."""

import gzip
import json
import os
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import metricfit as mf
from metricfit.cli import _predict
from metricfit.data import _read as reading
from tests.cli.conftest import HEADER, NEW, SHORT, rows
from tests.data.workbook import write_workbook
from tests.processes import started


def answers(out):
    """The rows of a CSV text as lists of cells."""
    return [line.replace('"', "").split(",") for line in out.splitlines()]


def test_predictions_are_those_of_the_model(run, fitted, good):
    _, err = run.ok("predict", fitted, good, "--out", "p.csv", "--probabilities")
    assert "120 rows: p.csv" in err
    found, features = csv.read_csv("p.csv"), csv.read_csv(good).drop_columns("state")
    classifier = mf.MetricClassifier.load(fitted)
    assert found.column_names == ["prediction", "probability_sick", "probability_well"]
    assert found["prediction"].to_pylist() == classifier.predict(features).tolist()
    np.testing.assert_allclose(found["probability_well"].to_numpy(), classifier.predict_proba(features)[:, 1], rtol=1e-12)
    plain = answers(run("predict", fitted, good)[1])
    assert plain == [["prediction"], *([label] for label in found["prediction"].to_pylist())]


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
def test_formats_of_predictions(run, fitted, good, table, name):
    def read():
        return parquet.read_table(name) if name.endswith("parquet") else csv.read_csv(name)  # arrow unpacks by the suffix

    assert run("predict", fitted, good, "--out", name)[0] == 0
    assert read().num_rows == 120
    assert run("predict", fitted, good, "--out", name)[0] == 2
    empty = table([HEADER.rsplit(",", 1)[0]], "none.csv")
    assert run("predict", fitted, empty, "--out", name, "--overwrite", "--probabilities")[0] == 0
    assert (read().num_rows, read().column_names) == (0, ["prediction", "probability_sick", "probability_well"])


def test_columns_by_name_and_unseen_categories(run, fitted, table):
    new = table(["extra,day,colour,age", "1,2024-05-01,violet,44", "2,,,", "3,2024-06-01,red,70"], "new.csv")
    found = answers(run("predict", fitted, new, "--probabilities")[1])[1:]
    assert len(found) == 3
    assert found[2][0] == "sick"
    np.testing.assert_allclose([float(row[1]) + float(row[2]) for row in found], 1.0)


def test_kept_columns_come_first_and_stay_as_written(run, fitted, table):
    new = table(NEW, "new.csv")
    out, _ = run.ok("predict", fitted, new, "--keep", "id,colour")
    found = answers(out)
    assert found[0] == ["id", "colour", "prediction"]
    assert [row[:2] for row in found[1:]] == [["007", "red"], ["008", "blue"], ["009", "red"]]
    assert run("predict", fitted, new, "--keep", "1", "--keep", "colour", "--keep", "id")[1] == out


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("idd", "--keep 'idd' is not a column. Did you mean 'id'? Columns: id, age, colour, day, prediction."),
        ("id,prediction", "--keep 'prediction' has the name of a column of the output. Rename it in the file."),
    ],
)
def test_columns_that_cannot_be_kept(run, fitted, table, keep, message):
    new = table([NEW[0] + ",prediction", *(line + ",x" for line in NEW[1:])], "new.csv")
    assert run("predict", fitted, new, "--keep", keep) == (2, "", f"metricfit: {message}\n")


def test_rows_that_cannot_be_read_keep_their_index(run, fitted, table):
    bad = ["1,old,red,2024-05-01", "2,50", "3,1e300,red,2024-05-01", "4,70,red,2024-05-01", "5,70,red,soon"]
    new = table([NEW[0], *bad], "new.csv")
    out, err = run.ok("predict", fitted, new, "--keep", "id", "--probabilities", "--on-error", "skip")
    found = answers(out)[1:]
    assert [row[0] for row in found] == ["1", "", "3", "4", "5"]  # what belongs to which column of a short row is not known
    assert [row[1] for row in found] == ["", "", "", "sick", ""]
    assert [row[2] == "" for row in found] == [True, True, True, False, True]
    assert err.splitlines() == [
        "4 rows have no prediction, because they cannot be read:",
        "  row 2, column 'age': 'old' is not a number",
        "  row 3 has 2 cells, expected 4 as in the first row",
        "  row 4, column 'age': 1e+300 is too large (maximum 1e+100)",
        "  row 6, column 'day': 'soon' is not a date",
    ]


def test_only_the_first_ten_bad_rows_are_named(run, fitted, table, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 100)
    new = table([NEW[0], *(f"{n},old,red,2024-05-01" for n in range(30)), NEW[1]], "new.csv")
    _, err = run.ok("predict", fitted, new, "--on-error", "skip", "--out", "p.csv")
    lines = err.splitlines()
    assert lines[:2] == ["31 rows: p.csv", "30 rows have no prediction, because they cannot be read; the first 10:"]
    assert len(lines) == 12
    assert csv.read_csv("p.csv").num_rows == 31  # a reader that skips blank lines finds all rows too


def test_a_number_that_overflows_in_the_model_names_row_and_column(run, good, table):
    assert run("fit", good, "--out", "model", "--model", "mlp", *SHORT)[0] == 0
    new = table([*NEW[:2], "1,1e50,red,2024-05-01", *NEW[2:]], "new.csv")
    code, out, err = run("predict", "model", new, "--probabilities")
    assert (code, out) == (1, "")
    assert err.startswith(f"metricfit: {new}, row 3, column 'age' is too far from the rows of the fit (")
    out, err = run.ok("predict", "model", new, "--probabilities", "--keep", "id", "--on-error", "skip")
    assert [line.count(",,") for line in out.splitlines()] == [0, 0, 1, 0, 0]
    assert "row 3, column 'age' is too far" in err


def test_from_json_excel_and_stdin(run, fitted, table, tmp_path, feed):
    expected = run("predict", fitted, table(NEW, "new.csv"), "--keep", "colour")[1]
    cells = [line.split(",") for line in NEW]
    sheet = [cells[0], *([row[0], float(row[1]), *row[2:]] for row in cells[1:])]
    book = write_workbook(tmp_path / "new.xlsx", first=sheet, second=[["x"]])
    code, out, err = run("predict", fitted, book, "--keep", "colour")
    assert (code, out, err) == (0, expected, "Sheet 'first' is read, the first of 2.\n")
    objects = table([json.dumps(dict(zip(cells[0], row, strict=True))) for row in sheet[1:]], "new.jsonl")
    assert run("predict", fitted, objects, "--keep", "colour")[:2] == (0, expected)
    feed("\n".join(NEW))
    assert run("predict", fitted, "-", "--keep", "colour")[:2] == (0, expected)
    feed("age,colour,day\nold,red,")
    assert run("predict", fitted, "-") == (1, "", "metricfit: stdin, row 2, column 'age': 'old' is not a number.\n")


def test_a_model_without_a_header_predicts_by_position(run, table):
    numbered = table([",".join(reversed(line.split(","))) for line in rows()], "numbered.csv")  # the target comes first
    assert run("fit", numbered, "--no-header", "--target", "1", "--out", "m", "--model", "linear", *SHORT)[0] == 0
    bare = table([",".join(list(reversed(line.split(",")))[1:]) for line in rows()], "bare.csv")
    assert run("predict", "m", numbered)[1] == run("predict", "m", bare)[1] != ""


def test_a_model_saved_from_python_predicts_too(run, good):
    features = csv.read_csv(good)
    linear = {"model": "linear", "method": "threshold", "random_state": 0}
    mf.MetricClassifier("f1", **linear).fit(features.drop_columns("state"), features["state"].to_pylist()).save("framed")
    assert run("predict", "framed", good, "--out", "p.csv")[0] == 0
    numbers = np.random.default_rng(0).normal(size=(60, 2))
    mf.MetricClassifier("f1", **linear).fit(numbers, numbers[:, 0] > 0).save("bare")
    csv.write_csv(pa.table({"a": numbers[:, 0], "b": numbers[:, 1]}), "numbers.csv", csv.WriteOptions(include_header=False))
    assert len(answers(run("predict", "bare", "numbers.csv")[1])) == 61


def test_progress_without_a_terminal_is_a_line_now_and_then(run, fitted, good, monkeypatch):
    monkeypatch.setattr(_predict, "ROWS_PER_LINE", 50)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 1000)
    lines = run("predict", fitted, good, "--out", "p.csv")[2].splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["rows predicted.", "rows predicted.", "rows: p.csv"]
    assert 50 <= int(lines[0].split()[0]) < 100 <= int(lines[1].split()[0])


@pytest.mark.slow
def test_predict_does_not_hold_the_file_in_memory(fitted, tmp_path):
    """Ten times the rows, the same memory: 200,000 rows more would be 50 MB as a table, and more as features."""
    peaks = []
    for n_rows in (20_000, 220_000):
        path = tmp_path / f"{n_rows}.csv"
        path.write_text(HEADER + "\n" + ("\n".join(rows(1000)) + "\n") * (n_rows // 1000))
        command = [sys.executable, "-m", "metricfit", "predict", fitted, path, "--out", tmp_path / f"{n_rows}.out.csv"]
        with started(command) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 40


class TestDataThatMoved:
    """Years since birth became days, and colours got other names."""

    moved = (HEADER, *(f"{1000 * age},{colour},2024-05-01,well" for age in range(40, 60) for colour in ("pink", "rot")))
    notes = (
        "Warning: these rows differ from the training table, so predictions may be poor. Pass --strict to refuse them.",
        "  Column 'age': 40 of 40 numbers (100 %) are outside the training range, ",
        "  Column 'colour': 40 of 40 cells (100 %) have categories without a training row: 'pink', 'rot'.",
    )

    @pytest.mark.parametrize("chunk_bytes", [200, 10**6])
    def test_it_is_said_once_with_counts(self, run, fitted, table, monkeypatch, chunk_bytes):
        monkeypatch.setattr(reading, "CHUNK_BYTES", chunk_bytes)
        code, out, err = run("predict", fitted, table(self.moved, "moved.csv"))
        assert (code, len(out.splitlines())) == (0, 41)
        assert [line.startswith(note) for line, note in zip(err.splitlines(), self.notes, strict=True)] == [True] * 3

    def test_strict_is_an_error_before_anything_is_written(self, run, fitted, table, tmp_path, feed):
        new = table(self.moved, "moved.csv")
        feed("\n".join(self.moved))
        for data, name in ((new, new), ("-", "stdin")):
            code, out, err = run("predict", fitted, data, "--strict", "--out", "out.csv")
            assert (code, out) == (1, "")
            assert err.startswith(
                f"metricfit: {name} differs from the training table, and --strict was passed. Column 'age': 40"
            )
        assert os.listdir(tmp_path) == ["moved.csv"]

    def test_ordinary_rows_are_predicted_without_a_word(self, run, fitted, table):
        new = table([HEADER, *rows(200, seed=9)], "new.csv")
        for strict in ((), ("--strict",)):
            assert run("predict", fitted, new, *strict)[::2] == (0, "")

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_many_files_get_one_summary(self, run, fitted, table, jobs):
        files = [table(self.moved, f"part{index}.csv") for index in range(3)]
        _, err = run.ok("predict", fitted, *files, "--out", "out", "--jobs", jobs)
        assert err.count("Warning: these rows differ from the training table") == 1
        assert "Column 'colour': 120 of 120 cells (100 %)" in err


class TestManyFiles:
    """One output for each; a bad file leaves the others."""

    @pytest.fixture
    def files(self, table, tmp_path):
        """Three files with the same rows in three formats."""
        plain = table(NEW, "one.csv")
        with gzip.open(tmp_path / "two.csv.gz", "wt") as file:
            file.write(plain.read_text())
        parquet.write_table(csv.read_csv(plain), tmp_path / "three.parquet")
        return [plain, tmp_path / "two.csv.gz", tmp_path / "three.parquet"]

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_one_output_for_each_file_whatever_runs_in_parallel(self, run, fitted, files, tmp_path, jobs):
        alone = run("predict", fitted, files[0])[1]
        code, out, err = run("predict", fitted, *files, "--out", "out", "--jobs", jobs)
        assert (code, out) == (0, "")
        written = [tmp_path / "out" / file.name for file in files]
        assert [line for line in err.splitlines() if " rows: " in line] == [f"3 rows: {path}" for path in written]
        assert written[0].read_text() == gzip.decompress(written[1].read_bytes()).decode() == alone
        assert [[label] for label in parquet.read_table(written[2])["prediction"].to_pylist()] == answers(alone)[1:]

    def test_a_folder_that_exists_takes_one_file_too(self, run, fitted, files, tmp_path):
        (tmp_path / "out").mkdir()
        assert run("predict", fitted, files[0], "--out", "out")[0] == 0
        assert os.listdir(tmp_path / "out") == ["one.csv"]

    def test_a_bad_file_leaves_the_others(self, run, fitted, files, table, tmp_path):
        bad = table([*NEW, "1,old,red,2024-05-05"], "bad.csv")
        code, _, err = run("predict", fitted, files[0], bad, tmp_path / "none.csv", files[2], "--out", "out")
        lines = err.splitlines()
        assert code == 1
        assert lines[-1] == f"metricfit: 2 of 4 files could not be predicted, see above. The others are in {tmp_path / 'out'}."
        assert any(line.startswith(f"{bad}, row 5, column 'age'") for line in lines)
        assert any(str(tmp_path / "none.csv") in line for line in lines)
        assert sorted(os.listdir(tmp_path / "out")) == ["one.csv", "three.parquet"]

    def test_what_cannot_be_written_is_said_before_anything_is_read(self, run, fitted, files, table, tmp_path):
        (tmp_path / "sub").mkdir()
        twin = table(NEW, "sub/one.csv")
        for arguments, message in [
            ([*files], "3 files need --out FOLDER"),
            ([files[0], "-", "--out", "out"], "- (stdin) cannot be combined"),
            ([*files, "--out", files[0]], "is a file, expected a folder"),
            ([files[0], twin, "--out", "out"], "would both be written to out/one.csv"),
            ([*files, "--out", tmp_path, "--overwrite"], "would replace an input"),
        ]:
            code, out, err = run("predict", fitted, *arguments)
            assert (code, out) == (2, "")
            assert message in err
        assert not (tmp_path / "out").exists()
        assert run("predict", fitted, *files, "--out", "out")[0] == 0
        assert run("predict", fitted, *files, "--out", "out")[2].startswith("metricfit: out/one.csv already exists.")
        assert run("predict", fitted, *files, "--out", "out", "--overwrite")[0] == 0
