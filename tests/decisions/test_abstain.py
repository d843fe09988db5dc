"""Abstention: the threshold is that of brute force, promises are exact, and rows without an answer are marked."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binom
from sklearn.metrics import accuracy_score

from metricfit import DecisionRule
from metricfit.decisions._abstain import CoverageCurve, fit_threshold, read_limit, shares_of
from metricfit.decisions._rule import NotAttainableError
from metricfit.metrics import Cost


def draw(n=1000, seed=0, k=2):
    random = np.random.default_rng(seed)
    labels = random.integers(0, k, n)
    return softmax(1.5 * (random.normal(size=(n, k)) + 2.0 * np.eye(k)[labels]), 1), labels


class TestThreshold:
    @pytest.mark.parametrize("seed", range(10))
    def test_brute_force_on_the_rows(self, seed):
        random = np.random.default_rng(seed)
        risk, weight = random.random(40).round(1 if seed % 2 else 9), random.random(40)
        is_wrong = random.random(40) < risk
        threshold, refusal = fit_threshold(risk, is_wrong, weight, 0.2, None)

        def error(threshold):
            return (weight * is_wrong)[risk < threshold].sum() / max(weight[risk < threshold].sum(), 1e-300)

        good = [cut for cut in np.append(np.unique(risk) + 1e-12, 2.0) if error(cut) <= 0.2 and (risk < cut).any()]
        assert bool(good) == (not refusal)
        if good:
            assert (risk < threshold).sum() == (risk < max(good)).sum()

    def test_a_promise_is_a_sequence_of_exact_tests(self):
        """From the start on, every larger set of answered rows was tested, and the last one passed."""
        p, labels = draw(3000)
        risk, is_wrong = 1.0 - p.max(1), p.argmax(1) != labels
        threshold, _ = fit_threshold(risk, is_wrong, np.ones(3000), 0.05, 0.9)
        ranked = np.sort(risk)
        n_wrong = np.cumsum(is_wrong[np.argsort(risk, kind="stable")])
        n_answered = int((risk < threshold).sum())
        p_values = binom.cdf(n_wrong, np.arange(1, 3001), 0.05)  # of the hypothesis that the error is 0.05 or more
        assert p_values[n_answered - 1] <= 0.1 < p_values[n_answered]
        assert ranked[n_answered - 1] < threshold < ranked[n_answered]

    def test_too_few_rows(self):
        _, refusal = fit_threshold(np.linspace(0.0, 0.1, 20), np.zeros(20, bool), np.ones(20), 0.01, 0.9)
        assert "the smallest error of answered rows that can be promised" in refusal
        assert "at least 230 answered rows" in refusal

    def test_a_promise_holds_in_the_population(self):
        """300 draws from a population; the allowance is four standard errors of a share of 0.1."""
        p, labels = draw(20_000, seed=9)
        risk, is_wrong = 1.0 - p.max(1), p.argmax(1) != labels
        random, broken = np.random.default_rng(0), 0
        for _ in range(300):
            rows = random.integers(0, 20_000, 500)
            threshold, refusal = fit_threshold(risk[rows], is_wrong[rows], np.ones(500), 0.05, 0.9)
            if not refusal:
                broken += is_wrong[risk < threshold].mean() > 0.05
        assert broken <= 300 * 0.1 + 4 * np.sqrt(300 * 0.1 * 0.9)

    def test_a_second_start_helps_a_model_that_is_too_sure(self):
        """And the promise holds: 60 draws, with an allowance of four standard errors."""
        p, labels = draw(20_000, seed=9)
        is_wrong, sure = p.argmax(1) != labels, p.max(1) ** 4
        risk = 1.0 - sure / (sure + (1.0 - p.max(1)) ** 4)
        random, broken, answered = np.random.default_rng(0), 0, {True: 0.0, False: 0.0}
        for _ in range(60):
            rows = random.integers(0, 20_000, 300)
            for trusted in answered:
                threshold, refusal = fit_threshold(risk[rows], is_wrong[rows], np.ones(300), 0.05, 0.9, trusted)
                if not refusal:
                    answered[trusted] += (risk < threshold).mean() / 60
                    broken += not trusted and is_wrong[risk < threshold].mean() > 0.05
        assert answered[False] > answered[True] + 0.2
        assert broken <= 6 + 4 * np.sqrt(60 * 0.1 * 0.9)

    @pytest.mark.parametrize(
        "text", ["error < 0.1", "accuracy >= 0.9", "error <= x", "error <= 1e", "error <= 0", 0.02, "error <= 120%"]
    )
    def test_what_is_not_a_limit(self, text):
        with pytest.raises(ValueError, match=r"`abstain` should be a limit such as 'error <= 0\.02'"):
            read_limit(text)


class TestRule:
    def test_the_limit_holds_on_the_rows(self):
        p, labels = draw(k=3)
        rule = DecisionRule("accuracy", abstain="error <= 5%").fit(p, labels)
        answers = rule.predict(p)
        is_answered = answers != -1
        assert 0.3 < is_answered.mean() < 1.0
        assert (answers != labels)[is_answered].mean() <= 0.05
        assert accuracy_score(*rule.answered(labels, answers)) >= 0.95
        assert rule.score(p, labels) == pytest.approx(accuracy_score(*rule.answered(labels, answers)))
        known = rule.predicted_ != -1
        assert rule.coverage_["coverage"] == pytest.approx(known.mean())
        assert rule.coverage_["error"] == pytest.approx((rule.predicted_ != labels)[known].mean())
        assert rule.score_ == pytest.approx(1.0 - rule.coverage_["error"])

    @pytest.mark.parametrize("n", [500, 4000])
    def test_a_promise(self, n):
        p, labels = draw(n)
        rule = DecisionRule("accuracy", abstain="error <= 0.05", confidence=0.9).fit(p, labels)
        assert "With probability 0.9" in rule.summary()
        new, truth = draw(50_000, seed=1)
        answered, predicted = rule.answered(truth, rule.predict(new))
        assert 0.3 < len(answered) / 50_000 < 1.0
        assert (answered != predicted).mean() < 0.06

    def test_a_promise_that_cannot_be_kept(self):
        p, labels = draw(100)
        rule = DecisionRule("accuracy", abstain="error <= 0.001", confidence=0.9).fit(p, labels)
        assert not rule.attainable_
        assert "Not attainable" in rule.summary()
        with pytest.raises(NotAttainableError, match="smallest error"):
            rule.predict(p)
        best = DecisionRule("accuracy", abstain="error <= 0.001", confidence=0.9, fallback="best").fit(p, labels)
        assert (best.predict(p) != -1).any()

    def test_a_cost_of_no_answer(self):
        """Of calibrated probabilities those above 0.7 are answered, as Chow showed."""
        random = np.random.default_rng(2)
        p = random.random(6000)
        labels = (random.random(6000) < p).astype(int)
        rule = DecisionRule("accuracy", abstain_cost=0.3, kind="probability").fit(p, labels)
        answers = rule.predict(p)
        calibrated = rule.actions_.worth.calibration.probabilities(np.log(np.stack([1 - p, p], 1)))
        assert ((answers == -1) == (calibrated.max(1) <= 0.7)).all()
        sure = np.abs(p - 0.5) - 0.2
        assert (answers[sure > 0.05] != -1).all()
        assert (answers[sure < -0.05] == -1).all()

    def test_with_costs_per_row(self):
        p, labels = draw()
        amount = np.random.default_rng(3).lognormal(1.0, 1.0, 1000)
        cost = Cost({(1, 0): "amount", (0, 1): 1.0})
        rule = DecisionRule(cost, abstain_cost=0.5).fit(p, labels, costs={"amount": amount})
        answers = rule.predict(p, costs={"amount": amount})
        assert 0 < (answers == -1).sum() < 500

        def paid(answers):
            return np.where(answers == -1, 0.5, np.where(answers == 1, labels == 0, (labels == 1) * amount))

        assert rule.money_.total == pytest.approx(paid(rule.predicted_).sum())
        assert rule.score(p, labels, costs={"amount": amount}) == pytest.approx(-paid(answers).mean())
        q = rule.actions_.worth.calibration.probabilities(np.log(p))
        always = DecisionRule(cost).fit(p, labels, costs={"amount": amount}).predict(p, costs={"amount": amount})
        expected = np.where(always == 1, q[:, 0], q[:, 1] * amount)
        assert ((expected < 0.5) == (answers != -1)).all()
        assert (always == answers)[answers != -1].all()

    def test_the_money_of_a_limit_is_that_of_answered_rows(self):
        """The cost of no answer is not known."""
        p, labels = draw()
        costs = {"amount": np.random.default_rng(3).lognormal(1.0, 1.0, 1000)}
        rule = DecisionRule(Cost({(1, 0): "amount", (0, 1): 1.0}), abstain="error <= 0.05").fit(p, labels, costs=costs)

        def paid(answers):
            found = np.where(answers == 1, labels == 0, (labels == 1) * costs["amount"])
            return found[answers != -1]

        assert 0 < (rule.predicted_ == -1).sum() < 900
        assert rule.money_.n_rows == (rule.predicted_ != -1).sum()
        assert rule.money_.total == pytest.approx(paid(rule.predicted_).sum())
        assert rule.score(p, labels, costs=costs) == pytest.approx(-paid(rule.predict(p, costs=costs)).mean())

    def test_with_offsets_for_another_metric(self):
        p, labels = draw(3000, k=3)
        rule = DecisionRule("f1_macro", abstain="error <= 0.05", confidence=0.9).fit(p, labels)
        assert rule.attainable_
        assert (rule.predict(p) == -1).any()

    @pytest.mark.parametrize(
        ("labels", "label", "mark"),
        [(["a", "b"], None, "abstain"), ([0, 1], None, -1), (["a", "b"], "?", "?"), ([0, 1], "?", "?"), ([0, 1], 7, 7)],
    )
    def test_the_mark(self, labels, label, mark):
        p, index = draw()
        y = np.array(labels)[index]
        rule = DecisionRule("accuracy", abstain="error <= 0.02", abstain_label=label).fit(p, y)
        found = rule.predict(p).tolist()
        assert set(found) == {*labels, mark}
        truth, predicted = rule.answered(y, found)
        assert len(truth) == sum(one != mark for one in found)
        assert mark not in predicted.tolist()

    def test_the_curve(self):
        p, labels = draw(150)
        curve = DecisionRule("accuracy", abstain_cost=0.2).fit(p, labels).coverage_curve_
        assert curve.coverage[-1] == 1.0
        assert len(curve.error) == 150
        assert (curve.low <= curve.error).all()
        assert (curve.error <= curve.high).all()
        found = CoverageCurve.of(np.array([0.3, 0.1, 0.2]), np.array([True, True, False]))
        assert (found.error.tolist(), found.threshold.tolist()) == ([1.0, 0.5, 2 / 3], [0.1, 0.2, 0.3])

    def test_what_does_not_fit_together(self):
        p, labels = draw()
        limit = "error <= 0.05"
        for options, message in (
            ({"abstain": limit, "abstain_cost": 0.3}, "`abstain` cannot be combined with `abstain_cost`"),
            ({"abstain": limit, "budget": {1: 3}}, "`budget` cannot be combined with abstention"),
            ({"abstain": limit, "subject_to": "recall >= 0.5"}, "`subject_to` cannot be combined with abstention"),
            ({"abstain_cost": -1.0}, "`abstain_cost` should be at least 0"),
            ({"abstain_cost": 0.0}, "no row is answered"),
            ({"abstain": limit, "abstain_label": 1}, "should not be a class"),
        ):
            with pytest.raises(ValueError, match=message):
                DecisionRule("accuracy", **options).fit(p, labels)
        with pytest.raises(ValueError, match="`confidence` needs independent rows"):
            DecisionRule("accuracy", abstain=limit, confidence=0.9).fit(p, labels, groups=np.arange(1000) // 2)
        with pytest.raises(ValueError, match="because -1 is a class"):
            DecisionRule("accuracy", abstain=limit, classes=[-1, 1]).fit(p, 2 * labels - 1)


def test_shares_by_hand():
    found = shares_of(np.array([True, True, False, True]), np.array([True, False, True, False]), np.ones(4))
    assert (found["coverage"], found["error"]) == (0.75, pytest.approx(1 / 3))
    weighted = shares_of(np.array([True, False]), np.array([True, False]), np.array([3.0, 1.0]))
    assert (weighted["coverage"], weighted["error"]) == (0.75, 1.0)
