"""Offsets do not depend on the form of the scores, and labels may be of any type."""

import logging

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax
from sklearn.metrics import f1_score

import metricfit as mf
from metricfit import metrics
from metricfit.decisions import NEVER, fit_calibrated_offsets, fit_offsets


def logits(n, k, seed=0):
    """Calibrated logits: labels are drawn from their softmax. The first class is the most frequent."""
    random = np.random.default_rng(seed)
    scores = 1.5 * random.normal(size=(n, k)) - np.linspace(0.0, 2.0, k)
    return scores, np.array([random.choice(k, p=p) for p in softmax(scores, 1)])


def forms(scores):
    """The same scores as files and libraries have them, and what it takes to read them."""
    p, logs, k = softmax(scores, 1), log_softmax(scores, 1), scores.shape[1]
    found = {
        "logits": scores,
        "shifted": scores + np.linspace(-3.0, 3.0, k),
        "times 10": 10.0 * scores,
        "times 1000": 1000.0 * scores,
        "log-probabilities": logs,
        "percent": 100.0 * p,
        "three digits": p.round(3),
        "two digits": p.round(2),
        "tensor": torch.tensor(p, dtype=torch.float32, requires_grad=True),
        "frame": pd.DataFrame(p),
    }
    if k == 2:
        difference = scores[:, 1] - scores[:, 0]
        found |= {"one column": p[:, 1], "(n, 1)": p[:, 1:], "one logit": difference, "logit - 3": difference - 3.0}
    return p, found


@pytest.mark.parametrize(("k", "metric"), [(2, "f1"), (2, "accuracy"), (2, "mcc"), (3, "f1_macro"), (4, "balanced_accuracy")])
def test_every_form_of_the_scores_gives_the_same_decisions(k, metric):
    scores, labels = logits(600, k)
    p, others = forms(scores)
    expected = mf.decide(p, mf.tune_offsets(p, labels, metric))
    for name, form in others.items():
        decided = mf.decide(form, mf.tune_offsets(form, labels, metric))
        assert (decided == expected).mean() > (0.97 if "digits" in name else 0.999), name


def test_what_does_not_fit_the_scores_is_said():
    for arguments, message in (
        (([[1.0, 2.0]], [0, 1], "f1"), r"`y` should have shape \(1,\)"),
        (([[1.0, 2.0, 3.0]], [2], "f1"), "is for two classes"),
    ):
        with pytest.raises(ValueError, match=message):
            mf.tune_offsets(*arguments)
    with pytest.raises(ValueError, match=r"`offsets` should have shape \(3,\)"):
        mf.decide([[0.2, 0.3, 0.5]], [0.0, 1.0])


def test_one_column_of_percentages_is_refused():
    scores, labels = logits(100, 2)
    with pytest.raises(ValueError, match=r"`scores` are ambiguous: .* Divide percentages by 100, or pass kind='logit'"):
        mf.tune_offsets(100.0 * softmax(scores, 1)[:, 1], labels, "f1")
    assert mf.tune_offsets(100.0 * softmax(scores, 1)[:, 1], labels, "f1", kind="logit")[0] > 0.0


def test_zeros_do_not_widen_the_noise():
    """One row in a hundred of a class whose probability is zero changes the offsets little."""
    scores, labels = logits(2000, 2)
    p = softmax(scores, 1)
    p[::100] = np.eye(2)[1 - labels[::100]]
    np.testing.assert_allclose(mf.tune_offsets(p, labels, "f1"), mf.tune_offsets(softmax(scores, 1), labels, "f1"), atol=0.15)


@pytest.mark.parametrize("k", [2, 3])
def test_scores_that_say_nothing(k):
    labels = np.arange(60) % k
    assert np.isfinite(mf.tune_offsets(np.zeros((60, k)), labels, "accuracy", kind="logit")).all()
    same = fit_calibrated_offsets(np.full((60, k), NEVER), labels, metrics.get("accuracy"), np.ones(60))
    assert (same == fit_offsets(np.full((60, k), NEVER), labels, metrics.get("accuracy"), np.ones(60))).all()


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes"], None),
        ([False, True], None),
        ([1, 2], None),
        ([-1, 1], None),
        ([0.0, 1.0], None),
        (["yes", "no"], ["yes", "no"]),
        (["good", "bad"], ("good", "bad")),
    ],
)
@pytest.mark.parametrize("convert", [np.array, list, pd.Series])
def test_labels_of_any_type(values, classes, convert):
    scores, labels = logits(200, 2)
    y = convert([values[label] for label in labels])
    np.testing.assert_array_equal(mf.tune_offsets(scores, y, "f1", classes=classes), mf.tune_offsets(scores, labels, "f1"))


