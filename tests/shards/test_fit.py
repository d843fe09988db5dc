"""A fit to files is the fit to the same rows in memory, and holds few of them at a time."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import metricfit as mf
from metricfit._errors import DataError, UsageError
from metricfit.learners import Blocks
from metricfit.shards import _blocks, _files, fit_shards
from tests.shards.conftest import make_table


def in_memory(table, metric, **options):
    return mf.MetricClassifier(metric, model="linear", random_state=0, **options).fit(
        table.drop_columns("y"), table["y"].to_numpy()
    )


@pytest.mark.parametrize(
    ("k", "metric", "options"),
    [
        (2, "f1", {"cv": 3}),
        (2, "mcc", {"method": "direct", "class_weight": "balanced", "C": 0.1}),
        (2, "accuracy", {"method": "expected_error", "smoothing": "softmax", "C": 1.0}),
        (2, "accuracy", {"method": "hinge"}),
        (3, "f1_macro", {"cv": 2, "C": 1.0}),
        (3, "f1_macro", {"method": "threshold", "C": 1.0, "class_weight": {0: 2.0, 1: 1.0, 2: 1.0}}),
    ],
)
def test_a_fit_to_files_agrees_with_the_fit_in_memory(split, k, metric, options):
    files, table = split(make_table(k=k))
    found, expected = fit_shards(files, "y", metric, random_state=0, **options), in_memory(table, metric, **options)
    assert (found.chosen_, found.C_, found.notes_) == (expected.chosen_, expected.C_, expected.notes_)
    assert [row["candidate"] for row in found.candidates_] == [row["candidate"] for row in expected.candidates_]
    for own, other in zip(found.candidates_, expected.candidates_, strict=True):
        assert own["metric"] == pytest.approx(other["metric"], abs=2e-3)
    assert_agree(found, expected, table)


def assert_agree(found, expected, table):
    """What docs/scaling.md promises."""
    features = table.drop_columns("y")
    assert np.abs(found.predict_proba(features) - expected.predict_proba(features)).max() < 1e-3
    assert (found.predict(features) == expected.predict(features)).mean() >= 0.999


def test_preprocessing_is_learnt_from_the_same_rows_as_in_memory(split, monkeypatch):
    """A column whose only gap is in another row gets the median there."""
    for module in ("estimators._forms", "shards._fit"):
        monkeypatch.setattr(f"metricfit.{module}.MOST_FRAME_ROWS", 50)
    table = make_table(600)
    gap = pa.array([None if row == 500 else float(row) for row in range(600)])
    files, table = split(table.set_column(0, "x0", gap))
    found, expected = fit_shards(files, "y", "f1", C=1.0, random_state=0), in_memory(table, "f1", C=1.0)
    own, other = (one.preprocessor_.transformers["matrix"].parts[0].steps for one in (found, expected))
    np.testing.assert_array_equal(own[0].statistics_, other[0].statistics_)
    np.testing.assert_array_equal(own[1].scale_, other[1].scale_)
    assert 0 not in own[0].indicator_.features_
    assert_agree(found, expected, table)


def test_names_have_the_order_that_is_passed(split):
    """Quadratic kappa depends on it."""
    table = make_table(300, k=3)
    names = pa.array(["low", "high", "medium"])
    files, table = split(table)
    for path in _files.find_files(files):
        part = parquet.read_table(path)
        parquet.write_table(part.set_column(part.num_columns - 1, "y", names.take(part["y"])), path)
    options = {"class_order": ["low", "medium", "high"], "method": "threshold", "C": 1.0}
    found = fit_shards(files, "y", "quadratic_kappa", random_state=0, **options)
    named = table.set_column(table.num_columns - 1, "y", names.take(table["y"]))
    expected = mf.MetricClassifier("quadratic_kappa", model="linear", random_state=0, **options)
    assert_agree(found, expected.fit(named.drop_columns("y"), np.array(named["y"].to_pylist())), named)


def test_text_and_many_columns_agree_too(split):
    """More parameters than Newton's steps are for, a sparse matrix, and words."""
    table, random = make_table(600), np.random.default_rng(3)
    words = [" ".join(random.choice([f"w{word}" for word in range(200)], 8)) for _ in range(600)]
    files, table = split(table.append_column("note", pa.array(words)).select(["x0", "x1", "colour", "note", "y"]))
    found, expected = fit_shards(files, "y", "f1", cv=2, random_state=0), in_memory(table, "f1", cv=2)
    assert found.preprocessor_.transformers["matrix"].sparse_output_
    assert found.coef_.size > 150
    assert_agree(found, expected, table)


