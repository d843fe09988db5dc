"""Networks alone: one per split, their mean predicts, smoothed offsets come after; and the choice for wrong labels."""

import json

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, StratifiedKFold, StratifiedShuffleSplit
from torch import nn

from metricfit import MetricClassifier, Network, methods, metrics
from metricfit.decisions import cross_entropy, cross_fit_offsets, fit_smooth_offsets, fit_temperature
from metricfit.estimators import FitSpec, SharedFits
from metricfit.learners import MeanModel

X, Y = make_classification(240, 6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=0)
SEED = np.random.RandomState(0).randint(2**31)  # what random_state=0 becomes


def network(metric="f1_macro", **options):
    """Options of ``Network``, and others of ``MetricClassifier``."""
    small = {"max_epochs": 4, "batch_size": 32, "hidden_layer_sizes": (5,)}
    own = {name: options.pop(name) for name in Network().get_params() if name in options}
    return MetricClassifier(metric, **{"model": Network(**small | own), "preprocess": None, "random_state": 0} | options)


def held_out_scores(fitted, splits):
    """The scores of held-out rows and their labels, by the network that has not seen them."""
    logits = [model.logits(X[test]) for model, (_, test) in zip(fitted.model_.models, splits, strict=True)]
    return np.concatenate(logits), Y[np.concatenate([test for _, test in splits])]


def folds(n_members):
    return list(StratifiedKFold(n_members, shuffle=True, random_state=SEED).split(X, Y))


def weights_of(fitted):
    return [tensor for model in fitted.model_.models for tensor in model.module.state_dict().values()]


class TestTheRecipe:
    def test_the_mean_of_fold_networks_with_smoothed_offsets(self):
        fitted = network(n_members=3).fit(X, Y)
        assert isinstance(fitted.model_, MeanModel)
        mean = np.mean([np.exp(log_softmax(model.logits(X), 1)) for model in fitted.model_.models], 0)
        np.testing.assert_allclose(fitted.model_.logits(X), np.log(mean), rtol=1e-12)
        logits, labels = held_out_scores(fitted, folds(3))
        parts = np.split(np.arange(240), 3)
        expected = cross_fit_offsets(logits, labels, metrics.get("f1_macro"), np.ones(240), parts, fit_smooth_offsets)
        np.testing.assert_allclose(fitted.offsets_, np.mean(expected, 0), atol=1e-12)
        assert fitted.temperature_ == fit_temperature(logits, labels, np.ones(240))
        by_row = np.repeat(expected, 80, axis=0)
        rows = {row["candidate"]: row for row in fitted.candidates_}
        assert list(rows) == ["threshold", "cross_entropy"]
        assert rows["cross_entropy"]["metric"] == pytest.approx(value(logits, labels))
        assert rows["threshold"]["metric"] == pytest.approx(value(logits + by_row, labels))
        assert fitted.chosen_ == "threshold"

    def test_four_members_by_default_and_each_of_its_own(self):
        fitted = network(max_epochs=1).fit(X, Y)
        assert len(fitted.model_.models) == 4
        first = [model.module[0].weight for model in fitted.model_.models]
        assert not any(torch.equal(one, other) for place, one in enumerate(first) for other in first[:place])

    def test_a_single_network_has_offsets_of_five_parts_of_its_held_out_rows(self):
        fitted = network(n_members=1).fit(X, Y)
        assert not isinstance(fitted.model_, MeanModel)
        ((_, test),) = StratifiedShuffleSplit(1, test_size=0.2, random_state=SEED).split(X, Y)
        logits, labels = fitted.model_.logits(X[test]), Y[test]
        parts = [part for _, part in StratifiedKFold(5, shuffle=True, random_state=SEED).split(X[test], labels)]
        expected = cross_fit_offsets(logits, labels, metrics.get("f1_macro"), np.ones(48), parts, fit_smooth_offsets)
        np.testing.assert_allclose(fitted.offsets_, np.mean(expected, 0), atol=1e-12)

    def test_training_stops_by_held_out_cross_entropy_for_every_metric(self):
        ((_, test),) = StratifiedShuffleSplit(1, test_size=0.2, random_state=SEED).split(X, Y)
        found = []
        for epochs in range(1, 9):  # the best of the first ones, because the seed is the same
            fitted = network("mcc", n_members=1, lr=0.1, max_epochs=epochs, patience=20).fit(X, Y)
            found.append(cross_entropy(fitted.model_.logits(X[test]), Y[test], np.ones(len(test))))
        assert found == np.minimum.accumulate(found).tolist()
        assert len(set(found)) < len(found)  # some epochs were worse, and not kept
        for metric in ("accuracy", "balanced_accuracy"):
            other = network(metric, n_members=1, lr=0.1, max_epochs=8, patience=20).fit(X, Y)
            assert (other.model_.logits(X) == fitted.model_.logits(X)).all()

    def test_history_has_the_metric_of_held_out_rows_without_offsets(self):
        fitted = network(n_members=2, max_epochs=1).fit(X, Y)
        assert [row["step"] for row in fitted.history_] == [1, 2]
        for row, model, (_, test) in zip(fitted.history_, fitted.model_.models, folds(2), strict=True):
            assert row["metric"] == pytest.approx(value(model.logits(X[test]), Y[test]))

    def test_the_same_bits_for_any_number_of_jobs(self):
        one, two = (network(n_members=2, n_jobs=n_jobs).fit(X, Y) for n_jobs in (None, 2))
        assert all(map(torch.equal, weights_of(one), weights_of(two)))
        assert (one.offsets_ == two.offsets_).all()
        assert one.history_ == two.history_

    def test_networks_are_shared_between_metrics_and_methods(self):
        ways = [(metric, method) for metric in ("mcc", "f1_macro") for method in ("auto", "cross_entropy")]
        specs = [FitSpec(network(n_members=2).model, method, metric) for metric, method in ways]
        shared = SharedFits(network(), X, Y, specs)
        fits = [shared.fit(spec)[0] for spec in specs]
        assert all(fit.model_.models is fits[0].model_.models for fit in fits)
        alone = network("f1_macro", n_members=2).fit(X, Y)
        assert (fits[2].decision_function(X) == alone.decision_function(X)).all()
        assert fits[1].history_ == fits[0].history_ == network("mcc", n_members=2).fit(X, Y).history_
        assert not fits[2].history_  # the epochs were measured by another metric


