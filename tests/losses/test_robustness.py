"""Nothing returns NaN, and no gradient is infinite, whatever finite numbers come in."""

import itertools
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import metricfit as mf

FACTOR = int(os.environ.get("METRICFIT_EXPLORE", "1"))
LARGEST = {torch.float64: 1e4, torch.float32: 1e4, torch.bfloat16: 300.0, torch.float16: 300.0}
SMOOTHINGS = [mf.smoothing.Softmax, mf.smoothing.Normal, mf.smoothing.SoftSet, mf.smoothing.Hard]
LINKS = ["linear", "log", "log_of_mean", "leaky", "power(0.3)"]
BINARY = [name for name in mf.metrics.names() if getattr(mf.metrics.get(name), "average", "") == "binary"]
MULTICLASS = [name for name in mf.metrics.names() if getattr(mf.metrics.get(name), "average", "") != "binary"]


@st.composite
def losses(draw):
    kind = draw(st.sampled_from(["metric", "exact", "cost", "hinge", "dice"]))
    reduction = draw(st.sampled_from(["mean", "sum"]))
    options = {"reduction": reduction, "ignore_index": 0 if draw(st.booleans()) else -100}
    if kind == "metric":
        memory = draw(st.sampled_from([None, 0.9])) if reduction == "mean" else None
        smoothing = draw(st.sampled_from(SMOOTHINGS))()
        return mf.MetricLoss(
            draw(st.sampled_from(MULTICLASS)), smoothing, draw(st.sampled_from(LINKS)), memory=memory, **options
        )
    if kind == "exact":
        margin, scale = draw(st.sampled_from([None, 0.0, 0.5])), draw(st.sampled_from([0.01, 1.0, 10.0]))
        return mf.ExactLoss(scale, margin, draw(st.booleans()), draw(st.sampled_from(LINKS)), **options)
    if kind == "cost":
        cost = mf.metrics.Cost(draw(st.sampled_from([[[0, 1], [5, 0]], [[1, 1], [1, 1]]])))
        return mf.MetricLoss(cost, draw(st.sampled_from(SMOOTHINGS))(), draw(st.sampled_from(LINKS)), **options)
    return (mf.HingeLoss if kind == "hinge" else mf.DiceLoss)(**options)


@st.composite
def batches(draw, n_classes):
    dtype = draw(st.sampled_from(list(LARGEST)))
    n = draw(st.integers(0, 6))
    kind = draw(st.sampled_from(["any", "extreme", "constant", "rows"]))
    limit = LARGEST[dtype]
    number = st.floats(-limit, limit, width=32)
    if kind == "constant":
        values = np.full((n, n_classes), draw(number))
    elif kind == "rows":
        values = np.tile(draw(st.lists(number, min_size=n_classes, max_size=n_classes)), (n, 1))
    else:
        element = st.sampled_from([-limit, 0.0, limit]) if kind == "extreme" else number
        values = np.array(draw(st.lists(element, min_size=n * n_classes, max_size=n * n_classes)))
    scores = torch.tensor(values.reshape(n, n_classes)).to(dtype).requires_grad_()
    labels = torch.tensor(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)), dtype=torch.long)
    weight = draw(st.sampled_from([None, 0.0, 1e-6, 1.0]))
    return scores, labels, None if weight is None else torch.full((n,), weight)


@settings(max_examples=400 * FACTOR)
@given(st.data())
def test_losses_and_gradients_are_finite(data):
    loss = data.draw(losses())
    n_classes = 2 if isinstance(getattr(loss, "metric", None), mf.metrics.Cost) else data.draw(st.integers(2, 5))
    scores, labels, weight = data.draw(batches(n_classes))
    for _ in range(2):  # a memory has something to remember the second time
        value = loss(scores, labels, weight)
        (gradient,) = torch.autograd.grad(value, scores)
        assert value.isfinite(), loss
        assert gradient.isfinite().all(), (loss, gradient)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("dtype", LARGEST)
@settings(max_examples=40 * FACTOR)
@given(data=st.data())
def test_assignments_are_probabilities(smoothing, dtype, data):
    limit = LARGEST[dtype]
    k = data.draw(st.integers(2, 6))
    row = data.draw(st.lists(st.floats(-limit, limit, width=32), min_size=k, max_size=k))
    scores = torch.tensor([row]).to(dtype)
    assignment = smoothing().assign(scores)
    assert ((assignment >= 0) & (assignment <= 1 + 1e-6)).all()
    assert abs(assignment.sum().item() - 1) < 1e-6
    log_p = smoothing().log_label_probability(scores, torch.tensor([0]))
    assert log_p.isfinite()
    assert log_p <= 1e-6


@settings(max_examples=60 * FACTOR)
@given(st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=6), st.integers(0, 2), st.floats(0.01, 20))
def test_normal_pulls_the_label_up_and_the_others_down(row, label, scale):
    scores = torch.tensor([row], dtype=torch.float64, requires_grad=True)
    log_p = mf.smoothing.Normal(scale).log_label_probability(scores, torch.tensor([label]))
    (gradient,) = torch.autograd.grad(log_p.sum(), scores)
    others = gradient[0, torch.arange(len(row)) != label]
    assert gradient[0, label] >= 0
    assert (others <= 0).all()
    assert abs(gradient.sum().item()) <= 1e-9 * max(1.0, gradient.abs().max().item())