def test_rows_without_a_label_are_left_out(split):
    files, _ = split(make_table())
    for path in _files.find_files(files):
        part = parquet.read_table(path)
        words = [None if row % 7 == 0 else f"{label} " for row, label in enumerate(part["y"].to_pylist())]
        part = part.set_column(part.num_columns - 1, "y", pa.array(words, pa.string()))
        parquet.write_table(part, path, row_group_size=100)
    table = pa.concat_tables([parquet.read_table(path) for path in _files.find_files(files)])
    kept = table.filter(table["y"].is_valid())
    found = fit_shards(files, "y", "f1", method="direct", C=1.0)
    labels = np.array([int(label) for label in kept["y"].to_pylist()])
    expected = mf.MetricClassifier("f1", model="linear", method="direct", C=1.0).fit(kept.drop_columns("y"), labels)
    assert 0 < len(kept) < len(table)
    assert found.classes_.tolist() == [0, 1]
    assert_agree(found, expected, kept)


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (pa.array([0, 1] * 60, pa.int8()), pa.array([300, 1] * 60, pa.int64()), [0, 1, 300]),
        (pa.array([0, 1] * 60, pa.int64()), pa.array([0.5, 1.0] * 60), ["0.0", "0.5", "1.0"]),
        (pa.array([0.0, 1.0] * 60, pa.float32()), pa.array([0, 1] * 60, pa.uint8()), [0, 1]),
        (pa.nulls(120), pa.array(["a", "b"] * 60), ["a", "b"]),
        (pa.array(["a", "b"] * 60).dictionary_encode(), pa.array(["c", "b"] * 60, pa.large_string()), ["a", "b", "c"]),
    ],
)
def test_labels_of_several_types_have_one_that_holds_all(tmp_path, first, second, classes):
    for number, labels in enumerate((first, second)):
        table = pa.table({"x": np.random.default_rng(number).normal(size=120), "y": labels})
        parquet.write_table(table, tmp_path / f"part-{number}.parquet")
    found = fit_shards(tmp_path, "y", method="cross_entropy", C=1.0)
    assert found.classes_.tolist() == classes


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [
        (pa.array([0, 1] * 60), pa.array([0, 2**64 - 1] * 60, pa.uint64()), "uint64, which do not fit int64"),
        (pa.array([0, 1] * 60), pa.array([0, 1] * 60, pa.duration("s")), r"duration\[s\], which do not fit int64"),
    ],
)
def test_labels_without_a_common_type_are_named_with_their_file(tmp_path, first, second, types):
    for number, labels in enumerate((first, second)):
        parquet.write_table(pa.table({"x": np.arange(120.0), "y": labels}), tmp_path / f"part-{number}.parquet")
    with pytest.raises(DataError, match=rf"part-1.parquet, column 'y' has values of type {types} .* the same type"):
        fit_shards(tmp_path, "y")


def test_the_file_with_a_label_that_is_no_number_is_named(tmp_path):
    for number, label in enumerate((1.0, np.nan)):
        table = pa.table({"x": np.arange(120.0), "y": pa.array([0.0, label] * 60)})
        parquet.write_table(table, tmp_path / f"part-{number}.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet, column 'y' has infinite numbers or NaN"):
        fit_shards(tmp_path, "y")


def test_a_file_under_two_names_is_given_twice(split, tmp_path):
    split(make_table(100))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "part-0.parquet")
    (tmp_path / "folder").mkdir()
    for name in ("part-0.parquet", "link.parquet", "folder/../part-0.parquet"):
        with pytest.raises(UsageError, match=r"part-0.parquet.* is given twice|link.parquet is given twice, also as .*part-0"):
            fit_shards([tmp_path / "part-0.parquet", tmp_path / name], "y")


@pytest.mark.parametrize("number", [0, 3])
def test_a_column_without_values_has_any_type(split, tmp_path, number):
    """As pandas writes it; the other files say what it is."""
    files, _ = split(make_table(300))
    path = tmp_path / f"part-{number}.parquet"
    table = parquet.read_table(path)
    fits = []
    for kinds in ((pa.float64(), pa.string(), table["day"].type), (pa.null(),) * 3):
        for name, kind in zip(("x1", "colour", "day"), kinds, strict=True):
            table = table.set_column(table.column_names.index(name), name, pa.nulls(len(table), kind))
        parquet.write_table(table, path)
        fits.append(fit_shards(files, "y", "f1", method="direct", C=1.0))
    assert np.array_equal(fits[0].coef_, fits[1].coef_)