def value(scores, labels):
    judge = MetricClassifier("f1_macro")
    judge.classes_, judge.metric_ = np.arange(3), metrics.get("f1_macro")
    judge.decision_function = lambda rows: rows
    return judge.score(scores, labels)


class TestMembers:
    def test_a_splitter_of_the_users_own_gives_the_splits(self):
        groups = np.arange(240) % 6
        splits = list(GroupKFold(3).split(X, Y, groups))
        fitted = network(n_members=2, cv=splits, max_epochs=1).fit(X, Y)
        assert len(fitted.model_.models) == 2
        for row, model, (_, test) in zip(fitted.history_, fitted.model_.models, splits[:2], strict=True):
            assert row["metric"] == pytest.approx(value(model.logits(X[test]), Y[test]))
        assert len(network(n_members=9, cv=splits, max_epochs=1).fit(X, Y).model_.models) == 3

    @pytest.mark.parametrize("method", ["direct", "leaky", "exact", "east", "hinge"])
    def test_methods_by_name(self, method):
        fitted = network(method=method, n_members=2, max_epochs=2).fit(X, Y)
        assert len(fitted.model_.models) == 2
        assert fitted.chosen_ == method
        own = np.mean([model.offsets for model in fitted.model_.models], 0)
        np.testing.assert_allclose(fitted.offsets_, own, atol=1e-15)
        assert (own != 0.0).any() == (method == "direct")
        assert not isinstance(network(method=method, n_members=1, max_epochs=2).fit(X, Y).model_, MeanModel)

    def test_a_row_has_the_same_score_alone_and_among_others(self):
        fitted = network(n_members=2).fit(X, Y)
        alone = np.concatenate([fitted.decision_function(X[place : place + 1]) for place in range(20)])
        np.testing.assert_allclose(alone, fitted.decision_function(X)[:20], rtol=0, atol=1e-12)

    def test_weights_of_rows_are_repeated_rows(self):
        weight = np.arange(240) % 3 + 1
        rows = np.repeat(np.arange(240), weight)
        parts = [np.arange(240) % 2 == part for part in range(2)]
        whole = {"n_members": 2, "batch_size": 1000, "method": "cross_entropy"}
        one = network(cv=[(part, ~part) for part in parts], **whole).fit(X, Y, weight)
        other = network(cv=[(part[rows], ~part[rows]) for part in parts], **whole).fit(X[rows], Y[rows])
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)

    def test_a_warm_start_goes_on_from_the_same_member(self):
        fitted = network(n_members=2, warm_start=True).fit(X, Y)
        before = weights_of(fitted)
        fitted.set_params(model__lr=1e-30, model__max_epochs=1).fit(X, Y)
        assert all(map(torch.equal, before, weights_of(fitted)))
        fitted.set_params(model__n_members=3).fit(X, Y)
        after = weights_of(fitted)
        assert all(map(torch.equal, before, after[: len(before)]))
        assert len(after) > len(before)

    def test_a_module_is_copied_and_a_function_is_called_for_each(self):
        module, made = nn.Linear(6, 3), []

        def build(n_features, n_classes):
            made.append(nn.Linear(n_features, n_classes))
            return made[-1]

        still = {"lr": 1e-30, "max_epochs": 1, "n_members": 2, "method": "cross_entropy"}
        weights = weights_of(network(module=module, **still).fit(X, Y))
        assert torch.equal(weights[0], weights[2])
        weights = weights_of(network(module=build, **still).fit(X, Y))
        assert len(made) == 2
        assert not torch.equal(weights[0], weights[2])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_members": 0}, "`n_members` should be at least 1 and at most 1000, got 0"),
            ({"n_members": 1001}, "`n_members` should be at least 1 and at most 1000, got 1001"),
            ({"n_members": 2.0}, "`n_members` should be a whole number, got 2.0"),
            ({"n_members": True}, "`n_members` should be a whole number, got True"),
            ({"hidden_layer_sizes": (4, 0)}, "`hidden_layer_sizes` should be at least 1 and at most 1.04858e\\+06, got 0"),
            ({"module": "mlp"}, "`module` should be an nn.Module, a function that returns one, or None, got 'mlp'"),
            ({"model": Network}, r"got the class Network: pass Network\(\)"),
            ({"max_epochs": 0}, "`max_epochs` should be at least 1, got 0"),
            ({"patience": 0}, "`patience` should be at least 1, got 0"),
            ({"batch_size": None}, "`batch_size` should be a number, got None"),
            ({"lr": 0.0}, "`lr` should be greater than 0, got 0"),
            ({"method": "noisy_labels", "model": "linear"}, "`noisy_labels` is for networks, and `model` 'linear' is not one"),
            ({"method": "noisy_labels", "model": "auto"}, "`noisy_labels` is for networks, and `model` 'ensemble' is not one"),
            ({"method": "noisy_labels", "model": ["linear", "mlp"]}, "`noisy_labels` is for networks, and `model` 'ensemble'"),
        ],
    )
    def test_errors_say_what_to_pass(self, options, message):
        with pytest.raises((TypeError, ValueError), match=message):
            network(**options).fit(X, Y)


