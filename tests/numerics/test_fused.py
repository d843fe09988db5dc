"""The fused kernels against the portable form in float64, and what they promise as a part of a process."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

import metricfit as mf
from metricfit.numerics import _race, fused
from metricfit.smoothing import Normal

SPREADS = [0.01, 0.1, 1.0, 3.0, 5.0, 10.0, 30.0]
CLASSES = [2, 3, 5, 10, 16, 17, 24, 25, 100, 1000, 10_000]


def batch(k, spread, kind, n=24):
    random = torch.Generator().manual_seed(k + int(100 * spread))
    scores = spread * torch.randn(n, k, generator=random)
    labels = torch.randint(k, (n,), generator=random)
    if kind != "random":
        labels = scores.argmax(1)
    rows = torch.arange(n)
    if kind == "tied":
        scores[rows, (labels + 1) % k] = scores.amax(1)
    elif kind == "ahead":
        scores[rows, labels] += torch.linspace(0.0, 12.0, n)
    elif kind == "behind":
        scores[rows, labels] -= torch.linspace(0.0, 40.0, n)
    return scores, labels


def log_p_and_gradient(scores, labels, **options):
    scores = scores.clone().requires_grad_()
    log_p = Normal().log_label_probability(scores, labels, **options)
    return log_p.detach(), torch.autograd.grad(log_p.sum(), scores)[0]


@pytest.mark.parametrize("kind", ["random", "leading", "tied", "ahead", "behind"])
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("k", CLASSES)
def test_label(k, spread, kind):
    scores, labels = batch(k, spread, kind, n=24 if k <= 1000 else 4)
    log_p, gradient = log_p_and_gradient(scores, labels)
    exact_log_p, exact_gradient = log_p_and_gradient(scores.double(), labels)
    assert ((log_p.exp() - exact_log_p.exp()).abs() <= (1e-6 if k <= 100 else 5e-6)).all()
    assert ((log_p - exact_log_p).abs() <= 1e-4 * exact_log_p.abs().clamp(min=1)).all()
    # of the row's largest entry, where that is more than the rounding of what it is made of
    tolerance = (1e-5 if k <= 1000 else 5e-5) * exact_gradient.abs().amax(1, keepdim=True) + 1e-9
    assert ((gradient - exact_gradient).abs() <= tolerance).all()


@pytest.mark.parametrize("k", [2, 7, 40])
def test_a_row_does_not_depend_on_the_others(k):
    """Rows go in blocks; those far apart, ignored or certain leave theirs."""
    random = torch.Generator().manual_seed(k)
    scores = torch.randn(2500, k, generator=random) * torch.tensor([0.1, 1.0, 30.0])[torch.arange(2500) % 3, None]
    labels = torch.randint(k, (2500,), generator=random)
    scores[::7, 0] += 40.0
    log_p, gradient = log_p_and_gradient(scores, labels)
    order = torch.randperm(2500, generator=random)
    again = log_p_and_gradient(scores[order], labels[order])
    assert_close(again[0], log_p[order], rtol=1e-6, atol=1e-7)
    assert_close(again[1], gradient[order], rtol=1e-5, atol=1e-7)
    few = order[:3]
    assert_close(log_p_and_gradient(scores[few], labels[few])[0], log_p[few], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("k", [3, 10, 16, 17, 24, 100])
def test_the_small_gradient_of_a_label_ahead_of_one_rival(k):
    ahead = torch.linspace(-20.0, 16.0, 145)
    scores = torch.full((145, k), -500.0)
    scores[:, 0], scores[:, 1] = 0.0, -ahead
    _, gradient = log_p_and_gradient(scores, torch.zeros(145, dtype=torch.long))
    x = ahead.double() / 2**0.5
    expected = (-0.5 * x**2 - 0.5 * torch.log(torch.tensor(2 * torch.pi)) - torch.special.log_ndtr(x)).exp() / 2**0.5
    assert_close(gradient[:, 0].double(), expected, rtol=1e-5, atol=0)
    assert_close(gradient[:, 1], -gradient[:, 0], rtol=1e-6, atol=0)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("k", CLASSES[:-1])
def test_all_classes(k, spread):
    scores, _ = batch(k, spread, "random")
    incoming = torch.randn(scores.shape, generator=torch.Generator().manual_seed(0))

    def wins_and_gradient(scores):
        scores = scores.clone().requires_grad_()
        wins = Normal().assign(scores)
        return wins.detach(), torch.autograd.grad((wins * incoming).sum(), scores)[0]

    wins, gradient = wins_and_gradient(scores)
    exact_wins, exact_gradient = wins_and_gradient(scores.double())
    assert_close(wins.double(), exact_wins, rtol=0, atol=1e-6)
    assert_close(wins.sum(1), torch.ones(len(scores)), rtol=0, atol=1e-6)
    assert_close(gradient.double(), exact_gradient, rtol=0, atol=2e-6)


@pytest.mark.parametrize("k", [2, 4, 50])
def test_margins_and_scales(k):
    scores, labels = batch(k, 1.0, "random")
    scale = torch.linspace(0.2, 3.0, len(scores)).requires_grad_()
    for margin in (None, 0.0, 0.5):
        log_p = Normal().log_label_probability(scores, labels, margin, scale)
        exact = Normal().log_label_probability(scores.double(), labels, margin, scale.double())
        assert_close(log_p.double(), exact, rtol=1e-5, atol=1e-6)
        slope, exact_slope = (torch.autograd.grad(value.sum(), scale)[0] for value in (log_p, exact))
        assert_close(slope, exact_slope, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("link", ["linear", "log", "leaky(0.2)", "power(0.3)"])
@pytest.mark.parametrize("margin", [None, 0.4])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_whole_loss(link, margin, normalize, reduction):
    for k, ignore_index in ((2, -100), (7, 3), (21, 3), (40, -100)):
        scores, labels = batch(k, 1.5, "random")
        loss = mf.ExactLoss(0.6, margin, normalize, link, ignore_index=ignore_index, reduction=reduction)
        scores.requires_grad_()
        value = loss(scores, labels)
        assert type(value.grad_fn).__name__ == "_LossWithGradientBackward"
        exact = loss(scores.double(), labels)
        assert_close(value.double(), exact, rtol=2e-6, atol=1e-6)
        gradient, exact_gradient = (torch.autograd.grad(v, scores)[0] for v in (value, exact))
        assert (gradient - exact_gradient).abs().max() <= 1e-5 * exact_gradient.abs().max()
        assert_close(loss(scores.detach(), labels), value.detach())


def test_the_pipeline_takes_over_where_the_case_is_not_plain():
    scores, labels = batch(5, 1.0, "random")
    scores.requires_grad_()
    for loss, options in (
        (mf.ExactLoss(weight=torch.ones(5)), {}),
        (mf.ExactLoss(), {"sample_weight": torch.ones(24)}),
        (mf.ExactLoss(), {"scale": torch.ones(24)}),
        (mf.ExactLoss(), {"scale": torch.tensor(1.0, requires_grad=True)}),
    ):
        value = loss(scores, labels, **options)
        assert type(value.grad_fn).__name__ != "_LossWithGradientBackward"
        assert_close(value, mf.ExactLoss()(scores, labels), rtol=1e-5, atol=1e-6)
    assert_close(mf.ExactLoss()(scores.T.contiguous().T, labels), mf.ExactLoss()(scores, labels))


@pytest.mark.parametrize("class_dim", [1, -1])
def test_images_are_rows(class_dim):
    images = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = torch.randint(5, (2, 3, 4), generator=torch.Generator().manual_seed(1))
    labels[0, 0, 0] = -100
    rows = images.movedim(1, -1).reshape(-1, 5)
    value = mf.ExactLoss(class_dim=class_dim)(images if class_dim == 1 else images.movedim(1, -1), labels)
    assert (type(value.grad_fn).__name__ == "_LossWithGradientBackward") == (class_dim == 1)
    expected = mf.ExactLoss()(rows, labels.flatten())
    assert_close(value, expected, rtol=1e-5, atol=1e-6)
    gradients = [torch.autograd.grad(one, images, retain_graph=True)[0] for one in (value, expected)]
    assert_close(*gradients, rtol=1e-4, atol=1e-7)


def test_what_is_wrong_is_said_as_ever():
    scores, labels = batch(5, 1.0, "random")
    for normalize in (True, False):
        loss = mf.ExactLoss(normalize_scores=normalize)
        for bad in (math.nan, math.inf, -math.inf):
            wrong = scores.clone()
            wrong[3, 2] = bad
            if bad == -math.inf and not normalize:  # it masks a class
                continue
            what = "with normalize_scores=True, got -inf" if bad == -math.inf else ", got 1 NaN or infinite of 120 values"
            with pytest.raises(ValueError, match=f"`input` should be finite ?{what}"):
                loss(wrong, labels)
        with pytest.raises(ValueError, match=r"`target` should lie in 0 \.\.\. 4"):
            loss(scores, labels + 1)
        with pytest.raises(ValueError, match="`scale` should be positive and finite, got -1"):
            loss(scores, labels, scale=-1.0)
        with pytest.raises(TypeError, match="`scale` should be a number, got '1'"):
            loss(scores, labels, scale="1")


def test_nan_gives_nan_where_nothing_is_checked():
    scores, labels = batch(5, 1.0, "random")
    mf.set_validation(False)
    try:
        for bad in (math.nan, math.inf):
            scores[3, (labels[3] + 1) % 5] = bad
            log_p = Normal().log_label_probability(scores, labels)
            assert log_p[3].isnan()
            assert log_p.isnan().sum() == 1
            assert Normal().assign(scores)[3].isnan().all()
            assert mf.ExactLoss(normalize_scores=False)(scores, labels).isnan()
    finally:
        mf.set_validation(True)


def test_no_second_derivative():
    scores, labels = batch(5, 1.0, "random")
    scores.requires_grad_()
    (gradient,) = torch.autograd.grad(mf.ExactLoss()(scores, labels), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        gradient.sum().backward()


def test_threads_do_not_change_the_numbers(monkeypatch):
    scores, labels = batch(40, 1.0, "random", n=101)
    one = mf.ExactLoss(reduction="sum")(scores, labels), Normal().assign(scores), log_p_and_gradient(scores, labels)
    monkeypatch.setattr(fused.kernels(), "_SHARE", 16)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    many = mf.ExactLoss(reduction="sum")(scores, labels), Normal().assign(scores), log_p_and_gradient(scores, labels)
    assert_close(many, one, rtol=1e-6, atol=0)


def test_disable_gives_the_portable_form():
    scores, labels = batch(5, 1.0, "random")
    gaps = scores - scores.gather(1, labels[:, None])
    portable, _ = _race.log_win(gaps, labels, _race.default_order(torch.float32), False)
    with fused.disable():
        assert torch.equal(Normal().log_label_probability(scores, labels), portable)
    assert not torch.equal(Normal().log_label_probability(scores, labels), portable)


USE = "import torch, metricfit as mf; print(mf.ExactLoss()(torch.eye(3), torch.arange(3)).item())"
FORK = """
import os, torch, metricfit as mf
torch.set_num_threads(2)
scores, labels = torch.randn(512, 200), torch.zeros(512, dtype=torch.long)
before = mf.ExactLoss()(scores, labels).item()          # the parent's threads are awake
child = os.fork()
if child == 0:
    os._exit(0 if mf.ExactLoss()(scores, labels).item() == before else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return mf.ExactLoss()(scores, labels).item()
assert all((batch == before).all() for batch in torch.utils.data.DataLoader(Rows(), 2, num_workers=2))
print("same")
"""


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.slow
def test_fork_and_data_loader_workers():
    assert python(FORK)[0] == "same"


def test_importing_does_not_compile():
    assert python("import sys, metricfit; print('numba' in sys.modules)")[0] == "False"


def assert_value(printed):
    """What ``USE`` prints, here."""
    assert float(printed) == pytest.approx(mf.ExactLoss()(torch.eye(3), torch.arange(3)).item(), abs=1e-6)


@pytest.mark.slow
def test_without_numba_it_works_and_says_so_once():
    blocked = "import sys; sys.modules['numba'] = None; "
    printed, messages = python(blocked + USE + "; " + USE)
    assert_value(printed.splitlines()[0])
    assert messages.count("pip install 'metricfit[fast]'") == 1


@pytest.mark.slow
def test_a_cache_folder_that_cannot_be_written_to(tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    assert_value(python(USE, NUMBA_CACHE_DIR=str(nowhere))[0])


@pytest.mark.slow
def test_no_cache_folder_at_all():
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "
    nowhere += "from metricfit.numerics import fused; fused.SLOW = 0.0; "  # a quick machine compiles within two seconds
    printed, messages = python(nowhere + USE, NUMBA_OPT="0")  # it compiles faster
    assert_value(printed)
    assert "compiling the fast kernels (only once)" in messages


@pytest.mark.slow
def test_compiled_code_is_kept(tmp_path):
    """The warm-up compiles the smallest kernel, which is missing; the others, which take seconds each, are copied."""
    from numba.core import caching

    from metricfit.numerics.fused import _compile, _kernels

    def code():
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.nbc")}

    fused.kernels().compile_all()
    folder = tmp_path / caching._CacheLocator.get_suitable_cache_subpath(_kernels.__file__)
    folder.mkdir()
    for path in Path(_compile._FOLDER).glob(f"*.metricfit_{_compile._SOURCES}_*.nb[ic]"):
        if "_stages-" not in path.name:
            shutil.copy2(path, folder)
    copied = code()
    assert len(copied) == len(_kernels.ALL) - 1

    warmup = [sys.executable, "-m", "metricfit.warmup"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(warmup, env=environment, capture_output=True, text=True, check=True)
    assert "fast kernels ready after" in done.stderr
    kept = code()
    assert len(kept) == len(_kernels.ALL)
    assert kept.items() > copied.items()
    python(USE + "; mf.smoothing.Normal().assign(torch.eye(3))", NUMBA_CACHE_DIR=str(tmp_path))
    assert code() == kept  # nothing had to be compiled again
