"""Methods: the registry, and one entry that is enough for a new one."""

import copy
import json
import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.base import clone

import metricfit as mf
from metricfit import methods, metrics
from metricfit.cli import app, run_app
from metricfit.comparison import compare
from metricfit.losses import CrossEntropyLoss
from metricfit.methods import Choice, Method
from metricfit.methods._registry import REGISTRY
from metricfit.report import Run, page
from metricfit.smoothing import Normal, Softmax, SoftSet

MADE_UP = Method(
    "made_up",
    "a made-up method",
    "the metric under a wide softmax, with half a leak",
    ("Nobody 2026, Never Written",),
    smoothing=Softmax(0.7),
    leak=0.5,
)


@pytest.fixture
def registered():
    methods.register(MADE_UP)
    yield MADE_UP
    del REGISTRY["made_up"]


def blobs(n=240, seed=0):
    random = np.random.default_rng(seed)
    target = (random.uniform(size=n) < 0.3).astype(int)
    return random.normal(size=(n, 3)) + target[:, None], target


@pytest.mark.parametrize("model", ["linear", mf.Network(max_epochs=3)])
def test_a_registered_method_is_found_by_both_learners_and_in_a_saved_model(registered, tmp_path, model):
    features, target = blobs()
    fitted = mf.MetricClassifier("f1", method="made_up", model=model, random_state=0).fit(features, target)
    assert fitted.chosen_ == "made_up"
    assert fitted.method_ is registered
    assert fitted.history_
    fitted.save(tmp_path / "model")
    loaded = mf.MetricClassifier.load(tmp_path / "model")
    assert loaded.method == "made_up"
    assert loaded.method_ is registered
    np.testing.assert_array_equal(loaded.predict(features), fitted.predict(features))


def test_a_registered_method_is_found_in_compare_the_page_and_inspect(registered, tmp_path, capsys, monkeypatch):
    features, target = blobs()
    found = compare(features, target, "f1", models=["linear"], n_splits=2, n_repeats=1)
    assert list(found.results) == ["trivial, constant", *(f"linear, {name}" for name in methods.names())]
    assert methods.names()[-1] == "made_up"
    text = page(found, Run.now("data", "target"))
    assert "a made-up method: the metric under a wide softmax, with half a leak; Nobody 2026, Never Written" in text
    assert "linear, made_up" in text
    mf.MetricClassifier("f1", method="made_up", random_state=0).fit(features, target).save(tmp_path / "model")
    monkeypatch.setattr("sys.argv", ["metricfit", "inspect", str(tmp_path / "model"), "--json"])
    assert run_app(app, "metricfit") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["method"] == "made_up (a made-up method)"
    assert shown["papers"] == ["Nobody 2026, Never Written"]


def test_a_method_of_your_own_needs_no_registration(tmp_path):
    features, target = blobs()
    fitted = mf.MetricClassifier("f1", method=MADE_UP, random_state=0).fit(features, target)
    assert clone(fitted).method.name == "made_up"
    with pytest.warns(UserWarning, match="A model file cannot store method"):
        fitted.save(tmp_path / "model")
    loaded = mf.MetricClassifier.load(tmp_path / "model")
    assert (loaded.chosen_, loaded.method_.papers) == ("made_up", MADE_UP.papers)
    found = mf.compare(features, target, "f1", models=["linear"], methods=[MADE_UP], n_splits=2, n_repeats=1, n_jobs=2)
    assert list(found.results) == ["trivial, constant", "linear, threshold", "linear, made_up"]
    assert "a made-up method" in page(found, Run.now("data", "target"))


def test_a_choice_of_your_own():
    features, target = blobs(600)
    choice = Choice(
        "mine",
        (methods.get("cross_entropy"), replace(MADE_UP, name="first"), replace(MADE_UP, name="then", leak=0.1, start="first")),
    )
    for model in ("linear", mf.Network(max_epochs=3)):
        fitted = mf.MetricClassifier("f1", method=choice, model=model, random_state=0).fit(features, target)
        tried = [row["candidate"] for row in fitted.candidates_]
        assert tried == (["cross_entropy", "first", "then"] if model == "linear" else ["cross_entropy", "then"])


def test_a_candidate_is_that_of_the_choice_it_was_found_by():
    """Its cross-entropy is stopped by accuracy, and the registered one is not."""
    found = methods.find("cross_entropy", "noisy_labels")
    assert found is methods.NOISY_LABELS.candidates[0] is not methods.find("cross_entropy")
    assert methods.is_registered(methods.get("noisy_labels"))
    with pytest.raises(ValueError, match="There is already a method 'noisy_labels'"):
        methods.register(replace(MADE_UP, name="noisy_labels"))


