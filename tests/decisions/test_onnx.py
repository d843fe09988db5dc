"""Rules in onnxruntime: the same labels, whatever the scores are."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, compose, helper
from scipy.special import log_softmax, softmax

from metricfit import DecisionRule
from metricfit.decisions import NotAttainableError
from metricfit.metrics import Cost

N = 10_000


def run(model, scores):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(["label"], {"scores": scores})[0]


def drawn(n_classes):
    """Logits and labels; some classes are rare, so that offsets matter."""
    rng = np.random.default_rng(n_classes)
    logits = rng.normal(size=(N, n_classes)) - np.arange(n_classes)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return logits, labels


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("logit", lambda logits: logits),
        ("probability", lambda logits: softmax(logits, 1)),
        ("log_probability", lambda logits: log_softmax(logits, 1)),
        ("auto", lambda logits: 100.0 * softmax(logits, 1)),
        ("auto", lambda logits: np.round(softmax(logits, 1), 2)),  # zeros among them
    ],
)
def test_one_column_per_class(kind, make, n_classes):
    logits, labels = drawn(n_classes)
    names = np.array([f"class {number}" for number in range(n_classes)])
    scores = make(logits)
    rule = DecisionRule("f1_macro", kind=kind, classes=names.tolist()).fit(scores, names[labels])
    found = run(rule.to_onnx(), scores)
    assert found.tolist() == rule.predict(scores).tolist()
    assert found.tolist() != names[scores.argmax(1)].tolist()


@pytest.mark.parametrize("pos_label", [4, 9])
@pytest.mark.parametrize("kind", ["logit", "probability", "log_probability"])
def test_one_column_for_two_classes(kind, pos_label):
    logits, labels = drawn(2)
    other = {9: 0, 4: 1}[pos_label]
    column = logits[:, 1 - other] - logits[:, other]
    scores = {"logit": column, "probability": 1 / (1 + np.exp(-column)), "log_probability": -np.log1p(np.exp(-column))}[kind]
    rule = DecisionRule("f1", kind=kind, pos_label=pos_label).fit(scores, np.array([4, 9])[labels])
    found = run(rule.to_onnx(), scores[:, None])
    assert found.tolist() == rule.predict(scores).tolist()
    assert len(np.unique(found)) == 2


def test_a_class_without_probability_is_not_infinitely_far():
    logits, labels = drawn(3)
    scores = log_softmax(logits, 1)
    rule = DecisionRule("f1_macro", kind="log_probability").fit(scores, labels)
    rule.offsets_ = np.array([0.0, 0.0, 30.0])
    rows = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.0, -1000.0]])
    assert run(rule.to_onnx(), rows[:1]).tolist() == rule.predict(rows[:1]).tolist() == [2]
    assert run(rule.to_onnx(), rows[1:]).tolist() == rule.predict(rows[1:]).tolist() == [1]


def test_it_goes_behind_a_network_in_float32():
    logits, labels = drawn(3)
    scores = logits.astype(np.float32)
    rule = DecisionRule("f1_macro", kind="logit", classes=["a", "b", "c"]).fit(scores, np.array(["a", "b", "c"])[labels])
    rows, logits = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (None, 3)) for name in ("rows", "logits"))
    graph = helper.make_graph([helper.make_node("Add", ["rows", "rows"], ["logits"])], "network", [rows], [logits])
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    joined = compose.merge_models(network, rule.to_onnx(dtype="float32"), io_map=[("logits", "scores")])
    session = onnxruntime.InferenceSession(joined.SerializeToString())
    assert session.run(None, {"rows": scores / 2})[0].tolist() == rule.predict(scores).tolist()


def test_what_cannot_be_kept_does_not_travel():
    rule = DecisionRule("recall", subject_to="precision >= 0.99", kind="probability").fit([0.5] * 40, [0, 1] * 20)
    with pytest.raises(NotAttainableError, match="Pass fallback='best'"):
        rule.to_onnx()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"metric": Cost({(1, 0): "amount", (0, 1): 1.0})}, "costs of the row"),
        ({"budget": {1: 20}}, "the other rows"),
        ({"metric": "recall@20"}, "the other rows"),
        ({"abstain_cost": 0.2}, "abstention"),
    ],
)
def test_answers_that_depend_on_more_than_the_scores_are_refused(options, why):
    logits, labels = drawn(2)
    costs = {"amount": np.arange(200.0)} if "costs" in why else None
    rule = DecisionRule(**options).fit(softmax(logits[:200], 1), labels[:200], costs=costs)
    with pytest.raises(ValueError, match=f"depend on {why}. Use `save`"):
        rule.to_onnx()
