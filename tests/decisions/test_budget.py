"""Budgets: the answers are those of brute force and of the linear programme, and keep the caps."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import eye_array, kron
from scipy.special import expit, softmax

from metricfit import DecisionRule, metrics
from metricfit.decisions import _budget
from metricfit.decisions._budget import Budget, best_within
from metricfit.metrics import Cost


def programme(values, caps):
    """The best sum of values within the caps, by an integer programme."""
    n, k = values.shape
    limits = [
        LinearConstraint(kron(eye_array(n), np.ones((1, k))).tocsr(), 1, 1),
        LinearConstraint(kron(np.ones((1, n)), eye_array(k)).tocsr(), 0, np.minimum(caps, n)),
    ]
    return -milp(-values.ravel(), constraints=limits, integrality=np.ones(n * k), bounds=Bounds(0, 1)).fun


def total(values, answers):
    return values[np.arange(len(values)), answers].sum()


@pytest.mark.parametrize("seed", range(20))
def test_brute_force(seed):
    random = np.random.default_rng(seed)
    n, k = 6, int(random.integers(2, 4))
    values = random.integers(0, 4, (n, k)) if seed % 2 else random.normal(size=(n, k))
    caps = np.where(random.random(k) < 0.7, random.integers(0, n, k), np.inf)
    caps[0] = np.inf if caps.sum() < n else caps[0]
    kept = [
        total(values, np.array(answers))
        for answers in product(range(k), repeat=n)
        if (np.bincount(answers, minlength=k) <= caps).all()
    ]
    found = best_within(values.astype(float), caps)
    assert (np.bincount(found, minlength=k) <= caps).all()
    assert total(values, found) == pytest.approx(max(kept), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ties", [False, True])
def test_the_linear_programme(seed, ties, monkeypatch):
    """With few rows in the sample and in the last programme, so that all parts of the search are needed."""
    monkeypatch.setattr(_budget, "N_SAMPLE", 50)
    monkeypatch.setattr(_budget, "N_UNCLEAR", 5)
    random = np.random.default_rng(seed)
    n, k = 300, 3 + seed % 3
    values = random.dirichlet(np.full(k, 0.5), n) * random.uniform(1.0, 4.0, k)
    values = values.round(1) if ties else values
    caps = np.append(np.inf, random.integers(0, n // k, k - 1))
    found = best_within(values, caps)
    assert (np.bincount(found, minlength=k) <= caps).all()
    assert total(values, found) == pytest.approx(programme(values, caps), abs=1e-5)


def test_every_class_capped():
    values = np.random.default_rng(0).normal(size=(60, 3))
    assert np.bincount(best_within(values, np.full(3, 20.0))).tolist() == [20, 20, 20]


class TestReading:
    @pytest.mark.parametrize(
        ("given", "cap"),
        [(200, 200), ("200", 200), (0.02, 20), ("2%", 20), (0, 0), (1, 1), (1.0, 1000), (50.0, 50), ("0.5", 500), ("0%", 0)],
    )
    def test_numbers_and_shares(self, given, cap):
        budget = Budget.read({"fraud": given}, ["fraud", "ok"])
        assert budget.caps(1000).tolist() == [cap, np.inf]
        assert Budget.from_plain(budget.to_plain()) == budget

    @pytest.mark.parametrize("given", [-1, 1.5, "many", "120%", "inf", "nan", None, True, float("nan"), "-3%"])
    def test_what_is_neither(self, given):
        with pytest.raises(ValueError, match="should be a number of rows, such as 200, or a share"):
            Budget.read({"fraud": given}, ["fraud", "ok"])

    @pytest.mark.parametrize(("budget", "message"), [({}, "a dictionary such as"), (200, "got 200"), ({"frud": 2}, "'fraud'")])
    def test_what_is_not_a_budget(self, budget, message):
        with pytest.raises(ValueError, match=message):
            Budget.read(budget, ["fraud", "ok"])

    def test_budgets_that_leave_rows_without_an_answer(self):
        with pytest.raises(ValueError, match="allows 3 answers to 10 rows"):
            Budget.read({0: 1, 1: 2}, [0, 1]).assign(np.zeros((10, 2)))


def draw(n=600, seed=0):
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.2, "fraud", "ok")
    return expit(random.normal(size=n) + 2.0 * (y == "fraud") - 2.0), y


class TestRule:
    def test_the_best_rows_of_each_batch_get_the_class(self):
        p, y = draw()
        rule = DecisionRule("recall", budget={"fraud": 30}).fit(p, y)
        for batch in (p, p[:100], p[100:]):
            is_fraud = rule.predict(batch) == "fraud"
            assert is_fraud.sum() == 30
            assert batch[is_fraud].min() >= batch[~is_fraud].max()
        assert (rule.predicted_ == "fraud").sum() == 30
        assert rule.score_ == pytest.approx(((rule.predicted_ == "fraud") & (y == "fraud")).sum() / (y == "fraud").sum())
        assert rule.score(p, y) == pytest.approx((y[rule.predict(p) == "fraud"] == "fraud").sum() / (y == "fraud").sum())
        assert "'fraud' for at most 30 rows in each batch" in repr(rule)

    def test_a_budget_that_is_not_needed_leaves_the_offsets(self):
        p, y = draw()
        plain, rule = DecisionRule("f1").fit(p, y), DecisionRule("f1", budget={"fraud": "90%"}).fit(p, y)
        assert (plain.predict(p) == rule.predict(p)).all()

    def test_several_classes(self):
        random = np.random.default_rng(1)
        labels = random.integers(0, 4, 800)
        scores = softmax(random.normal(size=(800, 4)) + 1.5 * np.eye(4)[labels], 1)
        rule = DecisionRule("f1_macro", budget={1: 100, 2: "5%"}).fit(scores, labels)
        counts = np.bincount(rule.predict(scores), minlength=4)
        assert (counts[1], counts[2]) == (100, 40)
        assert total(rule.decision_function(scores), rule.predict(scores)) == pytest.approx(
            programme(rule.decision_function(scores), np.array([np.inf, 100, 40, np.inf])), abs=1e-4
        )

    def test_with_costs_per_row_the_money_saved_counts(self):
        p, y = draw()
        amount = np.random.default_rng(5).lognormal(3.0, 1.0, 600)
        cost = Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 2})
        rule = DecisionRule(cost, budget={"fraud": 40}).fit(p, y, costs={"amount": amount})
        gain = -rule.decision_function(p, costs={"amount": amount})  # of 'fraud', the first class
        is_fraud = rule.predict(p, costs={"amount": amount}) == "fraud"
        assert is_fraud.sum() == 40
        assert gain[is_fraud].min() >= gain[~is_fraud].max()
        assert [one.against for one in rule.money_.savings] == ["the most probable class within the budget", "always 'ok'"]
        assert rule.money_.savings[0].total > 0.0

    def test_costs_that_are_numbers(self):
        p, y = draw()
        rule = DecisionRule(Cost({("fraud", "ok"): 9, ("ok", "fraud"): 1}), budget={"fraud": 40}).fit(p, y)
        assert (rule.predict(p) == "fraud").sum() == 40
        assert rule.money_ is not None

    @pytest.mark.parametrize("name", ["recall@50", "precision@50"])
    def test_metrics_by_rank(self, name):
        p, y = draw()
        rule = DecisionRule(name).fit(p, y)
        best, is_answered = np.argsort(-p)[:50], rule.predicted_ == "fraud"
        assert is_answered.sum() == 50
        of = 50 if name.startswith("p") else (y == "fraud").sum()
        assert rule.score_ == pytest.approx((y[is_answered] == "fraud").sum() / of)
        assert set(np.flatnonzero(rule.predict(p) == "fraud")) == set(best)
        assert (rule.predict(p[:20]) == "fraud").all()

    def test_what_does_not_fit_together(self):
        p, y = draw()
        with pytest.raises(ValueError, match="cannot be combined with a budget"):
            DecisionRule("recall", budget={"fraud": 3}, subject_to="precision >= 0.5").fit(p, y)
        with pytest.raises(ValueError, match="The metric 'recall@5' already sets a budget"):
            DecisionRule("recall@5", budget={"fraud": 3}).fit(p, y)
        with pytest.raises(ValueError, match="is for two classes, and y has 3"):
            DecisionRule("recall@5").fit(np.eye(3)[[0, 1, 2] * 9] * 0.7 + 0.1, [0, 1, 2] * 9)
        rule = DecisionRule("recall", budget={"fraud": 3}).fit(p, y)
        for method in (rule.predict, rule.decision_function, lambda p, costs: rule.fit(p, y, costs=costs)):
            with pytest.raises(ValueError, match="this metric names none"):
                method(p, costs={"amount": p})
        with pytest.raises(ValueError, match="should rise with the probability"):
            DecisionRule("f1", budget={"fraud": 3}, kind="probability").fit(np.full(600, 0.3), y)

    def test_nothing_is_trained_by_rank(self):
        with pytest.raises(ValueError, match=r"nothing is trained for it.*DecisionRule\('recall@200'\)"):
            metrics.get("recall@200")
        with pytest.raises(
            ValueError, match=r"number of rows after @.*DecisionRule\('recall', subject_to='precision >= 0.9'\)"
        ):
            DecisionRule("recall@0.9").fit([0.2, 0.8] * 20, [0, 1] * 20)