def test_class_weights_count_in_cross_entropy_alone():
    weight = torch.tensor([1.0, 9.0])
    assert isinstance(methods.get("threshold").build_loss(metrics.get("mcc"), 2, weight), CrossEntropyLoss)
    direct = methods.get("direct").build_loss(metrics.get("mcc"), 2, weight)
    assert direct.weight is None
    assert direct.leak_weight is weight


def test_smoothing_of_methods_with_normal_noise():
    def smoothings(name, kind):
        method = mf.MetricClassifier(model="linear", method=name, smoothing=kind).fit(*blobs()).method_
        return [type(method.smoothing_for(n_classes)) for n_classes in (2, 3)]

    assert smoothings("direct", "auto") == [Normal, Softmax]
    assert smoothings("direct", "normal") == [Normal, Normal]
    assert smoothings("direct", "softmax") == [Softmax, Softmax]
    assert smoothings("east", "softmax") == [SoftSet, SoftSet]


def test_methods_can_be_copied():
    for method in map(methods.get, methods.names()):
        assert pickle.loads(pickle.dumps(method)).name == copy.deepcopy(method).name == method.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: methods.get("leakey"), "Did you mean 'leaky'"),
        (lambda: methods.get(3), "`method` should be a name or a"),
        (lambda: Method(""), "`name` should be a text that is not empty, got ''"),
        (lambda: Method("a", loss="mse"), "`loss` should be one of 'cross_entropy', 'hinge', 'metric'"),
        (lambda: Method("a", leak=-1.0), "`leak` should be at least 0"),
        (lambda: Method("a", widths=(1.0, 0.0)), "`widths` should be greater than 0"),
        (lambda: Method("a", smoothing="normal"), "`smoothing` should be one of"),
        (lambda: methods.NetworkTraining(stop_by="luck"), "`stop_by` should be one of"),
        (lambda: methods.NetworkTraining(widths=(0.0,)), "`widths`"),
        (lambda: methods.NetworkTraining(patience=0), "`patience`"),
        (lambda: Method("a", link="cubic"), "`link` should be"),
        (lambda: Choice("a", ()), "`candidates` should be methods, at least one"),
        (
            lambda: Choice("a", (MADE_UP, replace(MADE_UP, name="b", start="c"))),
            "`start` of 'b' should be one of 'scratch'.*got 'c'",
        ),
        (lambda: mf.MetricClassifier(method=Method("a", start="b")).fit(*blobs()), "`start` of 'a' should be one of"),
        (lambda: methods.register(Method("leaky")), "There is already a method 'leaky'"),
        (lambda: methods.register("leaky"), "`method` should be a"),
        (lambda: mf.compare([[0.0]] * 4, [0, 1, 0, 1], methods=[Method("leaky"), "leaky"]), "distinct names, got 'leaky'"),
    ],
)
def test_errors_say_what_to_pass(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


class TestPapers:
    """A name means the paper: sections 4.5 and 5.4 of EXACT, 3.2 of expected error, 4.3 and E.1 of EAST."""

    def test_exact(self):
        exact = methods.get("exact")
        assert (exact.widths[0], exact.widths[-1]) == pytest.approx((10.0, 0.01))
        ratios = [second / first for first, second in pairwise(exact.widths)]
        assert ratios == pytest.approx([ratios[0]] * len(ratios))
        assert exact.normalize_scores
        assert exact.normalize_gradients
        assert exact.network == methods.NetworkTraining(widths=(10.0, 1.0), stop_by="epochs", last_learning_rate=1e-4)
        assert all(0.0 < margin <= 10.0 for margin in exact.margins)  # the range of Table 8

    @pytest.mark.parametrize(("name", "alpha"), [("expected_error", 0.0), ("leaky", 0.1)])
    def test_expected_error(self, name, alpha):
        """(1 - p) - alpha log p, Eq. 6, with p = 3/4."""
        loss = methods.get(name).build_loss(metrics.get("accuracy"), 2)
        found = loss(torch.tensor([[math.log(3.0), 0.0]]), torch.tensor([0]))
        assert found.item() == pytest.approx(0.25 - alpha * math.log(0.75))
        assert methods.get(name).network.patience == 30

    def test_east(self):
        east = methods.get("east")
        assert east.widths[:3] == pytest.approx((0.2, 0.16, 0.128))
        assert (east.network.anneals, east.network.stop_by, east.network.patience) == (True, "loss", 50)

    def test_hinge_has_the_margin(self):
        loss = replace(methods.get("hinge"), margin=2.0).build_loss(metrics.get("accuracy"), 3)
        assert loss(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0])).item() == pytest.approx(1.5)

    @pytest.mark.parametrize("name", ["hinge", "expected_error", "leaky", "exact", "east"])
    def test_none_starts_at_cross_entropy_or_trains_offsets(self, name):
        assert (methods.get(name).start, methods.get(name).offsets) == (methods.SCRATCH, "none")
        assert methods.get(name).papers

    def test_what_is_ours_names_no_paper(self):
        assert methods.get("direct").papers == ()
