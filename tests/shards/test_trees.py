"""Boosted trees of files are those of the same rows in memory, with the first fold held out; few rows are held at a time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils import check_random_state
from xgboost import XGBClassifier, XGBRFClassifier
from xgboost.core import XGBoostError

import metricfit as mf
from metricfit import _extras
from metricfit._errors import UsageError
from metricfit._extras import MissingExtraError
from metricfit.learners import stratified_folds
from metricfit.shards import _blocks, _trees, fit_shards
from tests.shards.conftest import make_table

FEW = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Some hundred rows each, of two batches or three, so that every fit has several."""
    monkeypatch.setattr(_trees, "PAGE_CELLS", 1000)
    monkeypatch.setattr("metricfit.learners._rows.BATCH_CELLS", 500)


def in_memory(table, metric, model, cv=5, **options):
    """The fit to the same rows whose only split holds out the first fold."""
    labels = table["y"].to_numpy()
    first = stratified_folds(labels, cv, check_random_state(0).randint(2**31))[:1]
    fitted = mf.MetricClassifier(metric, model=model, cv=first, random_state=0, **options)
    return fitted.fit(table.drop_columns("y"), labels)


def with_many_codes(table):
    """With a category of 300 different values, which is more than trees have codes for."""
    codes = np.random.default_rng(1).geometric(0.01, table.num_rows) % 300
    return table.add_column(2, "code", pa.array([f"c{code}" for code in codes]))


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("k", "metric", "own", "options"),
    [
        (2, "f1", {}, {}),
        (2, "mcc", {"subsample": 0.7, "colsample_bytree": 0.6}, {"method": "threshold", "class_weight": "balanced", "cv": 3}),
        (3, "f1_macro", {"missing": -1.0}, {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0}}),
        (3, "accuracy", {"max_bin": 8}, {"method": "cross_entropy", "cv": 2}),
    ],
)
def test_trees_of_files_are_those_of_memory(split, k, metric, own, options):
    """XGBoost sees the same rows in the same order, so that its bins are the same, and so are the trees.

    The offsets are the same only if the rows of the first fold, and no others, were held out.
    """
    files, table = split(with_many_codes(make_table(700, k=k)))
    model = XGBClassifier(**FEW, **own)
    found = fit_shards(files, "y", metric, model=model, random_state=0, **options)
    expected = in_memory(table, metric, model, **options)
    features = table.drop_columns("y")
    own_trees, other_trees = (one.model_.estimator.get_booster().get_dump() for one in (found, expected))
    assert len(own_trees) == 6 * (1 if k == 2 else k)
    assert own_trees == other_trees
    np.testing.assert_allclose(found.predict_proba(features), expected.predict_proba(features), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.offsets_, expected.offsets_, rtol=0, atol=1e-6)
    assert np.array_equal(found.predict(features), expected.predict(features))
    assert (found.learner_, found.chosen_, found.forms_) == (expected.learner_, expected.chosen_, expected.forms_)
    assert [row["candidate"] for row in found.candidates_] == [row["candidate"] for row in expected.candidates_]


def test_xgboost_is_given_pages_and_keeps_them_on_disk(split, tmp_path, monkeypatch):
    files, _ = split(make_table(900), group_rows=300)
    scratch, sizes, on_disk = tmp_path / "scratch", [], []
    scratch.mkdir()
    read, train = _trees._Pages._read, _trees.xgboost.train

    def read_and_count(pages):
        for features, labels in read(pages):
            sizes.append(len(labels))
            yield features, labels

    def look_and_train(options, matrix, *given, **further):
        on_disk.extend(name for name in files_in(scratch) if name.startswith("pages"))
        return train(options, matrix, *given, **further)

    monkeypatch.setattr(_trees._Pages, "_read", read_and_count)
    monkeypatch.setattr(_trees.xgboost, "train", look_and_train)
    fit_shards(files, "y", "f1", model=XGBClassifier(**FEW), scratch=scratch)
    assert max(sizes) < 150
    assert len(sizes) > 2 * 7
    assert len(on_disk) == 2
    assert files_in(scratch) == []


def test_they_are_saved_and_loaded(split, tmp_path):
    files, table = split(make_table(300, k=3))
    found = fit_shards(files, "y", "f1_macro", model="xgboost", random_state=0, cv=2)
    assert "trained on all rows" in found.notes_[-1]
    assert found.learner_ == "XGBClassifier"
    found.save(tmp_path / "model")
    trusted = ("xgboost.core.Booster", "xgboost.sklearn.XGBClassifier")
    loaded, features = mf.MetricClassifier.load(tmp_path / "model", trusted=trusted), table.drop_columns("y")
    assert np.array_equal(loaded.predict_proba(features), found.predict_proba(features))
    assert np.array_equal(loaded.predict(features), found.predict(features))


def test_a_disk_without_space_for_pages_is_named(split, tmp_path, monkeypatch):
    """XGBoost would end the interpreter."""
    files, _ = split(make_table(300))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(_trees, "free_bytes", lambda folder: 1000)
    with pytest.raises(UsageError, match=r"--scratch .*scratch has 0.0 MB free, expected at least .* MB.* Pass a folder with"):
        fit_shards(files, "y", "f1", model=XGBClassifier(**FEW), scratch=scratch)
    assert list(scratch.iterdir()) == []