def test_whole_numbers_are_columns_even_if_one_is_absent():
    scores, labels = logits(200, 3)
    kept = labels != 1
    offsets = mf.tune_offsets(scores[kept], labels[kept], "accuracy")
    assert offsets.shape == (3,)
    assert (mf.decide(scores[kept], offsets) == 1).mean() < (scores[kept].argmax(1) == 1).mean()


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (
            ["a", "b", "a"],
            None,
            r"`y` should have 3 different labels, one per column of scores, got 2: 'a', 'b'. Pass `classes`",
        ),
        ([0, 1, 3], ["a", "b", "c"], r"`y` should contain only labels of `classes`, \['a', 'b', 'c'\], got also 0"),
        (["a", "b", "cc"], ["a", "b", "c"], "got also 'cc'. Did you mean 'c'?"),
        (["a", "b", "c"], ["a", "b"], r"`classes` should name 3 different classes, one per column, got \['a', 'b'\]"),
        (["a", "b", None], None, "labels of one type in every row, got NoneType, str"),
        (["a", "b", float("nan")], None, "labels of one type in every row, got float, str"),
        ([0.0, 1.0, float("nan")], None, "got 1 NaN. Drop these rows"),
    ],
)
def test_labels_that_cannot_be_read(y, classes, message):
    with pytest.raises(ValueError, match=message):
        mf.tune_offsets(3.0 * np.eye(3), y, "accuracy", classes=classes)


def test_a_column_about_the_other_class_is_noticed():
    scores, labels = logits(300, 2)
    y = np.array(["bad", "good"])[1 - labels]  # the column is about "bad"
    p = softmax(scores, 1)[:, 1]
    with pytest.warns(UserWarning, match="lower in its own rows than in the others.* pass `classes`"):
        mf.tune_offsets(p, y, "f1")
    np.testing.assert_array_equal(mf.tune_offsets(p, y, "f1", classes=["good", "bad"]), mf.tune_offsets(p, labels, "f1"))


def test_it_says_what_it_read(caplog):
    scores, labels = logits(50, 2)
    with caplog.at_level(logging.INFO, "metricfit"):
        mf.tune_offsets(softmax(scores, 1)[:, 1], labels, "f1")
    assert "Scores: 50 rows of one column, read as probabilities of the positive class." in caplog.text


class TestDecide:
    def test_few_values_of_one_column_need_a_kind(self):
        offsets = [-0.5, 0.5]  # a logit above -1, a probability above 0.269
        with pytest.raises(ValueError, match="fewer than 20 values, all between 0 and 1"):
            mf.decide([0.2], offsets)
        assert mf.decide([0.2], offsets, kind="probability").tolist() == [0]
        assert mf.decide([0.2], offsets, kind="logit").tolist() == [1]
        assert mf.decide([-0.2, 0.2], offsets).tolist() == [1, 1]

    def test_a_batch_is_decided_as_its_rows_are(self):
        scores, labels = logits(100, 3)
        for form in (softmax(scores, 1), log_softmax(scores, 1), scores, softmax(scores, 1).round(2)):
            offsets = mf.tune_offsets(form, labels, "f1_macro")
            one_by_one = [mf.decide(row[None], offsets)[0] for row in form]
            assert (mf.decide(form, offsets) == one_by_one).all()

    def test_a_row_of_logits_that_looks_like_probabilities_is_settled_by_its_kind(self):
        offsets = [0.5, -0.5]
        assert mf.decide([[0.0, 1.0]], offsets).tolist() == [1]
        assert mf.decide([[0.2, 0.8]], offsets).tolist() == [1]  # log 4 is more than 1
        assert mf.decide([[0.2, 0.8]], offsets, kind="logit").tolist() == [0]  # 0.6 is less


