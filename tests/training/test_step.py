"""One step: sharpness-aware optimizers, accumulation, schedules of torch and bfloat16, each against the same by hand."""

import math

import pytest
import torch
from pytorch_optimizer import SAM
from torch import nn
from torch.optim import lr_scheduler

import metricfit as mf
from metricfit import schedules
from metricfit.training import Batches
from tests.training.common import cpu_trainer, data, same


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


def sam(module, adaptive=False, lr=0.1):
    return SAM(module.parameters(), torch.optim.SGD, rho=0.5, adaptive=adaptive, lr=lr, momentum=0.9)


class TestSharpnessAware:
    @pytest.mark.parametrize("adaptive", [False, True])
    def test_every_bit(self, adaptive):
        """Two gradients with the same dropout, running averages of the first, clipping and normalising of the second."""
        x, y = data()
        module, normalizer = network(), mf.GradientNormalizer()
        optimizer, loss = sam(module, adaptive), nn.CrossEntropyLoss()
        for features, labels in [*Batches(x, y, size=40, seed=3)] * 2:
            optimizer.zero_grad()
            random = torch.get_rng_state()
            loss(module(features), labels).backward()
            averages = {name: value.clone() for name, value in module[1].named_buffers()}
            optimizer.first_step(zero_grad=True)
            torch.set_rng_state(random)
            loss(module(features), labels).backward()
            module[1].load_state_dict(averages, strict=False)
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            normalizer(module)
            optimizer.second_step()
        other, batches = network(), [*Batches(x, y, size=40, seed=3)]
        options = {"clip": 1.0, "normalizer": mf.GradientNormalizer()}
        trainer = cpu_trainer(other, nn.CrossEntropyLoss(), sam(other, adaptive), **options)
        trainer.fit(batches, (x, y), epochs=2)
        assert same(module.state_dict(), other.state_dict())
        assert torch.equal(normalizer.running_norm, trainer.normalizer.running_norm)
        assert other[1].num_batches_tracked == 6

    def test_a_memory_moves_once(self):
        """Its statistics are those at the weights, not those beside them, and the second pass starts from the same."""
        x, y = data()
        module, loss = network(), mf.MetricLoss("f1_macro", memory=0.5)
        expected = None
        trainer = cpu_trainer(module, loss, sam(module))
        for _ in range(2):
            random, before = torch.get_rng_state(), {name: value.clone() for name, value in module.state_dict().items()}
            now = mf.MetricLoss("f1_macro").statistics(module(x), y).detach()
            expected = now if expected is None else 0.5 * expected + now
            torch.set_rng_state(random)
            module.load_state_dict(before)
            trainer.fit([(x, y)], (x, y), epochs=trainer.epoch + 1)
            module.train()
            torch.testing.assert_close(loss.running, expected)

    def test_noise_of_the_loss_is_the_same_in_both(self):
        seen = []

        class Noisy(nn.Module):
            def __init__(self):
                super().__init__()
                self.generator = torch.Generator().manual_seed(0)

            def forward(self, scores, labels):
                seen.append(float(torch.rand((), generator=self.generator)))
                return nn.functional.cross_entropy(scores, labels)

        x, y = data()
        module = network()
        cpu_trainer(module, Noisy(), sam(module)).fit([(x, y)] * 2, (x, y), epochs=1)
        assert seen[0] == seen[1] != seen[2] == seen[3]


class TestAccumulation:
    @pytest.mark.parametrize("loss", [nn.CrossEntropyLoss, mf.ExactLoss, lambda: mf.MetricLoss("mcc")])
    def test_four_batches_are_one_step(self, loss):
        """As with the scores of four batches joined by hand, and no step more."""
        x, y = data(110)
        batches = list(zip(x.split(10), y.split(10), strict=True))  # eleven: groups of 4, 4 and 3
        module = network()
        optimizer, values = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9), []
        for group in (batches[:4], batches[4:8], batches[8:]):
            optimizer.zero_grad()
            labels = torch.cat([labels for _, labels in group])
            value = loss()(torch.cat([module(features) for features, _ in group]), labels)
            value.backward()
            optimizer.step()
            values.append(value.item() * len(labels) / 110)
        other = network()
        trainer = cpu_trainer(other, loss(), torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9), accumulate=4)
        row = trainer.fit(batches, (x, y), epochs=1)[0]
        assert row["step"] == trainer.step == 3
        assert row["surrogate"] == pytest.approx(sum(values))
        assert row["gradient_norm"] > 0.0
        assert row["live"] > 0.1
        torch.testing.assert_close(module.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-6)

    def test_with_weights_clipping_and_sharpness(self):
        """Without dropout and running averages the batches are as one."""
        x, y = data()
        weight = torch.linspace(0.5, 2.0, 120)
        states = []
        for size, accumulate in ((120, 1), (30, 4)):
            module = network()[::4]
            trainer = cpu_trainer(
                nn.Sequential(module[0], nn.Tanh(), module[1]),
                mf.MetricLoss("f1_macro"),
                sam(module),
                normalizer=mf.GradientNormalizer(),
                clip=0.1,
                accumulate=accumulate,
            )
            trainer.fit([*zip(x.split(size), y.split(size), weight.split(size), strict=True)], (x, y), epochs=5)
            states.append(module.state_dict())
        torch.testing.assert_close(*states, rtol=1e-5, atol=1e-6)

    def test_one_score_for_two_classes_and_padding(self):
        x, y = data(k=2)
        y = y.masked_fill(torch.arange(120) % 5 == 0, -100)
        states = []
        for size, accumulate in ((120, 1), (30, 4)):
            torch.manual_seed(0)
            module = nn.Linear(5, 1)
            optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
            trainer = cpu_trainer(module, mf.MetricLoss("f1"), optimizer, accumulate=accumulate)
            trainer.fit([*zip(x.split(size), y.split(size), strict=True)], (x, y), epochs=3)
            states.append(module.state_dict())
        torch.testing.assert_close(*states)

    def test_bad_arguments(self):
        module = network()
        with pytest.raises(ValueError, match="`accumulate` should be at least 1"):
            cpu_trainer(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), accumulate=0)


