"""Costs per row: the decisions are those of brute force, the money adds up, and mistakes are named."""

import numpy as np
import pytest
import torch
from scipy.special import expit, log_softmax, logit, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from metricfit import DecisionRule
from metricfit.decisions._actions import FACTORS, ExpectedCost, calibrate_rows
from metricfit.decisions._calibration import Calibration
from metricfit.decisions._row_costs import Money, RowCosts
from metricfit.decisions._rows import Rows
from metricfit.metrics import Cost

pd = pytest.importorskip("pandas")
FRAUD = Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 5})


def draw(n=400, seed=0):
    """Fraud, its probability and its amounts."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.2, "fraud", "ok")
    p = expit(random.normal(size=n) + 2.0 * (y == "fraud") - 2.0)
    return p, y, pd.DataFrame({"amount": random.lognormal(2.0, 1.0, n), "fee": random.random(n)})


def three_classes(n, seed=0):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, n)
    scores = random.normal(size=(n, 3)) + 1.5 * np.eye(3)[labels]
    cost = Cost({(0, 1): "a", (0, 2): 2, (1, 0): "b", (1, 2): -0.5, (2, 0): 3, (2, 1): "a", (1, 1): "c"})
    return log_softmax(scores, 1), labels, cost, {name: random.gamma(1.0, 2.0, n) for name in "abc"}


def entry(cost, true, answer, row, columns):
    found = cost.matrix.get((true, answer), 0.0)
    return columns[found][row] if isinstance(found, str) else found


class TestAgainstBruteForce:
    @pytest.mark.parametrize("seed", range(3))
    def test_the_answer_has_the_least_expected_cost(self, seed):
        scores, labels, cost, columns = three_classes(60, seed)
        costs, calibration = RowCosts.read(cost, [0, 1, 2], columns, 60), Calibration(1.3, np.array([0.2, 0.0, -0.2]))
        found = ExpectedCost(calibration, default=1).values(scores, costs)
        p = softmax(1.3 * scores + calibration.bias, 1)
        for row in range(60):
            expected = [sum(p[row, c] * entry(cost, c, j, row, columns) for c in range(3)) for j in range(3)]
            assert found[row].argmax() == np.argmin(expected)
            np.testing.assert_allclose(found[row], expected[1] - np.array(expected), atol=1e-12)
            assert costs.expected(p)[row] == pytest.approx(expected)
            assert costs.paid(labels, found.argmax(1))[row] == entry(cost, labels[row], found[row].argmax(), row, columns)

    def test_for_two_classes_the_factor_multiplies_the_odds(self):
        p, _, frame = draw(50)
        scores = np.log(np.stack([p, 1.0 - p], 1))
        worth = ExpectedCost(Calibration(1.0, np.zeros(2)), default=1, factor=2.5)
        found = worth.values(scores, RowCosts.read(FRAUD, ["fraud", "ok"], frame, 50)).argmax(1) == 0
        assert (found == (2.5 * p / (1.0 - p) > 5.0 / frame["amount"].to_numpy())).all()
        assert 5 < found.sum() < 45

    def test_the_factor_is_the_nearest_to_one_that_is_not_clearly_worse(self):
        """A fifth of the scores are too low, and no temperature and bias can repair that."""
        random = np.random.default_rng(3)
        n = 4000
        middle = random.random(n) < 0.2
        logit = np.where(
            middle, random.normal(-1.0, 0.2, n), random.choice([-4.0, 4.0], n, p=[0.9, 0.1]) + random.normal(size=n)
        )
        labels = (random.random(n) < expit(logit)).astype(int)
        bent = np.where(middle, logit - 3.2, logit)
        rule = DecisionRule(Cost({(1, 0): "amount", (0, 1): 1}), kind="logit").fit(
            bent, labels, costs={"amount": np.full(n, 5.0)}
        )
        factor, rows = rule.actions_.worth.factor, Rows(np.stack([np.zeros(n), bent], 1), labels, np.ones(n))
        assert rule.actions_.worth.default == 0
        costs = RowCosts.read(rule.metric, [0, 1], {"amount": np.full(n, 5.0)}, n)
        answers = np.empty((len(FACTORS), n), int)
        for part in rows.folds():
            p = calibrate_rows(rows.take(~part)).probabilities(rows.scores[part])[:, 1]
            for index, one in enumerate(FACTORS):
                answers[index, part] = one * 5.0 * p > 1.0 - p
        paid = np.array([costs.paid(labels, one) for one in answers])
        more = paid - paid[paid.sum(1).argmin()]
        good = more.sum(1) <= 2.0 * np.sqrt((more**2).sum(1))
        assert factor == min(FACTORS[good], key=lambda one: abs(np.log(one)))
        assert factor < 0.9


class TestRule:
    def test_money_is_what_the_answers_cost(self):
        p, y, frame = draw()
        rule = DecisionRule(FRAUD).fit(p, y, costs=frame)
        assert rule.is_cross_fitted_

        def cost(answers):
            return np.where((y == "fraud") & (answers == "ok"), frame["amount"], 5.0 * ((y == "ok") & (answers == "fraud")))

        money = rule.money_
        assert money.total == pytest.approx(cost(rule.predicted_).sum())
        assert money.per_1000 == pytest.approx(1000.0 * money.total / 400)
        plain = np.where(p > 0.5, "fraud", "ok")
        names = {"the most probable class": plain, "always 'fraud'": np.full(400, "fraud"), "always 'ok'": np.full(400, "ok")}
        for saving in money.savings:
            difference = cost(names.pop(saving.against)) - cost(rule.predicted_)
            half = 1.959964 * np.sqrt(400) * difference.std(ddof=1)
            assert saving.total == pytest.approx(difference.sum())
            assert saving.interval == pytest.approx((difference.sum() - half, difference.sum() + half))
        assert not names
        assert rule.score_ == pytest.approx(-money.total / 400)
        assert rule.gain_ == pytest.approx(money.savings[0].total / 400)
        weight = np.linspace(0.5, 1.5, 400)
        expected = -np.average(cost(rule.predict(p, costs=frame)), weights=weight)
        assert rule.score(p, y, weight, costs=frame) == pytest.approx(expected)
        assert "per 1,000 rows" in rule.summary()

    def test_a_pipeline_routes_costs(self):
        p, y, frame = draw()
        rule = DecisionRule(FRAUD)
        direct = rule.fit(p, y, costs=frame).predict(p, costs=frame)
        with config_context(enable_metadata_routing=True):
            last = clone(rule).set_fit_request(costs=True).set_predict_request(costs=True)
            pipeline = make_pipeline(FunctionTransformer(expit), last).fit(logit(p)[:, None], y, costs=frame)
            assert (pipeline.predict(logit(p)[:, None], costs=frame) == direct).all()

    def test_larger_amounts_are_answered_sooner(self):
        p, y, frame = draw()
        rule = DecisionRule(FRAUD).fit(p, y, costs=frame)
        same = np.full(2, 0.3)
        assert rule.predict(same, costs={"amount": [1.0, 500.0]}).tolist() == ["ok", "fraud"]
        low, high = rule.decision_function(same, costs={"amount": [1.0, 500.0]})
        assert low > 0.0 > high  # about 'ok', the second class

    def test_groups_widen_the_interval_and_weights_count_rows(self):
        p, y, frame = draw()
        twice = {"amount": np.repeat(frame["amount"].to_numpy(), 2)}
        both = DecisionRule(FRAUD).fit(np.repeat(p, 2), np.repeat(y, 2), groups=np.repeat(np.arange(400), 2), costs=twice)
        weighted = DecisionRule(FRAUD).fit(p, y, np.full(400, 2.0), costs=frame)
        assert weighted.money_.n_rows == 800
        for one, other in zip(both.money_.savings[1:], weighted.money_.savings[1:], strict=True):
            assert one.against == other.against
            assert np.ptp(one.interval) > 1.3 * np.ptp(_ungrouped(p, y, twice, one.against).interval)

    def test_an_array_is_a_cost_too(self):
        p, y, frame = draw()
        amount = frame["amount"].to_numpy()
        named = DecisionRule(FRAUD).fit(p, y, costs=frame)
        rule = DecisionRule(Cost({("fraud", "ok"): amount, ("ok", "fraud"): 5})).fit(p, y)
        assert rule.metric.columns == ("fraud,ok",)
        new = {"amount": amount[:50], "fraud,ok": amount[:50]}
        assert (rule.predict(p[:50], costs=new) == named.predict(p[:50], costs=new)).all()

    @pytest.mark.parametrize("frame", ["pandas", "polars", "dictionary"])
    def test_frames(self, frame):
        p, y, costs = draw()
        if frame == "polars":
            costs = pytest.importorskip("polars").DataFrame(costs.to_dict("list"))
        elif frame == "dictionary":
            costs = costs.to_dict("list")
        rule = DecisionRule(FRAUD).fit(p, y, costs=costs)
        assert rule.money_.savings[0].total > 0.0

    def test_few_rows_are_judged_on_themselves(self):
        p, y, frame = draw(30)
        rule = DecisionRule(FRAUD).fit(p, y, costs=frame)
        assert not rule.is_cross_fitted_
        assert rule.actions_.worth.factor == 1.0
        assert "on 30 rows of the fit" in rule.summary()

    def test_scores_that_say_nothing_leave_the_shares(self):
        _, y, frame = draw()
        rule = DecisionRule(FRAUD, kind="probability").fit(np.full(400, 0.3), y, costs=frame)
        odds = rule.actions_.worth.factor * (y == "fraud").mean() / (y == "ok").mean()
        assert (rule.predict(np.full(400, 0.3), costs=frame) == np.where(odds * frame["amount"] > 5.0, "fraud", "ok")).all()


def _ungrouped(p, y, costs, against):
    rule = DecisionRule(FRAUD).fit(np.repeat(p, 2), np.repeat(y, 2), costs=costs)
    return next(one for one in rule.money_.savings if one.against == against)


class TestErrors:
    @pytest.mark.parametrize(
        ("costs", "message"),
        [
            (None, "`costs` should have the column 'amount'"),
            ({"price": [1.0]}, "a column 'amount' of numbers.*it has 'price'"),
            ([1.0], "a column 'amount' of numbers.*got list"),
            ({"amount": [1.0]}, r"400 rows like the scores, got \(1,\) in 'amount'"),
            ({"amount": [np.nan] * 400}, "got 400 that are not"),
            ({"amount": ["x"] * 400}, "of numbers"),
        ],
    )
    def test_costs(self, costs, message):
        p, y, _ = draw()
        with pytest.raises(ValueError, match=message):
            DecisionRule(FRAUD).fit(p, y, costs=costs)

    def test_what_does_not_fit_together(self):
        p, y, frame = draw()
        with pytest.raises(ValueError, match="`subject_to` cannot be combined with costs per row"):
            DecisionRule(FRAUD, subject_to="recall >= 0.9").fit(p, y, costs=frame)
        rule = DecisionRule(FRAUD).fit(p, y, costs=frame)
        for call in (lambda: rule.for_prevalence({"fraud": 0.1}), lambda: rule.adapt(p)):
            with pytest.raises(ValueError, match="is for rules of offsets"):
                call()
        with pytest.raises(AttributeError, match="no threshold_"):
            _ = rule.threshold_

    def test_training_needs_numbers(self):
        with pytest.raises(ValueError, match="'amount', and a confusion matrix does not know the rows"):
            FRAUD.for_classes(["fraud", "ok"])
        with pytest.raises(ValueError, match="does not know the rows"):
            FRAUD(torch.ones(2, 2))

    def test_costs_of_wrong_kinds(self):
        for cost in (None, [["x"]], [np.inf], [[1.0, 2.0]]):
            with pytest.raises((ValueError, TypeError), match="cost of"):
                Cost({("fraud", "ok"): cost})


def test_money_without_groups_by_hand():
    found = Money.of(np.array([1.0, 3.0]), {"other": np.array([2.0, 8.0])}, np.array([1.0, 2.0]))
    assert (found.total, found.n_rows, found.savings[0].total) == (7.0, 3.0, 11.0)
    half = 1.959964 * np.sqrt(2) * np.std([1.0, 10.0], ddof=1)
    assert found.savings[0].interval == pytest.approx((11.0 - half, 11.0 + half))
    assert Money.from_plain(found.to_plain()) == found
