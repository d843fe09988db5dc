"""One reader of scores: shapes, kinds and types that it knows, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.special import log_softmax, softmax

from metricfit.decisions._scores import read_scores

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(200, 3)) * 2.0
P = softmax(LOGITS, 1)
P2 = softmax(LOGITS[:, :2], 1)


@pytest.mark.parametrize(
    ("scores", "kind", "words"),
    [
        (P, "probability", "200 rows of 3 columns, read as probabilities."),
        (P.round(2), "probability", "read as probabilities rounded to 0.01."),
        (softmax(RANDOM.normal(size=(200, 40)), 1).round(3), "probability", "rounded to 0.001"),
        (100 * P, "probability", "read as percentages."),
        ((100 * P).round(), "probability", "read as percentages rounded to 1."),
        (P2[:, 1], "probability", "200 rows of one column, read as probabilities of the positive class."),
        (P2[:, 1:], "probability", "one column"),
        (log_softmax(LOGITS, 1), "log_probability", "read as log-probabilities."),
        (LOGITS, "logit", "read as logits."),
        (LOGITS[:, 0], "logit", "read as logits of the positive class."),
    ],
)
def test_every_kind_is_recognised_and_said(scores, kind, words):
    read = read_scores(scores)
    assert read.kind == kind
    assert words in read.sentence
    assert read.is_sure


def test_one_column_is_two():
    np.testing.assert_allclose(read_scores(P2[:, 1]).values, np.log(P2))
    np.testing.assert_allclose(read_scores(P2[:, 1:]).values, np.log(P2))
    np.testing.assert_allclose(read_scores(np.log(P2[:, 1]), "log_probability").values, np.log(P2))
    assert read_scores([1.5, -2.0]).values.tolist() == [[0.0, 1.5], [0.0, -2.0]]


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        pd.DataFrame,
        lambda p: pd.DataFrame(p).convert_dtypes(),
        pl.DataFrame,
        lambda p: torch.tensor(p, requires_grad=True),
    ],
)
def test_types_of_tables(convert):
    np.testing.assert_array_equal(read_scores(convert(P)).values, np.log(P))


@pytest.mark.parametrize("convert", [list, pd.Series, pl.Series, torch.tensor])
def test_types_of_columns(convert):
    np.testing.assert_array_equal(read_scores(convert(P2[:, 1])).values[:, 1], np.log(P2[:, 1]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("back", [torch.Tensor.clone, torch.Tensor.float])
def test_probabilities_of_low_precision(dtype, back):
    assert read_scores(back(torch.tensor(P, dtype=dtype))).kind == "probability"


def test_zeros():
    assert read_scores([[1.0, 0.0]]).values[0].tolist() == [0.0, np.log(1e-12)]
    with np.errstate(divide="ignore"):
        logs = read_scores(np.log([[1.0, 0.0], [0.5, 0.5]]))
    np.testing.assert_allclose(logs.values, [[0.0, np.log(1e-12)], [np.log(0.5)] * 2])
    assert logs.kind == "log_probability"


def test_probabilities_that_do_not_sum_to_one_are_refused():
    """A sigmoid per class, or similarities: both lie between 0 and 1."""
    sigmoids = 1.0 / (1.0 + np.exp(-LOGITS))
    with pytest.raises(ValueError, match=r"`scores` are ambiguous: they lie between 0 and 1.* Pass kind='probability'"):
        read_scores(sigmoids)
    np.testing.assert_allclose(read_scores(sigmoids, "probability").values, np.log(sigmoids))
    np.testing.assert_array_equal(read_scores(sigmoids, "logit").values, sigmoids)
    assert read_scores(sigmoids[:1]).kind == "logit"  # one row of logits may lie there by chance


def test_rows_that_sum_to_one_below_zero_are_refused():
    """A linear regression on one column per class gives such scores."""
    scores = np.stack([LOGITS[:, 0], 1.0 - LOGITS[:, 0]], 1)
    with pytest.raises(ValueError, match=r"their rows sum to one, but they go from"):
        read_scores(scores)
    np.testing.assert_array_equal(read_scores(scores, "logit").values, scores)


def test_a_few_values_between_0_and_1_leave_a_doubt():
    assert not read_scores([0.3]).is_sure
    assert read_scores([0.3], "probability").is_sure
    assert read_scores([0.3], "logit").values.tolist() == [[0.0, 0.3]]


def test_a_kind_that_cannot_be():
    with pytest.raises(ValueError, match=r"kind='probability' should be between 0 and 1, got -.*Divide percentages by 100"):
        read_scores(LOGITS, "probability")
    with pytest.raises(ValueError, match="kind='log_probability' should be at most 0"):
        read_scores(LOGITS, "log_probability")
    with pytest.raises(ValueError, match=r"`kind` should be one of .* Did you mean 'probability'"):
        read_scores(LOGITS, "probabilities")


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (["a", "b"], TypeError, "`scores` should be numbers"),
        ([[[1.0]]], ValueError, r"should have shape \(n,\), \(n, 1\) or \(n, k\)"),
        ([], ValueError, "at least one row"),
        ([[1.0, np.nan]], ValueError, "`scores` should be finite, got 1 NaN or infinite value."),
        ([2.0, np.inf], ValueError, "Pass probabilities instead of their logits"),
    ],
)
def test_bad_scores(scores, error, message):
    with pytest.raises(error, match=message):
        read_scores(scores)