SCHEDULES = {
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, T_max=12),
    "steps": lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [3, 5], 0.1),
    "cycle": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.3, total_steps=13),
    "own": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (1 + step)),
    "sequence": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.LinearLR(optimizer, 0.1, total_iters=4), lr_scheduler.ExponentialLR(optimizer, 0.9)],
        [4],
    ),
}


class TestSchedulesOfTorch:
    def made(self, name, optimizer_of=torch.optim.SGD):
        x, y = data()
        module = network()
        optimizer = optimizer_of(module.parameters(), lr=0.1, momentum=0.9)
        trainer = cpu_trainer(module, nn.CrossEntropyLoss(), optimizer, lr=SCHEDULES[name](optimizer))
        return trainer, Batches(x, y, size=40, seed=1)

    @pytest.mark.parametrize("name", SCHEDULES)
    def test_a_step_after_every_step(self, name):
        trainer, batches = self.made(name)
        history = trainer.fit(batches, data(), epochs=4)
        module = network()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        schedule, rates = SCHEDULES[name](optimizer), []
        for _ in range(12):
            rates.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        assert [row["lr"] for row in history] == rates[2::3]

    def test_with_a_sharpness_aware_optimizer(self):
        x, y = data()
        module = network()
        optimizer = sam(module)
        schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
        trainer = cpu_trainer(module, nn.CrossEntropyLoss(), optimizer, lr=schedule)
        assert [row["lr"] for row in trainer.fit([(x, y)], (x, y), epochs=3)] == [0.1, 0.05, 0.025]

    def test_what_it_cannot_be_is_said(self):
        module = network()
        optimizer, other = (torch.optim.SGD(module.parameters(), lr=0.1) for _ in range(2))
        with pytest.raises(ValueError, match="got ReduceLROnPlateau, which needs a metric"):
            cpu_trainer(module, nn.CrossEntropyLoss(), optimizer, lr=lr_scheduler.ReduceLROnPlateau(optimizer))
        with pytest.raises(ValueError, match="`lr` should be a schedule of this `optimizer`"):
            cpu_trainer(module, nn.CrossEntropyLoss(), optimizer, lr=SCHEDULES["cosine"](other))


LOSSES = {
    "cross-entropy": nn.CrossEntropyLoss,
    "exact": mf.ExactLoss,
    "leaky": mf.LeakyExpectedErrorLoss,
    "east": lambda: mf.EastLoss("f1_macro"),
    "mcc": lambda: mf.MetricLoss("mcc", memory=0.9),
}


class TestBfloat16:
    @pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
    @pytest.mark.parametrize("name", LOSSES)
    def test_it_learns_and_everything_is_finite(self, name, precision):
        x, y = data()
        module = network()
        trainer = cpu_trainer(
            module,
            LOSSES[name](),
            torch.optim.Adam(module.parameters(), lr=0.05),
            scale=schedules.constant(0.3) if name == "exact" else None,
            normalizer=mf.GradientNormalizer(),
            clip=1.0,
            accumulate=2,
            precision=precision,
        )
        features = x.bfloat16() if precision == "bf16-true" else x
        history = trainer.fit(
            Batches(features, y, size=30, seed=0), [(features[:60], y[:60]), (features[60:], y[60:])], epochs=20
        )
        assert all(
            math.isfinite(row[name]) for row in history for name in ("surrogate", "metric", "held_out_loss", "gradient_norm")
        )
        assert history[-1]["metric"] > 0.6
        scores = trainer.scores(features)
        assert scores.double().numpy().shape == (120, 3)
        assert scores.isfinite().all()
