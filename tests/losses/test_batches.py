"""Small batches as good as one large one: two passes, and a memory."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.data import DataLoader, TensorDataset

import metricfit as mf
from metricfit.training import Batches

LOSSES = [
    mf.MetricLoss("f1_macro"),
    mf.MetricLoss("mcc", mf.smoothing.Normal(), "log", label_smoothing=0.1),
    mf.EastLoss("g_mean"),
    mf.ExactLoss(normalize_scores=False, margin=1.0),
    mf.MetricLoss("accuracy", link="log"),
    mf.ExactLoss(link="log_of_mean", normalize_scores=False),
    mf.MetricLoss("accuracy", link="log_of_mean", leak=0.3, leak_weight=torch.tensor([1.0, 2.0, 3.0])),
    mf.DiceLoss(),
    mf.HingeLoss(),
    mf.ExactLoss(),
    mf.MetricLoss("mcc", normalize_scores=True),
    mf.MetricLoss("f1_macro", memory=0.5),
]


def data(n=67, k=3, rare=0.06):
    random = torch.Generator().manual_seed(0)
    x = torch.randn(n, 5, dtype=torch.float64, generator=random)
    y = torch.multinomial(torch.tensor([rare, 0.6, 0.4 - rare]), n, replacement=True, generator=random)
    return x, y, 0.5 + torch.rand(n, dtype=torch.float64, generator=random)


def gradient_of(model):
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    return gradient


def model_for(seed=1, dropout=0.0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3)).double()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_two_passes_over_micro_batches_give_the_full_gradient(loss):
    model, (x, y, w) = model_for(), data()
    full = loss(model(x), y, w)
    full.backward()
    expected = gradient_of(model)
    batches = list(zip(x.split(8), y.split(8), w.split(8), strict=True))
    value = mf.accumulate_gradients(model, loss, batches)
    assert_close(value, full.detach())
    assert_close(gradient_of(model), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_two_passes_with_a_loss_of_torch(reduction):
    model, (x, y, _) = model_for(), data()
    loss = nn.CrossEntropyLoss(reduction=reduction, weight=torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    loss(model(x), y).backward()
    expected = gradient_of(model)
    mf.accumulate_gradients(model, loss, list(zip(x.split(8), y.split(8), strict=True)))
    assert_close(gradient_of(model), expected)


def test_two_passes_train_the_parameters_of_the_loss():
    model, (x, y, _) = model_for(), data()
    loss = mf.MetricLoss("mcc", leak=0.1, offsets=nn.Parameter(torch.zeros(3, dtype=torch.float64)))
    loss(model(x), y).backward()
    expected, loss.offsets.grad = loss.offsets.grad, None
    mf.accumulate_gradients(model, loss, list(zip(x.split(8), y.split(8), strict=True)))
    assert_close(loss.offsets.grad, expected)


@pytest.mark.parametrize("probabilities", [False, True])
def test_two_passes_over_sentences_of_other_lengths(probabilities):
    """Scores (n, k, length), padding ignored, weights for words."""
    torch.manual_seed(0)
    model = nn.Conv1d(2, 3, 3, padding=1).double()
    loss, batches = mf.MetricLoss("f1_macro"), []
    for length in (5, 3, 4):
        labels = torch.randint(3, (2, length)).masked_fill(torch.arange(length) == length - 1, -100)
        shares = torch.rand(2, 3, length).double().softmax(1)
        weight = torch.rand(2, length).double()
        batches.append((torch.randn(2, 2, length).double(), shares if probabilities else labels, weight))
    mf.accumulate_gradients(model, loss, batches)
    found = gradient_of(model)
    rows = [(model(x).movedim(1, -1).reshape(-1, 3), y, w) for x, y, w in batches]
    labels = torch.cat([y.movedim(1, -1).reshape(-1, 3) if probabilities else y.flatten() for _, y, _ in rows])
    loss(torch.cat([scores for scores, _, _ in rows]), labels, torch.cat([w.flatten() for _, _, w in rows])).backward()
    assert_close(found, gradient_of(model))


def test_running_averages_move_once():
    (x, y, _), states = data(), []
    for accumulated in (True, False):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3)).double()
        batches = list(zip(x.split(17), y.split(17), strict=True))
        if accumulated:
            mf.accumulate_gradients(model, mf.MetricLoss("mcc"), batches)
        else:
            mf.MetricLoss("mcc")(torch.cat([model(part) for part, _ in batches]), y).backward()
        states.append((model[1].state_dict(), gradient_of(model), torch.get_rng_state()))
    for one, other in zip(*states, strict=True):
        assert_close(one, other, rtol=1e-12, atol=1e-15)
    assert states[0][0]["num_batches_tracked"] == 4


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_two_passes_keep_the_reduction_and_the_scale(reduction):
    model, (x, y, _) = model_for(), data()
    loss = mf.MetricLoss("mcc", reduction=reduction)
    whole = loss(model(x), y, scale=0.3)
    whole.backward()
    expected = gradient_of(model)
    value = mf.accumulate_gradients(model, loss, list(zip(x.split(8), y.split(8), strict=True)), scale=0.3)
    assert_close(value, whole.detach())
    assert_close(gradient_of(model), expected)


def test_what_two_passes_cannot_do_is_said():
    model, (x, y, _) = model_for(), data()
    with pytest.raises(ValueError, match=r'`loss` should have reduction="mean" or "sum" here, got "none"'):
        mf.accumulate_gradients(model, nn.CrossEntropyLoss(reduction="none"), [(x, y)])
    with pytest.raises(TypeError, match=r"`batches` should be iterable more than once, got an iterator"):
        mf.accumulate_gradients(model, mf.MetricLoss(), iter([(x, y)]))
    with pytest.raises(ValueError, match=r"`batches` should hold at least one batch"):
        mf.accumulate_gradients(model, mf.MetricLoss(), [])
    with pytest.raises(ValueError, match=r"`loss` should have a gradient with respect to the scores, got none"):
        mf.accumulate_gradients(model, lambda scores, labels: torch.ones((), requires_grad=True), [(x, y)])


@pytest.mark.parametrize(
    "make",
    [
        partial(mf.MetricLoss, "f1_macro"),
        partial(mf.MetricLoss, "mcc", leak=0.3),
        partial(mf.MetricLoss, "accuracy", link="log_of_mean"),
        partial(mf.EastLoss, "f1_macro"),
    ],
)
def test_a_memory_of_one_pass_gives_the_full_gradient(make):
    """With nothing forgotten, the last batch of a pass at frozen weights is trained on the metric of the whole pass."""
    model, (x, y, w) = model_for(), data(n=64)
    loss = make(memory=1.0)
    for part, labels, weights in zip(x.split(8), y.split(8), w.split(8), strict=True):
        value = loss(model(part), labels, weights)
    plain = make()
    assert_close(value, plain(model(x), y, w))
    assert_close(loss.running, plain.statistics(model(x), y, w))

    # from here each batch contributes its part of the full gradient, whatever its size
    total = torch.zeros_like(torch.cat([p.flatten() for p in model.parameters()]))
    frozen = loss.running.clone()
    for part, labels, weights in zip(x.split(8), y.split(8), w.split(8), strict=True):
        loss.running = frozen - plain.statistics(model(part), labels, weights).detach()  # it is about to be added again
        loss(model(part), labels, weights).backward()
        total += gradient_of(model) * weights.sum() / w.sum()
    plain(model(x), y, w).backward()
    assert_close(total, gradient_of(model))


def test_memory_forgets_counts_rows_and_rests_in_evaluation():
    loss = mf.MetricLoss("f1_macro", memory=0.5)
    scores, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    loss(scores, labels)
    loss(scores[:1], labels[:1])
    assert loss.objective().size(loss.running).item() == pytest.approx(0.5 * 4 + 1)
    before = loss.running.clone()
    with torch.no_grad():  # validation, and nobody called `loss.eval()`
        validated = loss(scores, labels)
    assert_close(loss.running, before)
    evaluated = loss.eval()(scores, labels)
    assert_close(loss.running, before)
    assert_close(validated, evaluated)
    assert_close(evaluated, mf.MetricLoss("f1_macro")(scores, labels))
    loss.forget()
    assert loss.running is None


def test_memory_trains_where_a_batch_rarely_holds_the_rare_class():
    """A batch of 4 rarely holds one of the 6 % positives; with a memory the metric of recent batches is trained for."""
    x, y, _ = data(n=400)
    y = (y == 0).long()
    x[:, 0] += 2.5 * y

    def trained(memory):
        torch.manual_seed(0)
        model = nn.Linear(5, 2).double()
        loss = mf.MetricLoss("f1", memory=memory)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(8):
            for rows in torch.randperm(400).split(4):
                optimiser.zero_grad()
                loss(model(x[rows]), y[rows]).backward()
                optimiser.step()
        hard = mf.confusion_matrix(mf.smoothing.Hard().assign(model(x)), y)
        return mf.metrics.get("f1")(hard).item()

    assert trained(0.99) > trained(None)


def test_memory_survives_a_bad_batch_and_another_number_of_classes_is_said():
    loss = mf.MetricLoss("mcc", memory=0.9)
    scores, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    loss(scores, labels)
    mf.set_validation(False)
    try:
        assert loss(scores * float("nan"), labels).isnan()
        assert loss(scores, labels).isfinite()
    finally:
        mf.set_validation(True)
    with pytest.raises(
        ValueError, match=r"`input` should have 3 classes as in the previous batches, got 4. Call `forget\(\)`"
    ):
        loss(torch.randn(4, 4), labels)


def test_running_statistics_travel_with_the_state():
    loss = mf.MetricLoss("mcc", memory=0.9)
    loss(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
    fresh = mf.MetricLoss("mcc", memory=0.9)
    fresh.load_state_dict(loss.state_dict())
    assert_close(fresh.running, loss.running)
    fresh.load_state_dict(mf.MetricLoss("mcc", memory=0.9).state_dict())
    assert fresh.running is None


def test_accumulated_batches_come_in_the_same_order_twice():
    """Batches draws another order each time; a loader of torch repeats its own, because torch's random state is restored."""
    x, y = torch.randn(60, 4), torch.arange(60) % 3
    model, loss, gradients = nn.Linear(4, 3), mf.MetricLoss("f1_macro"), []
    batches = Batches(x, y, size=20)
    for same in (list(batches), DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)):
        model.zero_grad()
        mf.accumulate_gradients(model, loss, same)
        gradients.append(model.weight.grad.clone())
    assert torch.allclose(*gradients, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"`batches` should come in the same order twice, got other labels. Try `list"):
        mf.accumulate_gradients(model, loss, batches)