class TestWrongLabels:
    def test_candidates_are_stopped_and_chosen_by_accuracy(self):
        fitted = network("balanced_accuracy", method="noisy_labels", n_members=2, max_epochs=6, lr=0.03).fit(X, Y)
        rows = {row["candidate"]: row for row in fitted.candidates_}
        assert list(rows) == ["cross_entropy", "leaky_accuracy", "exact_accuracy"]
        for name, row in rows.items():  # halves of 120 rows, so the mean of the best epochs of both
            best = np.max(np.reshape([step["metric"] for step in fitted.history_ if step["stage"] == name], (2, 6)), 1)
            assert row["accuracy"] == pytest.approx(best.mean())
        chosen = max(rows.values(), key=lambda row: row["accuracy"])
        assert fitted.chosen_ == chosen["candidate"]
        assert chosen["verdict"] == "chosen: the best accuracy of held-out rows"
        for name in rows.keys() - {fitted.chosen_}:
            gap = rows[name]["accuracy"] - chosen["accuracy"]
            assert rows[name]["verdict"] == f"{gap:+.4f} of accuracy against {fitted.chosen_}"
        logits, labels = held_out_scores(fitted, folds(2))
        assert accuracy_score(labels, logits.argmax(1)) == pytest.approx(chosen["accuracy"])
        parts = np.split(np.arange(240), 2)
        expected = cross_fit_offsets(logits, labels, metrics.get("balanced_accuracy"), np.ones(240), parts, fit_smooth_offsets)
        np.testing.assert_allclose(fitted.offsets_, np.mean(expected, 0), atol=1e-12)

    def test_accuracy_has_no_offsets(self):
        fitted = network("accuracy", method="noisy_labels", n_members=1, max_epochs=2).fit(X, Y)
        assert (fitted.offsets_ == 0.0).all()
        assert [row["metric"] for row in fitted.candidates_] == [row["accuracy"] for row in fitted.candidates_]

    def test_the_losses_are_those_of_the_papers(self):
        scores, labels = torch.randn(50, 4, generator=torch.Generator().manual_seed(0)), torch.arange(50) % 4
        import metricfit as mf

        plain, leaky, exact = (one.build_loss(metrics.get("accuracy"), 4) for one in methods.NOISY_LABELS.candidates)
        torch.testing.assert_close(plain(scores, labels), nn.functional.cross_entropy(scores, labels))
        torch.testing.assert_close(leaky(scores, labels), mf.LeakyExpectedErrorLoss(0.1)(scores, labels))
        of_paper = mf.ExactLoss(scale=1.0, margin=5.0, normalize_scores=True)
        torch.testing.assert_close(exact(scores, labels), of_paper(scores, labels))

    def test_a_saved_model_knows_its_method(self, tmp_path):
        fitted = network("mcc", method="noisy_labels", n_members=2, max_epochs=1).fit(X, Y)
        fitted.save(tmp_path / "model")
        loaded = MetricClassifier.load(tmp_path / "model")
        assert loaded.method == "noisy_labels"
        assert loaded.method_ is methods.find(fitted.chosen_, "noisy_labels")
        assert loaded.candidates_ == fitted.candidates_
        assert (loaded.decision_function(X) == fitted.decision_function(X)).all()
        found = json.loads((tmp_path / "model" / "model.json").read_text())
        assert found["method"]["name"] == fitted.chosen_
