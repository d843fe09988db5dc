"""Many files: one output for each, nothing half-written, and a bad file leaves the others."""

import gzip

import pytest
from pyarrow import csv, parquet

from metricfit.cli._predict_files import output_name

HEAD = "age,colour,day"
ROWS = ["44,red,2024-05-01", "20,blue,2024-05-02", "70,red,2024-05-03", "51,green,2024-05-04"]


@pytest.fixture
def files(table, tmp_path):
    """Three files with the same rows in three formats."""
    plain = table([HEAD, *ROWS], "one.csv")
    with gzip.open(tmp_path / "two.csv.gz", "wt") as file:
        file.write(plain.read_text())
    parquet.write_table(csv.read_csv(plain), tmp_path / "three.parquet")
    return [plain, tmp_path / "two.csv.gz", tmp_path / "three.parquet"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_output_for_each_file_whatever_runs_in_parallel(run, fitted, files, tmp_path, jobs):
    alone = run("predict", fitted, files[0])[1]
    code, out, err = run("predict", fitted, *files, "--out", tmp_path / "out", "--jobs", jobs)
    assert (code, out) == (0, "")
    assert [line for line in err.splitlines() if " rows: " in line] == [
        f"4 rows: {tmp_path / 'out' / file.name}" for file in files
    ]
    assert (tmp_path / "out" / "one.csv").read_text() == alone
    with gzip.open(tmp_path / "out" / "two.csv.gz", "rt") as file:
        assert file.read() == alone
    predicted = parquet.read_table(tmp_path / "out" / "three.parquet")["prediction"].to_pylist()
    assert predicted == [line.strip('"') for line in alone.splitlines()[1:]]


def test_a_folder_that_exists_takes_one_file_too(run, fitted, files, tmp_path):
    (tmp_path / "out").mkdir()
    assert run("predict", fitted, files[0], "--out", tmp_path / "out")[0] == 0
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["one.csv"]


def test_a_bad_file_leaves_the_others(run, fitted, files, table, tmp_path):
    bad = table([HEAD, *ROWS, "old,red,2024-05-05"], "bad.csv")
    code, _, err = run("predict", fitted, files[0], bad, tmp_path / "none.csv", files[2], "--out", tmp_path / "out")
    lines = err.splitlines()
    assert code == 1
    assert lines[-1] == f"metricfit: 2 of 4 files could not be predicted, see above. The others are in {tmp_path / 'out'}."
    assert any(line.startswith(f"{bad}, row 6, column 'age'") for line in lines)
    assert any(str(tmp_path / "none.csv") in line for line in lines)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["one.csv", "three.parquet"]


def test_what_cannot_be_written_is_said_before_anything_is_read(run, fitted, files, table, tmp_path):
    (tmp_path / "sub").mkdir()
    twin = table([HEAD, *ROWS], "sub/one.csv")
    for arguments, message in [
        ([*files], "3 files need --out FOLDER"),
        ([files[0], "-", "--out", "out"], "- (stdin) is a file alone"),
        ([*files, "--out", files[0]], "is a file, expected a folder"),
        ([files[0], twin, "--out", "out"], "would both be written to out/one.csv"),
        ([*files, "--out", tmp_path, "--overwrite"], "would replace an input"),
        ([*files, "--out", "out", "--safe-csv"], "--safe-csv is for CSV files, got --out out/three.parquet"),
    ]:
        code, out, err = run("predict", fitted, *arguments)
        assert (code, out) == (2, "")
        assert message in err
    assert not (tmp_path / "out").exists()
    assert run("predict", fitted, *files, "--out", "out")[0] == 0
    assert run("predict", fitted, *files, "--out", "out")[2].startswith("metricfit: out/one.csv exists already.")
    assert run("predict", fitted, *files, "--out", "out", "--overwrite")[0] == 0


def test_formats_that_are_not_written_become_csv(tmp_path):
    assert output_name(tmp_path / "may.jsonl.gz") == "may.csv"
    assert output_name(tmp_path / "may.xlsx") == "may.csv"
    assert output_name(tmp_path / "may.PARQUET") == "may.PARQUET"
