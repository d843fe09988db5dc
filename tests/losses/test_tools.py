"""The losses inside torch's other tools: compile, func, autocast, state_dict, pickle, deepcopy."""

import copy
import io
import pickle

import pytest
import torch
from torch.testing import assert_close

import metricfit as mf
from tests.losses.test_modes import TOOLS, step

LOSSES = {
    "mcc": lambda: mf.MetricLoss("mcc"),
    "f1_normal_log": lambda: mf.MetricLoss("f1_macro", mf.smoothing.Normal(0.7), "log"),
    "exact": lambda: mf.ExactLoss(margin=1.0),
    "exact_log": lambda: mf.ExactLoss(link="log", label_smoothing=0.1),
    "leaky": lambda: mf.LeakyExpectedErrorLoss(),
    "east": lambda: mf.EastLoss("g_mean"),
    "cost": lambda: mf.MetricLoss(mf.metrics.Cost([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), link="power(0.5)"),
    "hinge": lambda: mf.HingeLoss(),
    "dice": lambda: mf.DiceLoss(weight=torch.tensor([1.0, 2.0, 3.0])),
}


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]()


def batch(n=8, k=3, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(n, k, generator=random), torch.randint(k, (n,), generator=random)


CASES = {name: (make, *batch()) for name, make in LOSSES.items()} | TOOLS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch's own, about itself
@pytest.mark.parametrize("name", CASES)
def test_compiles_into_one_graph(name):
    torch._dynamo.reset()
    make, scores, target = CASES[name]
    loss = make()
    compiled = torch.compile(loss, fullgraph=True)
    assert_close(step(compiled, scores, target), step(loss, scores, target))
    if name not in TOOLS:
        if isinstance(loss, mf.MetricLoss):
            assert_close(step(compiled, scores, target, scale=0.3), step(loss, scores, target, scale=0.3))
        return
    for context in (torch.no_grad, torch.inference_mode):  # validation
        with context():
            assert_close(compiled(scores, target), loss(scores, target))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiles_with_a_memory():
    torch._dynamo.reset()
    scores, target = batch()
    plain, compiled = mf.MetricLoss("mcc", memory=0.9), mf.MetricLoss("mcc", memory=0.9)
    function = torch.compile(compiled, fullgraph=True)
    for seed in range(3):
        scores, target = batch(seed=seed)
        assert_close(step(function, scores, target), step(plain, scores, target))
    assert_close(compiled.running, plain.running)


def test_func_grad_and_vmap(loss):
    scores, target = (torch.stack(parts) for parts in zip(*(batch(seed=seed) for seed in range(4)), strict=True))
    expected = torch.stack([step(loss, *pair)[1] for pair in zip(scores, target, strict=True)])
    assert_close(torch.func.vmap(torch.func.grad(loss))(scores, target), expected)
    values = torch.stack([loss(*pair) for pair in zip(scores, target, strict=True)])
    assert_close(torch.func.vmap(loss)(scores, target), values)


def test_autocast_computes_in_float32(loss):
    scores, target = batch(n=300)
    layer = torch.nn.Linear(3, 3)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(scores)
        value = loss(output, target)
    assert output.dtype == torch.bfloat16
    assert value.dtype == torch.float32
    assert_close(value, loss(output.float(), target))
    value.backward()
    assert layer.weight.grad.isfinite().all()


def test_copies_give_the_same_loss(loss):
    scores, target = batch()
    expected = loss(scores, target)
    saved = io.BytesIO()
    torch.save(loss.state_dict(), saved)
    saved.seek(0)
    loaded = copy.deepcopy(loss)
    loaded.load_state_dict(torch.load(saved, weights_only=True))
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), loaded):
        assert_close(other(scores, target), expected)
        assert repr(other) == repr(loss)


def test_meta_device_needs_no_values():
    """No device is named in the core: tensors without any storage go through as well as any other kind."""
    for make in LOSSES.values():
        value = make().to("meta")(torch.empty(5, 3, device="meta"), torch.empty(5, dtype=torch.long, device="meta"))
        assert value.device.type == "meta"
        assert value.shape == ()


def test_float64_in_float64_out(loss):
    scores, target = batch()
    assert loss(scores.double(), target).dtype == torch.float64
    assert_close(loss(scores.double(), target).float(), loss(scores, target), rtol=1e-5, atol=1e-6)