def test_an_error_while_pages_are_read_ends_the_fit_and_leaves_nothing_behind(split, tmp_path, monkeypatch):
    """XGBoost keeps the error until its call ends, and then raises it."""
    files, _ = split(make_table(500))
    scratch, pages, read = tmp_path / "scratch", [], _trees._Pages._read
    scratch.mkdir()

    def read_and_fail(own):
        for page in read(own):
            if len(pages) == 12:
                raise RuntimeError("here")
            pages.append(page)
            yield page

    monkeypatch.setattr(_trees._Pages, "_read", read_and_fail)
    with pytest.raises(RuntimeError, match=r"^here$"):
        fit_shards(files, "y", "f1", model=XGBClassifier(**FEW), scratch=scratch)
    assert list(scratch.iterdir()) == []


def test_trees_are_fitted_in_a_thread_too(split):
    """Only the main thread may change what signals do."""
    files, _ = split(make_table(200))
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(fit_shards, files, "y", "f1", model=XGBClassifier(**FEW)).result()
    assert found.learner_ == "XGBClassifier"


def test_constraints_by_number_are_kept(split):
    """A category is column 0, and x0 is column 1."""
    files, table = split(make_table(300))
    model = XGBClassifier(**FEW, monotone_constraints=(0, -1, *[0] * 9), interaction_constraints="[[0, 1], [2, 3]]")
    found, features = fit_shards(files, "y", "f1", model=model, random_state=0), table.drop_columns("y")
    more = features.set_column(0, "x0", pa.compute.add(features["x0"], 1.0))
    assert (found.predict_proba(more)[:, 1] <= found.predict_proba(features)[:, 1] + 1e-6).all()


def test_errors_of_xgboost_are_one_line(split, monkeypatch):
    """They are a mistake of the user only if there are options to correct."""
    files, _ = split(make_table(200))
    message = r"^XGBoost cannot train XGBClassifier\(max_depth=-3\): value -3 .* Correct an option, or leave it out\.$"
    with pytest.raises(ValueError, match=message):
        fit_shards(files, "y", "f1", model=XGBClassifier(max_depth=-3))
    with pytest.raises(
        ValueError, match=r"^XGBoost cannot train XGBClassifier\(max_bin=1\): .* greater than 2\. Correct .*out\.$"
    ):
        fit_shards(files, "y", "f1", model=XGBClassifier(max_bin=1))

    def fail(*given, **options):
        raise XGBoostError("[12:34:56] /workspace/src/data.cc:12: Check failed: a == b.\nStack trace:\n  [bt] (0)")

    monkeypatch.setattr(_trees.xgboost, "train", fail)
    with pytest.raises(RuntimeError, match=r"^XGBoost cannot train: Check failed: a == b\.$"):
        fit_shards(files, "y", "f1", model="xgboost")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "boosting"}, "`model` should be 'linear', 'xgboost' or an XGBClassifier where .* got 'boosting'"),
        ({"model": XGBRFClassifier()}, "`model` should be 'linear', 'xgboost' or an XGBClassifier"),
        ({"model": XGBClassifier(booster="dart")}, "`booster` of XGBClassifier should be None or 'gbtree' .* got 'dart'"),
        ({"model": XGBClassifier(tree_method="exact")}, "`tree_method` of XGBClassifier should be None or 'auto' or 'hist'"),
        (
            {"model": XGBClassifier(early_stopping_rounds=5)},
            "`early_stopping_rounds` of XGBClassifier should be None .* got 5",
        ),
        ({"model": XGBClassifier(objective="binary:hinge")}, "`objective` of XGBClassifier should be .* got 'binary:hinge'"),
        ({"model": XGBClassifier(feature_weights=np.ones(3))}, r"`feature_weights` of .* should be None .* got array"),
        ({"model": XGBClassifier(updater="grow_colmaker")}, "`updater` of XGBClassifier should be None"),
        ({"model": XGBClassifier(process_type="update")}, "`process_type` of XGBClassifier should be None or 'default'"),
        ({"model": XGBClassifier(num_class=5)}, "`num_class` of XGBClassifier should be None .* got 5"),
        ({"model": XGBClassifier(monotone_constraints={"x0": 1})}, "`monotone_constraints` .* numbers of columns, .* from 0"),
        ({"model": XGBClassifier(interaction_constraints=[["x0", "x1"]])}, "`interaction_constraints` .* such as '\\[\\[0, 1"),
        (
            {"model": "xgboost", "method": "direct"},
            "`model` 'XGBClassifier' is trained with cross-entropy and does not support `method` 'direct'",
        ),
        ({"model": "xgboost", "cv": 150}, "Pass merge_rare=150"),
    ],
)
def test_what_trees_do_not_take_is_refused_before_rows_are_read(split, monkeypatch, options, message):
    files, _ = split(make_table(200))
    monkeypatch.setattr(_blocks.ParquetBlock, "tables", None)
    with pytest.raises(ValueError, match=message):
        fit_shards(files, "y", "f1", **options)


def test_a_missing_xgboost_is_named_with_its_extra(split, monkeypatch):
    files, find = split(make_table(100))[0], _extras.find_spec
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == "xgboost" else find(name))
    with pytest.raises(
        MissingExtraError, match=r"model='xgboost' needs the package xgboost: pip install 'metricfit\[trees\]'"
    ):
        fit_shards(files, "y", "f1", model="xgboost")
