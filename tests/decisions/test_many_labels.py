"""Several labels per row: values are scikit-learn's, thresholds are those of brute force where that is possible."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, jaccard_score

from metricfit import DecisionRule
from metricfit.decisions._rule_labels import ManyLabels, are_lists, read_label_table

pd = pytest.importorskip("pandas")
SCORES = {
    "f1_macro": lambda y, a: f1_score(y, a, average="macro", zero_division=0),
    "f1_micro": lambda y, a: f1_score(y, a, average="micro", zero_division=0),
    "f1_samples": lambda y, a: f1_score(y, a, average="samples", zero_division=0),
    "f2_samples": lambda y, a: fbeta_score(y, a, beta=2, average="samples", zero_division=0),
    "jaccard_macro": lambda y, a: jaccard_score(y, a, average="macro", zero_division=0),
    "jaccard_samples": lambda y, a: jaccard_score(y, a, average="samples", zero_division=0),
    "subset_accuracy": accuracy_score,
}


def draw(n=200, k=3, seed=0):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, 1)) + random.normal(size=(n, k)) - np.linspace(0.5, 1.5, k)
    y = (random.random((n, k)) < expit(2.0 * logits)).astype(int)
    return 1.5 * logits + 0.5 * random.normal(size=(n, k)) + 1.0, y


@pytest.mark.parametrize("name", SCORES)
def test_the_value_is_that_of_scikit_learn(name):
    logits, y = draw()
    rule = DecisionRule(name, kind="logit").fit(logits, y)
    assert rule.is_cross_fitted_
    assert rule.score_ == pytest.approx(SCORES[name](y, rule.predicted_))
    assert rule.baseline_ == pytest.approx(SCORES[name](y, (logits > 0).astype(int)))
    low, high = rule.score_interval_
    assert low < rule.score_ < high
    assert SCORES[name](y, rule.predict(logits)) >= rule.baseline_


@pytest.mark.parametrize("name", ["f1_samples", "jaccard_samples", "subset_accuracy"])
@pytest.mark.parametrize("seed", range(4))
def test_no_threshold_alone_can_be_better(name, seed):
    """And with two labels hardly any pair of thresholds: coordinate ascent may stop in a local maximum."""
    logits, y = draw(25, 2, seed)
    task, weight = ManyLabels.named(name), np.random.default_rng(seed).random(25)
    cuts = [-np.append(np.sort(column) + 1e-9, column.min() - 1.0) for column in logits.T]

    def value(shifts):
        return task.value((logits + shifts > 0.0).astype(int), y, weight)

    climbed = task._climb(logits, y, weight, np.zeros(2))
    for label, column in enumerate(cuts):
        for cut in column:
            other = climbed.copy()
            other[label] = cut
            assert value(other) <= value(climbed) + 1e-9
    found = task.value(task.answers(logits + task.tune(logits, y, weight)), y, weight)
    assert found >= value(climbed)
    assert found >= 0.95 * max(value(np.array(pair)) for pair in product(*cuts))


def test_every_row_gets_an_answer_where_none_would_count_zero():
    logits, y = draw(300)
    for name in ("f1_samples", "jaccard_samples"):
        rule = DecisionRule(name, kind="logit").fit(logits, y)
        sums = logits + rule.offsets_
        assert (sums.max(1) <= 0).any()
        assert rule.predict(logits).any(1).all()
        assert np.array_equal(rule.predict(logits)[sums.max(1) > 0], (sums > 0)[sums.max(1) > 0])
        assert "Every row gets at least the label closest to its threshold" in repr(rule)
    assert not DecisionRule("f1_micro", kind="logit").fit(logits, y).predict(logits).any(1).all()


@pytest.mark.parametrize("name", ["f1_macro", "f1_samples"])
def test_the_interval_is_that_of_the_bootstrap(name):
    logits, y = draw(600)
    task, random = ManyLabels.named(name), np.random.default_rng(0)
    answers = (logits > 0.5).astype(int)

    def interval(answers, y, weight, groups=None):
        return task.judge(answers, np.zeros_like(y), y, weight, groups, True).score_interval

    low, high = interval(answers, y, np.ones(600))
    draws = [random.integers(0, 600, 600) for _ in range(300)]
    spread = np.std([task.value(answers[rows], y[rows], np.ones(600)) for rows in draws])
    assert (high - low) / (2 * 1.96) == pytest.approx(spread, rel=4 / np.sqrt(2 * 300))
    pairs = np.repeat(np.arange(300), 2)
    twice = interval(np.repeat(answers[:300], 2, 0), np.repeat(y[:300], 2, 0), np.ones(600), pairs)
    assert twice == pytest.approx(interval(answers[:300], y[:300], np.ones(300)))


def test_lists_of_labels_frames_and_files(tmp_path):
    logits, y = draw()
    names = np.array(["jazz", "rock", "folk"])
    lists = [set(names[row == 1]) for row in y]
    frame = pd.DataFrame(expit(logits), columns=names)
    rule, plain = DecisionRule("f1_samples").fit(frame, lists), DecisionRule("f1_samples").fit(expit(logits), y)
    assert rule.thresholds_ == pytest.approx(plain.thresholds_)
    assert rule.predict(frame) == [names[row == 1].tolist() for row in plain.predict(expit(logits))]
    assert (plain.decision_function(expit(logits)) > 0).tolist() == (expit(logits) > plain.thresholds_).tolist()
    assert rule.score(frame, lists) == pytest.approx(SCORES["f1_samples"](y, plain.predict(expit(logits))))
    for one in (rule, plain):
        one.save(tmp_path / "rule.json", overwrite=True)
        again = DecisionRule.load(tmp_path / "rule.json")
        assert repr(again) == repr(one)
        assert np.array_equal(np.array(again.predict(frame), object), np.array(one.predict(frame), object))
        assert again.summary() == one.summary()


@pytest.mark.parametrize("kind", ["logit", "probability", "log_probability"])
def test_a_graph_answers_alike(kind):
    onnxruntime = pytest.importorskip("onnxruntime")
    logits, y = draw(2000)
    scores = {"logit": logits, "probability": expit(logits), "log_probability": np.log(expit(logits))}[kind]
    for metric in ("f1_macro", "f1_samples"):
        rule = DecisionRule(metric, kind=kind).fit(scores, y)
        session = onnxruntime.InferenceSession(rule.to_onnx().SerializeToString())
        assert session.run(["label"], {"scores": scores})[0].tolist() == rule.predict(scores).tolist()
        assert (rule.predict(scores) != (logits > 0)).any()


def test_a_weight_of_two_is_a_row_twice():
    logits, y = draw(60)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    twice = np.append(np.arange(60), np.arange(20))
    for name in ("f1_samples", "subset_accuracy"):
        task = ManyLabels.named(name)
        answers = (logits > 0.3).astype(int)
        assert task.value(answers, y, weight) == pytest.approx(task.value(answers[twice], y[twice], np.ones(80)))


@pytest.mark.parametrize(
    ("y", "expected"),
    [([["a"], ["a", "b"]], True), ([[0, 1], [1, 1]], False), ([{0, 1}, {1}], True), (np.eye(2), False), (["a", "b"], False)],
)
def test_what_is_a_list_of_labels(y, expected):
    assert are_lists(y) == expected


def test_targets_may_be_sparse():
    logits, y = draw()
    dense, sparse = (DecisionRule("f1_macro").fit(logits, one) for one in (y, csr_array(y)))
    assert sparse.thresholds_.tolist() == dense.thresholds_.tolist()


def test_thresholds_that_lose_are_dropped():
    """Labels that are drawn from the probabilities of independent labels need no threshold for subset accuracy."""
    dropped = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        logits = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1)) - [0.5, 1.0, 1.5, 2.0]
        y = (rng.random((300, 4)) < expit(2.0 * logits)).astype(int)
        rule = DecisionRule("subset_accuracy", kind="logit").fit(logits, y)
        dropped += (is_dropped := any(note.startswith("No thresholds") for note in rule.notes_))
        assert is_dropped == (not rule.offsets_.any())
        assert rule.gain_ == 0.0 if is_dropped else 2.0 * rule.gain_ > -(rule.gain_interval_[1] - rule.gain_)
    assert dropped > 0


def test_errors():
    logits, y = draw()
    with pytest.raises(ValueError, match=r"a 0 or 1 for each score, \(.*, 3\), got shape \(.*, 2\)"):
        DecisionRule("f1_macro").fit(logits, y[:, :2])
    with pytest.raises(ValueError, match="`budget` is for rows with one label each"):
        DecisionRule("f1_macro", budget={0: 1}).fit(logits, y)
    with pytest.raises(ValueError, match="'mcc' is for one label per row"):
        DecisionRule("mcc").fit(logits, y)
    with pytest.raises(ValueError, match="should be 0 and 1"):
        DecisionRule("f1_macro").fit(logits, 2 * y)
    with pytest.raises(ValueError, match="of the 3 columns of scores, got 2 labels"):
        read_label_table([["a"], ["b"]], (2, 3), None, ())
    with pytest.raises(ValueError, match="got 'c'"):
        read_label_table([["a"], ["c"]], (2, 2), ["a", "b"], ())
    rule = DecisionRule("f1_macro", kind="logit").fit(logits, y)
    with pytest.raises(ValueError, match="should have 3 columns"):
        rule.predict(logits[:, :2])
    with pytest.raises(ValueError, match="`adapt` is for rules of offsets, with one label per row"):
        rule.adapt(logits)
    with pytest.raises(AttributeError, match="no thresholds_"):
        _ = DecisionRule("f1").fit(expit(logits[:, 0]), y[:, 0]).thresholds_


def test_a_second_fit_forgets_the_first():
    logits, y = draw()
    rule = DecisionRule("f1_macro", kind="logit").fit(logits, y.argmax(1))
    assert rule.reliability_ is not None
    assert rule.fit(logits, y).reliability_ is None
    assert rule.summary() == DecisionRule("f1_macro", kind="logit").fit(logits, y).summary()