def several_labels(n=400, seed=0):
    """Logits of five labels with shares of 10 to 50 percent, each too small by 1: the threshold 0 misses most positives."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, 5)) * 1.5 + np.log(np.linspace(0.1, 0.5, 5))
    return z - 1.0, (random.random((n, 5)) < 1.0 / (1.0 + np.exp(-z))).astype(int)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_thresholds_of_several_labels(average, smooth):
    (scores, y), (new, truth) = several_labels(), several_labels(4000, 1)
    offsets = mf.tune_offsets(scores, y, f"f1_{average}", smooth=smooth)
    assert offsets.shape == (5, 2)
    tuned, plain = (f1_score(truth, decided, average=average) for decided in (mf.decide(new, offsets), new > 0))
    assert tuned > plain + 0.04
    # the same from probabilities, of which it takes the logits
    probabilities = 1.0 / (1.0 + np.exp(-scores))
    assert_allclose(mf.tune_offsets(probabilities, y, f"f1_{average}", smooth=smooth), offsets, atol=1e-6)
    assert (mf.decide(1.0 / (1.0 + np.exp(-new)), offsets) == mf.decide(new, offsets)).all()


@pytest.mark.parametrize("metric", ["mcc", "balanced_accuracy", "jaccard_macro"])
def test_labels_are_tuned_one_by_one(metric):
    scores, y = several_labels()
    alone = {"jaccard_macro": "jaccard"}.get(metric, metric)
    expected = [mf.tune_offsets(scores[:, label], y[:, label], alone) for label in range(5)]
    assert_allclose(mf.tune_offsets(scores, y, metric), expected)
    masked, more = y.copy(), np.concatenate([scores, scores + 9.0])
    masked = np.concatenate([masked, np.full_like(y, -1)])
    assert_allclose(mf.tune_offsets(torch.from_numpy(more).bfloat16().requires_grad_(), masked, metric, ignore_index=-1),
                    mf.tune_offsets(torch.from_numpy(scores).bfloat16(), y, metric))  # fmt: skip


def test_labels_that_all_or_no_rows_have_keep_their_threshold():
    scores, y = several_labels()
    y[:, 0], y[:, 1] = 0, 1
    assert not mf.tune_offsets(scores, y, "f1_macro")[:2].any()


def test_what_is_wrong_with_several_labels_is_said():
    scores, y = several_labels()
    with pytest.raises(ValueError, match=r"is for one label, but there are several"):
        mf.tune_offsets(scores, y, "f1")
    with pytest.raises(ValueError, match=r"should be 0 and 1, one for each score"):
        mf.tune_offsets(scores, 2 * y, "f1_macro")
    with pytest.raises(ValueError, match=r"are for scores \(n, 5\), got \(400, 4\)"):
        mf.decide(scores[:, :4], np.zeros((5, 2)))


def test_pixels_are_rows(caplog):
    random = np.random.default_rng(0)
    y = random.choice(3, (6, 20, 20), p=[0.8, 0.15, 0.05])
    scores = (
        random.normal(size=(6, 3, 20, 20)) + 1.5 * np.moveaxis(np.eye(3)[y], -1, 1) + np.log([0.8, 0.15, 0.05])[:, None, None]
    )
    rows = np.moveaxis(scores, 1, -1).reshape(-1, 3)
    offsets = mf.tune_offsets(scores, y, "iou_macro")
    assert_allclose(offsets, mf.tune_offsets(rows, y.reshape(-1), "iou_macro"))
    decided = mf.decide(scores, offsets)
    assert decided.shape == y.shape
    assert (decided.reshape(-1) == mf.decide(rows, offsets)).all()
    hidden = np.where(random.random(y.shape) < 0.5, 255, y)
    kept = hidden.reshape(-1) != 255
    expected = mf.tune_offsets(rows[kept], y.reshape(-1)[kept], "iou_macro")
    assert_allclose(
        mf.tune_offsets(torch.from_numpy(scores), torch.from_numpy(hidden), "iou_macro", ignore_index=255), expected
    )
    # one logit per pixel
    mask = (y > 0).astype(int)
    logits = scores[:, 1:].max(1, keepdims=True) - scores[:, :1]
    of_mask = mf.tune_offsets(logits, mask[:, None], "iou")
    assert_allclose(of_mask, mf.tune_offsets(logits.reshape(-1), mask.reshape(-1), "iou"))
    assert mf.decide(logits, of_mask).shape == y.shape
    with caplog.at_level("INFO", "metricfit"):
        mf.tune_offsets(np.tile(scores, (1, 1, 10, 10)), np.tile(y, (1, 10, 10)), "accuracy")
    assert "The search for the offsets uses 120,000 of 240,000 pixels, one in 2." in caplog.text
    with pytest.raises(
        ValueError, match=r"`y` should have shape \(6, 20, 20\) for scores of shape \(6, 3, 20, 20\), got \(6, 20\)"
    ):
        mf.tune_offsets(scores, y[:, 0], "iou_macro")
