"""The loop against the same by hand: steps, schedules, stopping, checkpoints, processes."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

import metricfit as mf
from metricfit import schedules
from metricfit.training import Batches, anneal
from reproductions.lab import networks
from tests.training.common import cpu_trainer, data
from tests.training.torchrun import run_in_two


def parts(seed=0, k=3):
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, k))
    return module, torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)


def weights(module):
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


class TestAgainstTheSameByHand:
    def test_every_bit(self):
        """Scale and rate by step, gradients normalised: as a loop in a paper would do it."""
        x, y = data()
        scale, rate = schedules.geometric(3.0, 0.1, 40), schedules.geometric(0.1, 0.001, 40)
        module, optimizer = parts()
        loss, normalizer = mf.ExactLoss(margin=0.5), mf.GradientNormalizer()
        step = 0
        batches = Batches(x, y, size=30, seed=3)
        for _ in range(10):
            for features, labels in batches:
                optimizer.param_groups[0]["lr"] = rate(step)
                optimizer.zero_grad()
                loss(module(features), labels, scale=scale(step)).backward()
                normalizer(module)
                optimizer.step()
                step += 1
        other, optimizer = parts()
        trainer = cpu_trainer(
            other,
            mf.ExactLoss(margin=0.5),
            optimizer,
            lr=rate,
            scale=scale,
            normalizer=mf.GradientNormalizer(),
        )
        history = trainer.fit(Batches(x, y, size=30, seed=3), (x, y), epochs=10)
        assert torch.equal(weights(module), weights(other))
        assert [row["step"] for row in history] == [4 * (epoch + 1) for epoch in range(10)]
        assert [row["scale"] for row in history] == [scale(4 * epoch + 3) for epoch in range(10)]
        assert history[-1]["metric"] == pytest.approx((other(x).argmax(1) == y).double().mean().item())

    def test_weights_of_rows_go_to_the_loss(self):
        x, y = data()
        seen = []

        def loss(scores, labels, weight=None):
            seen.append(weight)
            return nn.functional.cross_entropy(scores, labels)

        module, optimizer = parts()
        cpu_trainer(module, loss, optimizer).fit(Batches(x, y, torch.arange(120.0), size=120), (x, y), epochs=1)
        assert seen[0].sort().values.tolist() == list(range(120))
        assert seen[1] is None  # of held-out rows


class TestHistory:
    def test_the_held_out_loss_is_at_the_scale_of_the_epoch(self):
        """At a scale near zero EXACT's loss is 1 - accuracy."""
        x, y = data()
        for width, largest in ((1e-4, 1e-3), (3.0, 1.0)):
            module, optimizer = parts()
            loss = mf.ExactLoss(normalize_scores=False)
            trainer = cpu_trainer(module, loss, optimizer, scale=schedules.constant(width))
            row = trainer.fit([(x, y)], (x, y), epochs=1)[0]
            assert abs(row["held_out_loss"] - (1.0 - row["metric"])) < largest
        assert abs(row["held_out_loss"] - (1.0 - row["metric"])) > 0.05

    def test_live_share_and_norm(self):
        """Ten rows beyond the hinge's margin have no gradient, five at the wrong side have one."""
        x = torch.cat([torch.full((10, 1), 5.0), torch.full((5, 1), -5.0)])
        y = torch.ones(15, dtype=torch.long)
        module = nn.Linear(1, 2, bias=False)
        nn.init.constant_(module.weight, 0.0)
        module.weight.data[1] = 1.0
        trainer = cpu_trainer(module, mf.HingeLoss(), torch.optim.SGD(module.parameters(), lr=0.0))
        row = trainer.fit([(x, y)], (x, y), epochs=1)[0]
        assert row["live"] == pytest.approx(1 / 3)
        assert row["surrogate"] == pytest.approx(6.0 / 3.0)  # margin 1, five rows at -5
        assert row["gradient_norm"] == pytest.approx(math.sqrt(2.0) * 5.0 / 3.0)

    def test_a_memory_sees_no_held_out_rows(self):
        """Both the judge and the trainer ask the loss about held-out rows, and training goes on as without them."""
        x, y = data(k=2)
        held_out = data(40, k=2, seed=1)
        found, judged = {}, []
        for name, part in (("none", (x[:1], y[:1])), ("some", held_out)):
            module, optimizer = parts(k=2)
            loss = mf.MetricLoss("f1", memory=0.9)

            def judge(scores, labels, loss=loss):
                judged.append((float(loss(scores, labels)), float(mf.MetricLoss("f1")(scores, labels))))
                return -judged[-1][0]

            trainer = cpu_trainer(module, loss, optimizer, score=judge)
            trainer.fit(Batches(x, y, size=30, seed=1), part, epochs=3)
            found[name] = weights(module), loss.running
        assert loss.memory == 0.9
        own, plain = zip(*judged, strict=True)
        assert own == pytest.approx(plain, rel=1e-6)  # float32, summed in another order
        assert torch.equal(found["none"][0], found["some"][0])
        assert torch.equal(found["none"][1], found["some"][1])