@pytest.fixture
def _no_looking():
    mf.set_validation(False)
    yield
    mf.set_validation(True)


@pytest.mark.usefixtures("_no_looking")
@pytest.mark.parametrize(
    "loss",
    [
        *(
            mf.MetricLoss(name, smoothing(), link)
            for smoothing, name in [
                *itertools.product(SMOOTHINGS, ["accuracy", "mcc"]),
                *((SMOOTHINGS[0], name) for name in MULTICLASS),
            ]
            for link in LINKS
        ),
        *map(mf.MetricLoss, BINARY),
        mf.HingeLoss(),
        mf.DiceLoss(),
        mf.ExactLoss(),
    ],
    ids=str,
)
def test_where_nothing_is_checked_nan_gives_nan(loss):
    """As with cross-entropy on a GPU: never a plausible number, also if the NaN is in a row that the metric ignores."""
    is_binary = getattr(getattr(loss, "metric", None), "average", "") == "binary"
    scores, labels = torch.randn(5, 2 if is_binary else 3), torch.tensor([0, 1, 1, 0, 1])
    for row in (0, 2):
        wrong = scores.clone()
        wrong[row, 1] = torch.nan
        assert loss(wrong, labels).isnan()


def test_all_targets_ignored_and_no_rows():
    accuracy = [mf.MetricLoss("accuracy", link=link) for link in ("log", "log_of_mean")]
    for loss in (mf.MetricLoss("mcc"), mf.ExactLoss(), mf.HingeLoss(), mf.DiceLoss(), *accuracy):
        for scores, labels in (
            (torch.randn(3, 4, requires_grad=True), torch.full((3,), -100)),
            (torch.empty(0, 4, requires_grad=True), torch.empty(0, dtype=torch.long)),
        ):
            value = loss(scores, labels)
            assert value.isfinite()
            assert torch.autograd.grad(value, scores)[0].abs().sum() == 0


def test_validation_switch_wants_a_bool():
    with pytest.raises(TypeError, match=r"`value` should be True or False, got 1"):
        mf.set_validation(1)


@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3)])
@pytest.mark.parametrize(
    "loss",
    [
        mf.MetricLoss("f1_macro", leak=0.1),
        mf.MetricLoss("mcc", mf.smoothing.Normal()),
        mf.MetricLoss("accuracy", mf.smoothing.Normal(0.5), "log"),
        mf.EastLoss(),
        mf.DiceLoss(),
        mf.HingeLoss(),
        mf.ExactLoss(normalize_scores=False),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_minus_infinity_masks_a_class(loss, shape):
    """As in ``nn.CrossEntropyLoss``: a class without a chance is as good as no class."""
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(shape, generator=random)
    labels = torch.randint(3, (shape[0], *shape[2:]), generator=random)
    masked = scores.clone()
    masked[:, 3] = -torch.inf
    a, b = masked.requires_grad_(), scores[:, :3].clone().requires_grad_()
    value, expected = loss(a, labels), loss(b, labels)
    assert_close(value, expected)
    value.backward()
    expected.backward()
    assert a.grad.isfinite().all()
    assert_close(a.grad[:, 3], torch.zeros_like(a.grad[:, 3]))
    assert_close(a.grad[:, :3], b.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", [mf.MetricLoss("f1_macro"), mf.ExactLoss(), mf.DiceLoss(), mf.LeakyExpectedErrorLoss()])
def test_ignored_rows_may_hold_anything(loss):
    scores, labels = torch.randn(8, 3), torch.tensor([0, 1, 2, 0, 1, 2, -100, -100])
    wrong = scores.clone()
    wrong[6:] = torch.tensor([[torch.nan, 1.0, torch.inf], [torch.inf, -torch.inf, torch.nan]])
    wrong.requires_grad_()
    value = loss(wrong, labels)
    assert_close(value, loss(scores[:6], labels[:6]))
    value.backward()
    assert wrong.grad.isfinite().all()
    assert not wrong.grad[6:].any()


@pytest.mark.filterwarnings("ignore:`torch.jit")  # torch's own
def test_a_forward_derivative_has_the_dtype_of_the_loss():
    scores, labels = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    for name in ("f1_macro", "mcc", "kappa", "accuracy"):
        loss = mf.MetricLoss(name)
        value, tangent = torch.func.jvp(lambda s: loss(s, labels), (scores,), (torch.ones_like(scores),))  # noqa: B023
        assert value.dtype == tangent.dtype == torch.float32


def test_averaged_models_take_a_memory():
    """``AveragedModel(use_buffers=True)`` averages buffers; the memory, which has no shape before the first batch, is none."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    model.loss = mf.MetricLoss("f1_macro", memory=0.9)
    averaged = torch.optim.swa_utils.AveragedModel(model, use_buffers=True)
    scores, labels = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    for _ in range(2):
        model.loss(scores, labels)
        averaged.update_parameters(model)
    assert averaged.n_averaged == 2
    assert averaged.module.loss.smoothing.temperature == 1.0
    assert model.loss.running is not None
