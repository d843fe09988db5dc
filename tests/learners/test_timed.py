"""An ensemble with a time limit. No test depends on the clock: a limit is far away, or has passed."""

import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse
from scipy.special import softmax

import metricfit as mf
from metricfit import methods, metrics
from metricfit._progress import Progress
from metricfit.learners import (
    DataFacts,
    Deadline,
    Task,
    TimedEnsembleLearner,
    TrainingRows,
    _ensemble,
    _table_network,
    build_learner,
    stratified_folds,
)
from metricfit.learners._learner import LeftOutError, OutOfTimeError
from metricfit.learners._linear import LinearLearner
from metricfit.learners._table_network import TableNetworkLearner

FAR = 1e6


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(150, 3))
    labels = (features[:, 0] * features[:, 1] + 0.3 * rng.normal(size=150) > 0.0).astype(np.int64)
    return TrainingRows(features, labels, np.ones(150), np.ones(2))


def task_of(rows, **options):
    return Task(rows, metrics.get("accuracy"), stratified_folds(rows.labels, 3, 0), **options)


@pytest.mark.slow
def test_with_time_all_members_are_trained_again(rows, monkeypatch, tmp_path):
    monkeypatch.setattr(_ensemble, "MOST_TIMES", 2)
    fitted = mf.MetricClassifier("mcc", time_limit=FAR, cv=3, random_state=0).fit(rows.features, rows.labels)
    again = mf.MetricClassifier("mcc", time_limit=FAR, cv=3, random_state=0).fit(rows.features, rows.labels)
    note = next(note for note in fitted.notes_ if note.startswith("time_limit"))
    assert "linear x 1, boosting x 2" in note
    assert "wide_network x 2" in note
    np.testing.assert_array_equal(fitted.predict_proba(rows.features), again.predict_proba(rows.features))
    fitted.save(tmp_path / "model")
    loaded = mf.MetricClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(rows.features), fitted.predict_proba(rows.features))
    session = pytest.importorskip("onnxruntime").InferenceSession(fitted.to_onnx().SerializeToString())
    labels, probabilities = session.run(["label", "probabilities"], {"X": rows.features})
    np.testing.assert_array_equal(labels, fitted.predict(rows.features))
    np.testing.assert_allclose(probabilities, fitted.predict_proba(rows.features), rtol=1e-6, atol=1e-9)


def test_without_time_the_first_member_predicts_and_the_others_are_named(rows):
    fitted = mf.MetricClassifier("accuracy", time_limit=1e-9, random_state=0).fit(rows.features, rows.labels)
    assert any("boosting is left out: it would not have finished in time" in note for note in fitted.notes_)
    assert fitted.model_.names == ("linear",)


def test_members_of_a_kind_that_is_too_slow_are_not_tried(rows):
    tried = []
    kinds = {"first": _Member, "slow": _Slow, "slower": _Slow, "last": _Member}
    members = tuple(kind((1.0,), name=name, tried=tried) for name, kind in kinds.items())
    task = task_of(rows, deadline=Deadline(time.monotonic() + FAR))
    trained = TimedEnsembleLearner(members).train(task)
    assert tried == ["first", "slow", "last"]
    assert trained.model.names == ("first", "last")
    assert [note for note in trained.notes if "slower is left out" in note]


def test_a_member_that_is_too_slow_for_a_repeat_does_not_end_the_others(rows, monkeypatch):
    monkeypatch.setattr(_ensemble, "MOST_TIMES", 3)
    members = (_Member((1.0,), name="first"), _SlowLater((1.0,), name="later"), _Repeated((1.0,), name="last"))
    task = task_of(
        rows, deadline=Deadline(time.monotonic() + FAR), resplit=lambda seed: stratified_folds(rows.labels, 3, seed)
    )
    trained = TimedEnsembleLearner(members).train(task)
    assert "first x 1, later x 1, last x 3" in trained.notes[0]


def test_large_tables_begin_with_fast_trees_and_a_network():
    options = {"model": "auto", "time_limit": 60.0, "C": None}
    small, large = (
        [one.name for one in build_learner(options, methods.get("auto"), 0, DataFacts(n, 2, False, 5)).members]
        for n in (24_999, 25_000)
    )
    assert small[:3] == ["linear", "boosting", "extra_trees"]
    assert large[:5] == ["linear", "boosting_fast", "extra_trees", "network", "boosting"]