class TestNoRows:
    """Batches that are spent, or hold no row that counts."""

    def test_batches_that_train_nothing_are_said(self):
        x, y = data()
        trainer = cpu_trainer(nn.Linear(5, 3), nn.CrossEntropyLoss())
        with pytest.raises(TypeError, match=r"`batches` should be iterable more than once, got an iterator. Try `list"):
            trainer.fit(iter([(x, y)]), (x, y), epochs=3)
        with pytest.raises(ValueError, match="`batches` should have at least one batch per epoch, got none"):
            trainer.fit([], (x, y), epochs=3)

    @pytest.mark.parametrize("empty", [lambda x, y: (x[:0], y[:0]), lambda x, y: (x, torch.full_like(y, -100))])
    def test_a_batch_without_rows_does_not_count_in_the_surrogate(self, empty):
        x, y = data()
        (row,) = cpu_trainer(module := nn.Linear(5, 3), loss := nn.CrossEntropyLoss()).fit(
            [empty(x, y), (x, y)], (x, y), epochs=1
        )
        assert math.isfinite(row["surrogate"])
        assert row["held_out_loss"] == pytest.approx(float(loss(module(x), y).detach()))

    def test_no_epoch_is_the_best_if_all_scores_are_nan(self):
        x, y = data()
        trainer = cpu_trainer(nn.Linear(5, 3), nn.CrossEntropyLoss(), score=lambda scores, labels: math.nan)
        assert len(trainer.fit([(x, y)], (x, y), epochs=9, patience=2)) == 2
        with pytest.raises(ValueError, match="No epoch is the best: the metric is NaN in all 2 epochs"):
            _ = trainer.best_epoch


class TestStopping:
    def judged(self, values, patience, least_epochs=0, epochs=50):
        """A trainer whose metric follows a list."""
        x, y = data()
        module, optimizer = parts()
        seen = []

        def judge(scores, labels):
            seen.append(weights(module).clone())
            return values[min(len(seen), len(values)) - 1]

        trainer = cpu_trainer(module, nn.CrossEntropyLoss(), optimizer, score=judge)
        trainer.fit(Batches(x, y, size=60), (x, y), epochs=epochs, patience=patience, least_epochs=least_epochs)
        return trainer, module, seen

    def test_it_keeps_the_best_and_stops_after_patience(self):
        trainer, module, seen = self.judged([0.1, 0.5, 0.4, 0.3, 0.3, 0.9], patience=3)
        assert trainer.epoch == 5
        assert torch.equal(weights(module), seen[1])

    def test_not_before_so_many_epochs(self):
        trainer, module, seen = self.judged([0.1, 0.5, 0.4, 0.3, 0.3, 0.9, 0.1], patience=3, least_epochs=6)
        assert trainer.epoch == 9
        assert torch.equal(weights(module), seen[5])

    def test_without_patience_the_last_counts(self):
        trainer, module, seen = self.judged([0.9, 0.1], patience=None, epochs=4)
        assert trainer.epoch == 4
        assert torch.equal(weights(module), seen[-1])

    def test_of_equal_metrics_the_lower_surrogate(self):
        trainer, module, seen = self.judged([0.5], patience=4, epochs=12)
        surrogates = [row["surrogate"] for row in trainer.history]
        assert torch.equal(weights(module), seen[surrogates.index(min(surrogates))])


class TestAnnealing:
    @pytest.mark.parametrize("rule", ["metric", "loss"])
    def test_it_goes_on_while_it_gains(self, rule):
        x, y = data()
        held_out = data(seed=1)
        module, optimizer = parts()
        trainer = cpu_trainer(module, mf.EastLoss("f1_macro"), optimizer, metric="f1_macro")
        options = {"start": 0.2, "rate": 0.5, "patience": 4, "stop_by": rule, "give_up_after": 2, "epochs": 400}
        history = anneal(trainer, Batches(x, y, size=60), held_out, **options)
        temperatures = list(dict.fromkeys(row["scale"] for row in history))
        assert temperatures == pytest.approx([0.2 * 0.5**k for k in range(len(temperatures))])
        values = [row["metric"] if rule == "metric" else -row["held_out_loss"] for row in history]
        chosen = trainer.best_epoch - 1
        assert values[chosen] == max(values)
        kept = trainer.scores(held_out[0]), held_out[1]
        assert trainer.score(*kept) == pytest.approx(history[chosen]["metric"])
        assert trainer.loss(*kept, scale=history[chosen]["scale"]).item() == pytest.approx(history[chosen]["held_out_loss"])
        after = {row["scale"] for row in history[chosen + 1 :]} - {history[chosen]["scale"]}
        assert len(after) == 2  # two temperatures in vain

    def test_a_score_that_calls_the_loss_judges_at_the_temperature(self):
        x, y = data()
        module, optimizer = parts()
        loss, held_out = mf.EastLoss("f1_macro"), data(seed=1)
        score = lambda scores, labels: -float(loss(scores, labels))  # noqa: E731
        trainer = cpu_trainer(module, loss, optimizer, score=score)
        history = anneal(trainer, [(x, y)], held_out, rate=0.5, patience=1, give_up_after=2, epochs=300)
        assert {row["scale"] for row in history} > {0.2}
        assert all(row["metric"] == -row["held_out_loss"] for row in history)
        assert loss.smoothing.width.item() == 0.2

    def test_one_rule_for_one_trainer(self):
        x, y = data()
        module, optimizer = parts()
        trainer = cpu_trainer(module, mf.EastLoss("f1_macro"), optimizer)
        trainer.fit([(x, y)], (x, y), epochs=1, patience=2)
        with pytest.raises(ValueError, match="`stop_by` should be 'metric' as in the last fit, got 'loss'"):
            anneal(trainer, [(x, y)], (x, y), epochs=3)
        with pytest.raises(ValueError, match="`stop_by` should be one of"):
            trainer.fit([(x, y)], (x, y), epochs=2, stop_by="chance")