def test_text_that_holds_numbers_is_known_by_as_many_rows_in_wide_files(tmp_path, monkeypatch):
    """Files of many columns are read in chunks of fewer rows."""
    monkeypatch.setattr("metricfit.data._read.CHUNK_CELLS", 300)
    words = [None] * 250 + [f"{row}.5" for row in range(50)]
    columns = {f"x{number}": np.random.default_rng(number).normal(size=300) for number in range(3)}
    table = pa.table({**columns, "colour": ["red", "blue"] * 150, "t": pa.array(words), "y": np.arange(300) % 2})
    parquet.write_table(table, tmp_path / "wide.parquet")
    schema = _files.open_files([tmp_path / "wide.parquet"], "y").schema
    assert {column.name: column.type for column in schema.columns} == {
        **dict.fromkeys(("x0", "x1", "x2", "t"), "number"),
        "colour": "string",
    }


@pytest.mark.parametrize("scratch", [True, False])
def test_few_rows_are_read_at_a_time(split, monkeypatch, scratch):
    """From scratch, or decoded again in each pass where there is no space for it; with the same result."""
    files, _ = split(make_table(1000), group_rows=300)
    monkeypatch.setattr("metricfit.learners._rows.BATCH_CELLS", 1000)
    expected, sizes, read = fit_shards(files, "y", "f1", method="direct", C=1.0), [], Blocks.matrices

    def read_and_count(blocks):
        for matrix in read(blocks):
            sizes.append(matrix.shape[0])
            yield matrix

    monkeypatch.setattr(Blocks, "matrices", read_and_count)
    monkeypatch.setattr(_blocks, "free_bytes", lambda folder: 2**40 if scratch else 0)
    found = fit_shards(files, "y", "f1", method="direct", C=1.0)
    assert sum(sizes) > 10 * 1000
    assert max(sizes) <= 100
    assert np.array_equal(found.coef_, expected.coef_)


def test_processes_give_the_same_bits(split):
    files, _ = split(make_table(300), group_rows=50)
    alone, together = (fit_shards(files, "y", "f1", cv=2, C=1.0, random_state=0, n_jobs=n) for n in (1, 2))
    assert np.array_equal(alone.coef_, together.coef_)
    assert np.array_equal(alone.offsets_, together.offsets_)


def test_a_disk_that_cannot_be_written_is_named(split, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_blocks.np, "save", fail)
    files, _ = split(make_table(100))
    with pytest.raises(UsageError, match=rf"^--scratch {tmp_path} cannot be written: No space left on device. Pass a folder"):
        fit_shards(files, "y", "f1", method="direct", C=1.0, scratch=tmp_path)


def test_it_is_saved_and_loaded(split, tmp_path):
    files, table = split(make_table(300))
    found = fit_shards(files, "y", "f1", model="auto", method="threshold", C=1.0)
    assert "linear" in found.notes_[-1]
    found.save(tmp_path / "model")
    loaded = mf.MetricClassifier.load(tmp_path / "model")
    features = table.drop_columns("y")
    assert np.array_equal(loaded.predict(features), found.predict(features))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns("x1"), r"part-3.parquet lacks column 'x1', which part-0.parquet has"),
        (lambda table: table.append_column("z", table["y"]), r"part-3.parquet has column 'z', which part-0.parquet lacks"),
        (
            lambda table: table.set_column(1, "x1", pa.array(["a"] * table.num_rows)),
            r"part-3.parquet, column 'x1' has values of type string, expected double as in part-0.parquet",
        ),
    ],
)
def test_files_that_differ_are_named_with_their_column(split, tmp_path, change, message):
    files, _ = split(make_table(200))
    path = tmp_path / "part-3.parquet"
    parquet.write_table(change(parquet.read_table(path)), path)
    with pytest.raises(DataError, match=message):
        fit_shards(files, "y", "f1")


def test_what_cannot_be_fitted_is_refused_with_what_to_pass(split, tmp_path):
    files, _ = split(make_table(200))
    with pytest.raises(UsageError, match="No file matches"):
        fit_shards(f"{tmp_path}/none-*.parquet", "y")
    with pytest.raises(ValueError, match="`method` 'exact' is not trained on files that are read in parts"):
        fit_shards(files, "y", method="exact")
    with pytest.raises(ValueError, match="`cv` should be a number of folds"):
        fit_shards(files, "y", cv=[([0], [1])])
    with pytest.raises(ValueError, match="Pass merge_rare=150"):
        fit_shards(files, "y", cv=150)
    with pytest.raises(UsageError, match="--target 'z' is not a column"):
        fit_shards(files, "z")
    (tmp_path / "table.csv").write_text("a,y\n1,0\n")
    with pytest.raises(DataError, match="is not a Parquet file"):
        fit_shards([tmp_path / "table.csv"], "y")