def test_the_members_do_not_depend_on_the_metric_so_that_several_metrics_share_a_training():
    options, facts = {"model": "auto", "time_limit": 60.0, "C": None}, DataFacts(200, 2, False, 5)
    one, other = (build_learner(options, methods.get("auto"), 0, facts) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_many_categories_are_a_sparse_matrix_that_the_network_takes(rows, tmp_path):
    words = pd.DataFrame(np.random.default_rng(1).choice([f"w{i}" for i in range(8)], size=(150, 4)))
    target = (words[0].isin(["w1", "w2", "w3"]) ^ words[1].isin(["w4", "w5", "w0"])).to_numpy()
    model = mf.MetricClassifier("accuracy", time_limit=FAR, cv=3, random_state=0)
    matrix = model.fit(words, target).preprocessor_.read(words, {"matrix"})
    assert issparse(matrix.read("matrix") if hasattr(matrix, "read") else matrix)
    assert "network" in model.model_.names
    model.save(tmp_path / "model")
    loaded = mf.MetricClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(words), model.predict_proba(words))


def test_a_network_of_a_sparse_matrix_is_that_of_the_dense_one(rows):
    sparse = TrainingRows(csr_matrix(rows.features), rows.labels, rows.weight, rows.class_weight)
    one, other = (TableNetworkLearner(0).train(task_of(given)) for given in (rows, sparse))
    np.testing.assert_array_equal(one.logits, other.logits)
    blocks = other.model.models[0].logits(csr_matrix(np.tile(rows.features, (40, 1))))
    np.testing.assert_allclose(blocks, one.model.models[0].logits(np.tile(rows.features, (40, 1))), rtol=1e-12)


def test_a_table_that_is_too_large_to_be_dense_is_for_other_members(rows, monkeypatch):
    monkeypatch.setattr(_table_network, "MOST_NUMBERS", rows.features.size - 1)
    with pytest.raises(LeftOutError, match="the table has too many columns for a network"):
        TableNetworkLearner(0).train(task_of(rows))


@dataclass(frozen=True)
class _Member(LinearLearner):
    """A linear model that notes that it was trained."""

    tried: list = field(default_factory=list, kw_only=True)

    def train(self, task):
        self.tried.append(self.name)
        return super().train(task)


class _Slow(_Member):
    def train(self, task):
        self.tried.append(self.name)
        raise OutOfTimeError


class _Repeated(_Member):
    repeats = True


class _SlowLater(_Repeated):
    def train(self, task):
        if self.seed:
            raise OutOfTimeError
        return super().train(task)


def test_a_deadline_extrapolates_from_the_share_that_is_done():
    far, near = Deadline(end=1e18), Deadline(end=-1e18)
    far.check(0.01)
    with pytest.raises(OutOfTimeError):
        near.check(1.0)


def test_only_the_ensemble_takes_a_time_limit(rows):
    with pytest.raises(ValueError, match=r"`time_limit` is for the ensemble.*'linear'"):
        mf.MetricClassifier(model="linear", time_limit=5).fit(rows.features, rows.labels)
    with pytest.raises(ValueError, match="`time_limit` should be greater than 0, got 0"):
        mf.MetricClassifier(time_limit=0).fit(rows.features, rows.labels)


def test_the_network_learns_a_product_that_no_line_separates(rows):
    trained = TableNetworkLearner(0).train(task_of(rows))
    held_out = rows.labels[task_of(rows).held_out_index]
    assert (trained.logits.argmax(1) == held_out).mean() > 0.75
    assert abs(rows.labels.mean() - 0.5) < 0.15  # so a constant answer is right for at most 65 %


def test_the_network_of_a_fold_computes_what_was_trained(rows):
    """The model has the factors of inputs and the parametrisation inside its layers: its loss is the one that was kept."""
    task = task_of(rows)
    learner = TableNetworkLearner(0)
    seen = []
    learner.train(Task(rows, task.metric, task.splits, progress=_Steps(seen)))
    trained = learner.train(task)
    held_out = rows.labels[task.held_out_index]
    loss = -np.log(softmax(trained.logits, 1)[np.arange(len(held_out)), held_out]).mean()
    np.testing.assert_allclose(loss, seen[-1], rtol=1e-5)


class _Steps(Progress):
    def __init__(self, seen):
        self.seen = seen

    def step(self, stage, value):
        self.seen.append(value)


def test_a_mean_over_splits_aligns_the_held_out_rows(rows):
    task = task_of(rows, resplit=lambda seed: stratified_folds(rows.labels, 3, seed))
    again = Task(rows, task.metric, task.resplit(1))
    order = _ensemble._order(task, again)
    np.testing.assert_array_equal(again.held_out_index[order], task.held_out_index)