class TestPredictedSigma:
    def made(self, seed=0, **options):
        torch.manual_seed(seed)
        module = networks.PredictedSigma(nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
        return module, cpu_trainer(module, mf.ExactLoss(margin=0.5), optimizer, **options)

    def test_it_is_trained_saved_loaded_and_predicts_by_mu(self, tmp_path):
        x, y = data()
        module, trainer = self.made()
        history = trainer.fit(Batches(x, y, size=30, seed=1), (x, y), epochs=20)
        assert history[-1]["metric"] > history[0]["metric"]
        mu, sigma = module(x)
        assert (sigma - 1.0).abs().max() > 1e-2
        assert torch.equal(trainer.scores(x), mu)
        assert history[-1]["held_out_loss"] == pytest.approx(mf.ExactLoss(margin=0.5)(mu, y, scale=sigma).item())
        assert math.isfinite(history[-1]["live"])
        trainer.save(tmp_path / "checkpoint")
        _, other = self.made(seed=1)
        other.load(tmp_path / "checkpoint")
        assert torch.equal(other.scores(x), mu)

    def test_two_batches_per_step_are_one_large_one(self):
        x, y = data()
        found = []
        for accumulate, size in ((1, 60), (2, 30)):
            module, trainer = self.made(accumulate=accumulate)
            trainer.fit(list(zip(x.split(size), y.split(size), strict=True)), (x, y), epochs=2)
            found.append(weights(module))
        torch.testing.assert_close(*found)

    def test_a_schedule_and_a_sigma_exclude_each_other(self):
        _, trainer = self.made(scale=schedules.constant(0.5))
        x, y = data()
        with pytest.raises(ValueError, match="`scale` should be None for a module that returns its own sigma"):
            trainer.fit([(x, y)], (x, y), epochs=1)

    @pytest.mark.parametrize(
        ("found", "error", "message"),
        [
            (lambda scores: (scores, scores[:, :1]), ValueError, r"got shapes \(120, 3\) and \(120, 1\). Try `sigma.squeeze"),
            (lambda scores: (scores,) * 3, TypeError, "got a tuple of 3"),
            (lambda scores: {"logits": scores}, TypeError, "got a dict"),
        ],
    )
    def test_other_outputs(self, found, error, message):
        class Other(nn.Linear):
            def forward(self, rows):
                return found(super().forward(rows))

        module, (x, y) = Other(5, 3), data()
        trainer = cpu_trainer(module, mf.ExactLoss(), torch.optim.SGD(module.parameters(), lr=0.1))
        with pytest.raises(error, match=message):
            trainer.fit([(x, y)], (x, y), epochs=1)


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path):
    code, _, errors = run_in_two(tmp_path, Path(__file__).with_name("distributed_worker.py"), tmp_path)
    assert code == 0, errors
    assert errors.count("agrees") == errors.count(": 3 losses, largest difference") == 2


class TestBatches:
    def test_an_epoch_has_every_row_once(self):
        batches = Batches(torch.arange(103), size=20, seed=0)
        orders = [torch.cat([rows for (rows,) in batches]) for _ in range(2)]
        assert len(batches) == 5
        assert all(sorted(order.tolist()) == list(range(103)) for order in orders)
        assert not torch.equal(*orders)
        assert min(len(rows) for (rows,) in batches) >= 15

    def test_so_many_steps(self):
        batches = Batches(torch.arange(25), size=10, steps=7, seed=0)
        drawn = [rows.tolist() for (rows,) in batches]
        assert [len(set(rows)) for rows in drawn] == [10] * 7
        assert not set(drawn[0]) & set(drawn[1])  # of one order
        few = Batches(torch.arange(4), size=10, steps=3)
        assert [rows.tolist() for (rows,) in few] == [[0, 1, 2, 3]] * 3

    def test_seed(self):
        one, same, other = (Batches(torch.arange(50), size=10, seed=seed) for seed in (1, 1, 2))
        first = [torch.cat([rows for (rows,) in batches]).tolist() for batches in (one, same, other)]
        assert first[0] == first[1] != first[2]

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="the same number of rows"):
            Batches(torch.zeros(3), torch.zeros(4), size=2)
        with pytest.raises(ValueError, match="`size` should be at least 1"):
            Batches(torch.zeros(3), size=0)
