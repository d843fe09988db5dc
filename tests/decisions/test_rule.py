"""``DecisionRule``: constraints, promises, another prevalence, files."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expit
from scipy.stats import binom, norm
from sklearn.metrics import fbeta_score

import metricfit as mf
from metricfit.decisions import Constraint, DecisionRule, NotAttainableError
from metricfit.decisions._constraints import read_constraints
from metricfit.decisions._intervals import binomial_interval, metric_interval
from metricfit.decisions._prevalence import _intervals, estimate_shares
from metricfit.decisions._promise import binomial_p_values
from metricfit.decisions._rows import Rows
from metricfit.metrics import Cost

QUANTITIES = ("precision", "recall", "f1", "jaccard", "fpr", "specificity", "predicted_rate")


def draw(n, rng, share=0.2, separation=2.0, model_share=None):
    """Labels, and probabilities of a model that is right about everything but perhaps the share of class 1."""
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=n) + separation * y
    known = share if model_share is None else model_share
    return expit(separation * x - 0.5 * separation**2 + np.log(known / (1 - known))), y


def quantity(name, predicted, y):
    """By hand, for class 1."""
    tp, fp = (predicted & (y == 1)).sum(), (predicted & (y == 0)).sum()
    fn, tn = (~predicted & (y == 1)).sum(), (~predicted & (y == 0)).sum()
    hits, trials = {
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "jaccard": (tp, tp + fp + fn),
        "fpr": (fp, fp + tn),
        "specificity": (tn, fp + tn),
        "predicted_rate": (tp + fp, len(y)),
    }[name]
    return hits / trials if trials else 0.0


class TestConstraints:
    @pytest.mark.parametrize("seed", range(200))
    def test_two_classes_equal_brute_force(self, seed):
        """The best of all thresholds that keep two constraints, or the fact that none does."""
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 25)
        y[:2] = 0, 1
        scores = np.round(rng.normal(size=25) + y, 1)  # with ties
        names, limits = rng.choice(QUANTITIES, 2, replace=False), rng.uniform(0.1, 0.9, 2)
        signs = rng.choice(["<=", ">="], 2)
        text = " and ".join(f"{name} {sign} {limit:.3f}" for name, sign, limit in zip(names, signs, limits, strict=True))
        cuts = [scores > cut for cut in [-np.inf, *np.unique(scores)]]

        def keeps(predicted):
            found = zip(names, signs, limits.round(3), strict=True)
            gaps = [(quantity(name, predicted, y) - limit) * (1 if sign == ">=" else -1) for name, sign, limit in found]
            return min(gaps) >= -1e-12

        values = [float((cut == y).mean()) for cut in cuts if keeps(cut)]
        rule = DecisionRule("accuracy", subject_to=text, kind="logit").fit(scores, y)
        assert rule.attainable_ == bool(values)
        if values:
            predicted = rule.predict(scores) == 1
            assert keeps(predicted)
            assert (predicted == y).mean() == pytest.approx(max(values))
        else:
            with pytest.raises(NotAttainableError, match="Not attainable: no decision on these 25 rows keeps"):
                rule.predict(scores)

    @pytest.mark.parametrize("seed", range(10))
    def test_three_classes_come_close_to_an_exact_search(self, seed):
        """All offsets that decide twelve rows differently are tried by a fine grid."""
        rng = np.random.default_rng(seed)
        y = np.arange(12) % 3
        scores = np.round(rng.normal(size=(12, 3)) + 1.5 * np.eye(3)[y], 1)
        best = -np.inf
        for one, other in itertools.product(np.arange(-4, 4, 0.1) + 0.05, repeat=2):
            predicted = (scores + np.array([0.0, one, other])).argmax(1)
            if quantity("recall", predicted == 2, (y == 2).astype(int)) >= 0.75:
                best = max(best, float((predicted == y).mean()))
        rule = DecisionRule("accuracy", subject_to="recall[2] >= 0.75", kind="logit").fit(scores, y)
        predicted = rule.predict(scores)
        assert quantity("recall", predicted == 2, (y == 2).astype(int)) >= 0.75
        assert (predicted == y).mean() >= best - 1 / 12 - 1e-9  # coordinate ascent may miss one row of twelve

    def test_cost(self):
        rng = np.random.default_rng(0)
        p, y = draw(500, rng)
        metric = Cost([[0, 1], [5, 0]])
        rule = DecisionRule(metric, subject_to="cost <= 0.5 and predicted_rate <= 0.3").fit(p, y)
        predicted = rule.predict(p)
        cost = ((predicted == 1) & (y == 0)).mean() + 5 * ((predicted == 0) & (y == 1)).mean()
        assert rule.constraints_[0]["value"] == pytest.approx(cost)
        assert cost <= 0.5
        assert (predicted == 1).mean() <= 0.3

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("precison >= 0.9", "Did you mean 'precision'"),
            ("precision >= 1.5", "limit between 0 and 1 for precision, got 1.5"),
            ("precision = 0.9", "compare by <= or >=, got '='"),
            ("precision above 0.9", "terms such as 'precision >= 0.9'"),
            ("recall[frod] >= 0.9", "should name classes of the labels, ['fraud', 'ok'], got 'frod'. Did you mean 'fraud'"),
            ("mcc[fraud] >= 0.9", "mcc is about all classes, so it takes no class"),
            ("recall >= 0.9 and recall <= 0.5", "contradicts itself: recall[fraud] >= 0.9 and recall[fraud] <= 0.5"),
            ("cost <= 3", "`metric` should be a `Cost`"),
            ("", "got ''"),
        ],
    )
    def test_mistakes_are_named(self, text, message):
        y = np.array(["fraud", "ok", "ok"] * 10)
        with pytest.raises(ValueError, match=re.escape(message)):
            DecisionRule("f1", subject_to=text).fit(np.linspace(0, 1, 30), y)

    def test_a_class_has_to_be_named_among_three(self):
        with pytest.raises(ValueError, match=r"should name a class for recall, because there are 3: .*'recall\[2\] >= 0.9'"):
            DecisionRule(subject_to="recall >= 0.9").fit(np.eye(3), [0, 1, 2])

    def test_a_metric_in_a_constraint_is_about_the_positive_class(self):
        p, y = draw(400, np.random.default_rng(0))
        names = np.where(y == 1, "a", "b")  # the positive class comes first
        rule = DecisionRule("f1", subject_to="f2 >= 0.5", pos_label="a", kind="probability").fit(p, names)
        (found,) = rule.constraints_on(names, rule.predict(p))
        assert found["value"] == pytest.approx(fbeta_score(names, rule.predict(p), beta=2, pos_label="a"))
        assert found["kept"]
        assert found["interval"][0] < found["value"] < found["interval"][1]

    def test_a_function_can_be_the_objective(self):
        p, y = draw(300, np.random.default_rng(0))
        rules = [
            DecisionRule(metric, subject_to="precision >= 0.7").fit(p, y)
            for metric in ("accuracy", lambda matrix: matrix.trace() / matrix.sum())
        ]
        assert rules[0].threshold_ == rules[1].threshold_

    def test_names_of_classes_may_hold_and(self):
        (one, other) = read_constraints("recall[rock and roll, soul] >= 0.5 and fpr <= 0.1")
        assert (one.label, other.quantity) == ("rock and roll, soul", "fpr")

    def test_sentences_and_objects_are_the_same(self):
        objects = Constraint("recall", ">=", 0.5, "fraud"), Constraint("predicted_rate", "<=", 0.05)
        assert read_constraints("recall['fraud'] >= 50% and predicted_rate<=5e-2") == objects
        assert read_constraints(objects) == objects
        assert read_constraints(objects[0]) == objects[:1]
        assert read_constraints(["recall[fraud] >= 0.5", objects[1]]) == objects
        assert str(Constraint("recall", ">=", 0.12345678)) == "recall >= 0.12345678"
        with pytest.raises(TypeError, match="a sentence, a `Constraint` or a list of these, got 3"):
            read_constraints(3)


class TestPromises:
    @pytest.mark.parametrize(
        "subject_to",
        [
            "precision >= 0.8",
            "recall >= 0.7",
            "fpr <= 0.05",
            "f1 >= 0.6",
            "predicted_rate <= 0.15",
            "precision[0] >= 0.93",
            "accuracy >= 0.86",
        ],
    )
    def test_the_constraint_holds_as_often_as_promised(self, subject_to):
        """In a population of 200,000 rows, over 120 draws of 500 rows; below 0.9 by at most three standard errors."""
        rng = np.random.default_rng(0)
        population, truth = draw(40_000, rng)
        (constraint,) = read_constraints(subject_to)
        metric = "f1" if constraint.quantity != "precision" else "recall"
        held = answered = 0
        for _ in range(120):
            rows = rng.choice(len(truth), 500)
            rule = DecisionRule(metric, subject_to=subject_to, confidence=0.9, kind="probability").fit(
                population[rows], truth[rows]
            )
            if not rule.attainable_:
                held += 1
                continue
            answered += 1
            predicted = (population > rule.threshold_) == 1
            if constraint.quantity == "accuracy":
                value = (predicted == truth).mean()
            elif constraint.label == "0":
                value = (truth[~predicted] == 0).mean()
            else:
                value = quantity(constraint.quantity, predicted, truth)
            held += value >= constraint.limit if constraint.wants_more else value <= constraint.limit
        assert held / 120 >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 120)
        assert answered > 60  # the promise is not kept by refusing

    def test_several_classes(self):
        """A recall of one of three classes, with offsets for macro F1 from the other half of the rows."""
        rng = np.random.default_rng(1)
        y = rng.choice(3, 20_000, p=[0.6, 0.3, 0.1])
        scores = rng.normal(size=(20_000, 3)) + 1.5 * np.eye(3)[y] + np.log([0.6, 0.3, 0.1])
        held = []
        for _ in range(100):
            rows = rng.choice(len(y), 1000)
            rule = DecisionRule("f1_macro", subject_to="recall[2] >= 0.6", confidence=0.9, kind="logit").fit(
                scores[rows], y[rows]
            )
            held.append(not rule.attainable_ or (rule.predict(scores)[y == 2] == 2).mean() >= 0.6)
        assert np.mean(held) >= 0.9 - 3 * 0.03

    def test_too_few_rows_are_refused_with_the_number_that_would_do(self):
        rng = np.random.default_rng(0)
        p, y = draw(100, rng)
        rule = DecisionRule("precision", subject_to="recall >= 0.95", confidence=0.9).fit(p, y)
        assert f"recall[1] >= 0.95 needs at least 45 rows in its denominator, and there are {y.sum()}." in rule.summary()
        with pytest.raises(NotAttainableError, match="fallback='best'"):
            rule.predict(p)
        best = DecisionRule("precision", subject_to="recall >= 0.95", confidence=0.9, fallback="best").fit(p, y)
        limit = np.floor(0.1 ** (1 / y.sum()) * 1000) / 1000  # all of them found
        assert best.constraints_[0]["promised"] == limit
        assert not best.attainable_
        assert (best.predict(p)[y == 1] == 1).all()

    def test_a_fallback_does_not_promise_what_was_refused(self):
        p, y = draw(600, np.random.default_rng(0))
        rule = DecisionRule("f1", subject_to="precision >= 0.9 and recall >= 0.9", confidence=0.9, fallback="best").fit(p, y)
        assert not rule.attainable_
        assert len(rule.predict(p)) == 600
        assert not any("promised" in one for one in rule.constraints_)
        assert "With probability" not in rule.summary()

    @pytest.mark.parametrize("model_share", [0.02, 0.2, 0.8])
    @pytest.mark.parametrize("subject_to", ["precision >= 0.85", "f1 >= 0.7"])
    def test_the_fallback_is_below_the_limit_and_holds(self, model_share, subject_to):
        """Also for models that are wrong about the share of the class; below 0.9 by at most three standard errors."""
        rng = np.random.default_rng(0)
        population, truth = draw(40_000, rng, model_share=model_share)
        (constraint,) = read_constraints(subject_to)
        held = []
        for _ in range(150):
            rows = rng.choice(len(truth), 200)
            rule = DecisionRule("recall", subject_to=subject_to, confidence=0.9, kind="probability", fallback="best").fit(
                population[rows], truth[rows]
            )
            promised = rule.constraints_[0]["promised"]
            assert rule.attainable_ or promised < constraint.limit
            held.append(quantity(constraint.quantity, population > rule.threshold_, truth) >= promised)
        assert np.mean(held) >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 150)

    @pytest.mark.parametrize("seed", range(5))
    def test_the_best_promise_does_not_depend_on_the_limit(self, seed):
        """All limits out of reach get the same answer, which can be promised if it is asked for, and no stricter one."""
        p, y = draw(600, np.random.default_rng(seed))

        def ask(limit):
            text = f"precision >= {limit:g}"
            return DecisionRule("recall", subject_to=text, confidence=0.9, kind="probability", fallback="best").fit(p, y)

        refused = [ask(limit) for limit in (0.99, 0.995, 0.999)]
        best = refused[0].constraints_[0]["promised"]
        assert 0.5 < best < 0.99
        assert [rule.constraints_[0]["promised"] for rule in refused] == [best] * 3
        assert all(f"these 600 rows is {best:g}." in rule.refusal_ for rule in refused)
        assert len({rule.threshold_ for rule in refused}) == 1
        assert [ask(limit).attainable_ for limit in (best - 0.05, best, best + 0.005, best + 0.01)] == [
            True,
            True,
            False,
            False,
        ]

    def test_a_model_that_expects_too_little_can_still_promise(self):
        """It puts the precision of every cut below the limit, and is wrong."""
        rng = np.random.default_rng(0)
        p, y = draw(1500, rng, separation=3.0, model_share=0.002)
        rule = DecisionRule("recall", subject_to="precision >= 0.95", confidence=0.9, kind="probability").fit(0.9 * p, y)
        assert rule.attainable_

    def test_many_rows_make_up_for_a_model_that_is_far_off(self):
        """Its probabilities expect the best F1 at a cut that has a bad one."""
        p, y = draw(5000, np.random.default_rng(0), model_share=0.01)
        rules = [DecisionRule("recall", subject_to="f1 >= 0.6", confidence=0.9).fit(p[:n], y[:n]) for n in (1000, 5000)]
        assert [rule.attainable_ for rule in rules] == [False, True]

    def test_costs_are_promised_on_both_sides(self):
        p, y = draw(600, np.random.default_rng(0))
        metric = Cost([[0, 1], [5, 0]])
        assert DecisionRule(metric, subject_to="cost <= 0.9", confidence=0.9).fit(p, y).attainable_
        assert not DecisionRule(metric, subject_to="cost >= 4.9", confidence=0.9).fit(p, y).attainable_

    def test_the_best_cost_is_promised_instead(self):
        """Whatever limit was asked for; over 150 draws, below 0.9 by at most three standard errors."""
        rng, metric = np.random.default_rng(0), Cost([[0, 1], [5, 0]])
        population, truth = draw(40_000, rng)
        options = {"confidence": 0.9, "kind": "probability", "fallback": "best"}
        held = []
        for _ in range(150):
            rows = rng.choice(len(truth), 300)
            rule = DecisionRule(metric, subject_to="cost <= 0.01", **options).fit(population[rows], truth[rows])
            promised, predicted = rule.constraints_[0]["promised"], population > rule.threshold_
            held.append((predicted & (truth == 0)).mean() + 5 * (~predicted & (truth == 1)).mean() <= promised)
        assert np.mean(held) >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 150)
        assert f"the best cost that can be promised with 90% confidence from these 300 rows is {promised:g}." in rule.refusal_
        for limit, attainable in ((promised - 0.002, False), (promised + 0.001, True)):
            asked = DecisionRule(metric, subject_to=f"cost <= {limit}", **options).fit(population[rows], truth[rows])
            assert asked.attainable_ == attainable

    def test_few_rows_of_three_classes_are_refused(self):
        for y in ([1], [1, 2]):
            rule = DecisionRule("f1_macro", subject_to="precision[1] >= 0.5", confidence=0.9)
            assert not rule.fit([[0.3, 0.3, 0.4]] * len(y), y).attainable_

    def test_what_cannot_be_promised_is_an_error(self):
        p, y = draw(100, np.random.default_rng(0))
        for options, message in [
            ({"subject_to": "mcc >= 0.5", "confidence": 0.9}, "mcc >= 0.5 cannot be promised"),
            ({"subject_to": "recall >= 1", "confidence": 0.9}, "no number of rows shows that there is no exception"),
            ({"subject_to": "fpr <= 0", "confidence": 0.9}, "no number of rows shows that there is no exception"),
            ({"confidence": 0.9}, "pass `subject_to` too"),
            ({"subject_to": "recall >= 0.5", "confidence": 90}, "between 0 and 1, such as 0.9, got 90"),
            ({"fallback": "worst"}, "`fallback` should be None or 'best', got 'worst'"),
        ]:
            with pytest.raises(ValueError, match=message):
                DecisionRule("f1", **options).fit(p, y)
        for extra in ({"sample_weight": np.arange(100)}, {"groups": np.arange(100) // 2}):
            with pytest.raises(ValueError, match="leave out `sample_weight` and `groups`"):
                DecisionRule("f1", subject_to="recall >= 0.5", confidence=0.9).fit(p, y, **extra)
        with pytest.raises(ValueError, match="all constraints should be about one"):
            DecisionRule(subject_to="recall[0] >= 0.5 and recall[1] >= 0.5", confidence=0.9).fit(np.eye(3), [0, 1, 2])


class TestManyRowsOrClasses:
    @pytest.mark.parametrize(("metric", "n_classes"), [("f1", 2), ("f1_macro", 4)])
    def test_a_part_of_very_many_rows_is_searched(self, monkeypatch, metric, n_classes):
        """The rule loses next to nothing against a search of all rows, and says what it did."""
        rng = np.random.default_rng(0)
        y = rng.choice(n_classes, 30_000, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
        scores = rng.normal(size=(30_000, n_classes)) + 1.5 * np.eye(n_classes)[y]
        full = DecisionRule(metric, kind="logit").fit(scores, y)
        for module in ("_rule_offsets", "_tuning"):
            monkeypatch.setattr(f"metricfit.decisions.{module}.MOST_SEARCHED", 8000)
        part = DecisionRule(metric, kind="logit").fit(scores, y)
        assert "used about 8,000 of the 30,000 rows" in part.summary()
        assert "searched" not in full.summary()
        assert (part.offsets_ != full.offsets_).any()
        assert part.score_ == pytest.approx(full.score_, abs=0.003)
        assert part.is_cross_fitted_

    def test_constraints_hold_on_all_of_very_many_rows(self, monkeypatch):
        rng = np.random.default_rng(0)
        y = rng.choice(3, 9000, p=[0.5, 0.3, 0.2])
        scores = rng.normal(size=(9000, 3)) + 1.5 * np.eye(3)[y]
        for module in ("_rule_offsets", "_tuning", "_solve"):
            monkeypatch.setattr(f"metricfit.decisions.{module}.MOST_SEARCHED", 2000)
        rule = DecisionRule("f1_macro", subject_to="recall[2] >= 0.9", kind="logit").fit(scores, y)
        assert rule.attainable_
        assert 0.9 <= (rule.predict(scores)[y == 2] == 2).mean() < 0.91

    def test_offsets_stay_only_where_they_help(self):
        """Sixty balanced classes with five rows each, whose scores need no offsets, or are shifted."""
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(60), 5)
        scores = 2.0 * (rng.normal(size=(300, 60)) + 2.0 * np.eye(60)[y])
        rule = DecisionRule("f1_macro", kind="logit").fit(scores, y)
        assert not rule.offsets_.any()
        assert "The rule has no offsets, because they lost 0." in rule.summary()
        assert "predict the class with the largest score." in repr(rule)
        assert rule.score_ == rule.baseline_
        np.testing.assert_array_equal(rule.predict(scores), scores.argmax(1))
        shifted = DecisionRule("f1_macro", kind="logit").fit(scores + 4.0 * rng.normal(size=60), y)
        assert shifted.offsets_.any()
        assert "The rule has no offsets" not in shifted.summary()


class TestIntervals:
    def test_binomial_p_values_are_scipys(self):
        hits, trials = np.arange(11.0), np.full(11, 10.0)
        np.testing.assert_allclose(binomial_p_values(hits, trials, 0.3, True), binom.sf(hits - 1, 10, 0.3), atol=1e-14)
        np.testing.assert_allclose(binomial_p_values(hits, trials, 0.3, False), binom.cdf(hits, 10, 0.3), atol=1e-14)

    def test_binomial_intervals_are_those_of_clopper_and_pearson(self):
        from scipy.stats import binomtest

        for hits, trials in [(0, 5), (5, 5), (3, 17), (400, 1000)]:
            known = binomtest(hits, trials).proportion_ci(method="exact")
            np.testing.assert_allclose(binomial_interval(hits, trials), (known.low, known.high), atol=1e-12)

    @pytest.mark.parametrize(
        "metric", ["accuracy", "precision", "recall", "f1", "jaccard", "mcc", "balanced_accuracy", "f2", "kappa"]
    )
    def test_they_cover(self, metric):
        """The metric of a fixed decision in the population, over 400 draws of 300 rows."""
        rng = np.random.default_rng(0)
        population, truth = draw(40_000, rng)
        predicted, found = (population > 0.4).astype(int), mf.metrics.get(metric)
        matrix = torch.tensor([[((truth == i) & (predicted == j)).sum() for j in (0, 1)] for i in (0, 1)]).double()
        value, covered = float(found(matrix)), 0
        for _ in range(400):
            rows = rng.choice(len(truth), 300)
            low, high = metric_interval(found, predicted[rows], Rows(np.zeros((300, 2)), truth[rows], np.ones(300)))
            covered += low <= value <= high
        assert covered / 400 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)

    def test_groups_make_them_wider(self):
        p, y = draw(400, np.random.default_rng(0))
        rows = np.repeat(np.arange(400), 4)
        alone, grouped = (DecisionRule("mcc").fit(p[rows], y[rows], groups=groups) for groups in (None, rows))
        widths = [np.diff(rule.score_interval_)[0] for rule in (alone, grouped)]
        assert widths[1] == pytest.approx(2 * widths[0], rel=0.1)  # 400 draws instead of 1,600

    @pytest.mark.parametrize("metric", ["balanced_accuracy", "mcc", "f2"])
    def test_a_perfect_score_of_few_rows_is_not_certain(self, metric):
        y = np.array([0] * 30 + [1] * 3)
        rule = DecisionRule(metric, kind="probability").fit(np.where(y == 1, 0.8, 0.2), y)
        assert rule.score_ == pytest.approx(1.0)
        assert rule.score_interval_[0] < 0.9
        assert rule.score_interval_[1] == pytest.approx(1.0)
        assert np.ptp(rule.gain_interval_) > 0.0
        inside = (rule.curve_.threshold > 0.3) & (rule.curve_.threshold < 0.7)
        assert (rule.curve_.low[inside] < 0.9).all()

    def test_weights_are_no_counts(self):
        p, y = draw(400, np.random.default_rng(0))
        one, ten = (DecisionRule("mcc").fit(p, y, weight) for weight in (np.ones(400), np.full(400, 10.0)))
        assert ten.score_interval_ == pytest.approx(one.score_interval_)
        assert ten.gain_interval_ == pytest.approx(one.gain_interval_)
        np.testing.assert_allclose(ten.curve_.low, one.curve_.low)
        assert ten.curve_.best == pytest.approx(one.curve_.best)

    @pytest.mark.parametrize("metric", ["f1", "precision", "mcc"])
    def test_the_curve_is_that_of_the_positive_class(self, metric):
        """Also if it comes first."""
        p, y = draw(300, np.random.default_rng(0))
        names = np.array(["ok", "bad"])[y]  # sorted: bad, ok
        first = DecisionRule(metric, pos_label="bad").fit(p, names).curve_
        second = DecisionRule(metric, kind="probability").fit(p, y).curve_
        for name in ("threshold", "metric", "low", "high", "precision", "recall", "fpr", "predicted_rate", "best"):
            np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-9)

    @pytest.mark.parametrize("text", [*(f"{name} >= 0" for name in QUANTITIES), "mcc >= 0", "accuracy >= 0", "cost <= 5"])
    def test_every_constraint_has_one(self, text):
        """By the delta method nearly the exact one; wider for rows in groups."""
        p, y = draw(2000, np.random.default_rng(0))
        metric = Cost([[0, 1], [5, 0]]) if "cost" in text else "f1"
        for options in (
            {},
            {"sample_weight": np.full(2000, 3.0)},
            {"groups": np.arange(2000)},
            {"groups": np.arange(2000) // 2},
        ):
            found = DecisionRule(metric, subject_to=text).fit(p, y, **options).constraints_[0]
            low, high = found["interval"]
            assert low < found["value"] < high
            if not options:
                exact = found["interval"]
            elif len(np.unique(options.get("groups", y))) != 1000:
                assert (low, high) == pytest.approx(exact, abs=0.006)

    def test_the_range_of_thresholds_covers_the_best(self):
        rng = np.random.default_rng(0)
        population, truth = draw(40_000, rng)
        order = np.argsort(-population)
        tp, k = np.cumsum(truth[order]), np.arange(1, len(truth) + 1)
        best = population[order][(2 * tp / (k + truth.sum())).argmax()]
        covered = 0
        for _ in range(100):
            rows = rng.choice(len(truth), 500)
            low, high = DecisionRule("f1", kind="probability").fit(population[rows], truth[rows]).curve_.best
            covered += low <= best <= high
        assert covered >= 90

    def test_the_curve_has_the_shares_of_each_threshold(self):
        p, y = draw(300, np.random.default_rng(0))
        curve = DecisionRule("f1").fit(p, y).curve_
        for index in (1, 57, 150):
            predicted = p > curve.threshold[index]
            for name in ("precision", "recall", "fpr", "predicted_rate"):
                assert getattr(curve, name)[index] == pytest.approx(quantity(name, predicted, y))
            assert curve.metric[index] == pytest.approx(quantity("f1", predicted, y))
        assert (curve.low <= curve.metric).all()
        assert (curve.metric <= curve.high).all()


class TestPrevalence:
    def test_known_shares_are_those_of_weighted_rows(self):
        p, y = draw(2000, np.random.default_rng(0))
        moved = DecisionRule("f1").fit(p, y).for_prevalence({1: 0.02})
        share = y.mean()
        weight = np.where(y == 1, 0.02 / share, 0.98 / (1 - share))
        offsets = mf.tune_offsets(p.astype(np.float32), y, "f1", sample_weight=weight / weight.mean(), kind="probability")
        np.testing.assert_allclose(moved.offsets_, offsets, atol=2e-3)  # the rule keeps scores in float32
        assert moved.shares_.tolist() == pytest.approx([0.98, 0.02])

    def test_estimated_shares_cover_the_true_ones_and_help(self):
        rng = np.random.default_rng(0)
        rule = DecisionRule("f1").fit(*draw(4000, rng))
        covered, gains = 0, []
        for _ in range(50):
            p, y = draw(2000, rng, share=0.02, model_share=0.2)
            moved = rule.adapt(p)
            low, high = moved.share_intervals_[1]
            covered += low <= 0.02 <= high
            gains.append(quantity("f1", moved.predict(p) == 1, y) - quantity("f1", rule.predict(p) == 1, y))
        assert covered >= 43  # 47.5 less three standard errors
        assert np.mean(gains) > 0.05

    def test_classes_that_scores_tell_apart_have_wilsons_interval(self):
        labels, new = np.repeat([0, 1], 100_000), np.eye(2)[np.repeat([0, 1], [90, 10])]
        even, found = np.array([0.5, 0.5]), np.array([0.9, 0.1])
        rows = Rows(np.zeros((200_000, 2)), labels, np.ones(200_000))
        low, high = _intervals(rows, np.eye(2)[labels], new, even, found)[1]
        n, z2 = 100, 1.959964**2
        middle, half = (0.1 + z2 / (2 * n)) / (1 + z2 / n), np.sqrt(z2 * (0.09 / n + z2 / (4 * n * n))) / (1 + z2 / n)
        assert (low, high) == pytest.approx((middle - half, middle + half), abs=1e-6)

    def test_the_interval_of_shares_does_not_need_calibrated_probabilities(self):
        """Scale and bias cannot calibrate these scores; below 0.95 by at most three standard errors."""
        rng, covered = np.random.default_rng(0), 0
        for _ in range(100):
            (p, y), (new, _) = draw(2000, rng, share=0.05), draw(1000, rng, share=0.15, model_share=0.05)
            scores, unlabelled = (np.where(one > 0.2, 3.0, 0.5) * np.log(4.0 * one / (1 - one)) for one in (p, new))
            rows = Rows(np.stack([0 * scores, scores], 1), y, np.ones(2000))
            table = np.stack([0 * unlabelled, unlabelled], 1)
            _, (_, (low, high)) = estimate_shares(rows, np.bincount(y) / 2000, table, [0, 1])
            covered += low <= 0.15 <= high
        assert covered / 100 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 100)

    @pytest.mark.slow
    def test_the_interval_of_shares_includes_the_calibration(self):
        """Many new rows cannot make up for few rows with labels."""
        rng = np.random.default_rng(0)
        covered = 0
        for _ in range(60):
            rule = DecisionRule("f1").fit(*draw(400, rng))
            low, high = rule.adapt(draw(20_000, rng, share=0.05, model_share=0.2)[0]).share_intervals_[1]
            covered += low <= 0.05 <= high
        assert covered >= 60 * 0.95 - 3 * np.sqrt(60 * 0.95 * 0.05)

    def test_balanced_accuracy_does_not_depend_on_shares(self):
        rng = np.random.default_rng(0)
        rule = DecisionRule("balanced_accuracy").fit(*draw(1000, rng))
        moved = rule.adapt(draw(500, rng)[0])
        assert moved.offsets_.tolist() == rule.offsets_.tolist()
        assert "balanced_accuracy does not depend on them" in moved.summary()

    def test_scores_that_say_nothing_are_refused(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 1000)
        with pytest.raises(ValueError, match=r"hardly separate|rise with"):
            DecisionRule("f1").fit(rng.uniform(0.49, 0.51, 1000), y).adapt(rng.uniform(0.49, 0.51, 500))

    def test_classes_without_rows_are_refused(self):
        scores, y = np.random.default_rng(0).dirichlet(np.ones(3), 100), np.arange(100) % 2
        rule = DecisionRule("f1_macro").fit(scores, y)
        with pytest.raises(ValueError, match="`adapt` needs rows of every class in the fit, but it had none of 2"):
            rule.adapt(scores)
        with pytest.raises(ValueError, match="`shares` should name classes with rows in the fit, got 2"):
            rule.for_prevalence({2: 0.1})
        assert rule.for_prevalence({1: 0.1}).shares_ == pytest.approx([0.9, 0.1, 0.0])

    @pytest.mark.parametrize("shares", [{}, {2: 0.1}, {1: 1.5}, {1: -0.1}, {0: 0.5, 1: 0.4}, {1: 1.0}, {1: np.nan}])
    def test_wrong_shares_are_refused(self, shares):
        p, y = draw(200, np.random.default_rng(0))
        with pytest.raises(ValueError, match="`shares` should"):
            DecisionRule("f1").fit(p, y).for_prevalence(shares)

    def test_shares_are_a_dict(self):
        p, y = draw(200, np.random.default_rng(0))
        with pytest.raises(TypeError, match=r"a dict of classes and their shares, such as \{1: 0.01\}, got 0.1"):
            DecisionRule("f1").fit(p, y).for_prevalence(0.1)

    def test_a_promise_does_not_carry_over(self):
        p, y = draw(1000, np.random.default_rng(0))
        moved = DecisionRule("recall", subject_to="precision >= 0.7", confidence=0.9).fit(p, y).for_prevalence({1: 0.1})
        assert moved.confidence is None
        assert "does not carry over" in moved.summary().splitlines()[1]
        assert moved.summary().count("does not carry over") == 1

    def test_the_metric_and_limits_at_known_shares(self, tmp_path):
        """By hand, from the counts of each class; the interval is wider than one of as many rows without weights."""
        p, y = draw(4000, np.random.default_rng(0))
        rule = DecisionRule("recall", subject_to="precision >= 0.7", kind="probability").fit(p, y)
        moved = rule.for_prevalence({1: 0.05})
        positive = moved.predict(p) == 1
        hits, false = 0.05 * positive[y == 1].mean(), 0.95 * positive[y == 0].mean()
        (found,) = moved.constraints_
        assert found["value"] == pytest.approx(hits / (hits + false), abs=1e-6)
        low, high = found["interval"]
        assert low < found["value"] < high
        assert "at these shares, on 4,000 rows of the fit with weights." in found["sentence"]
        recall = float(re.search(r"recall is ([\d.]+) \(", moved.notes_[-1])[1])
        assert recall == pytest.approx(positive[y == 1].mean(), abs=0.03)  # cross-fitted
        moved.save(tmp_path / "rule.json")
        assert DecisionRule.load(tmp_path / "rule.json").summary() == moved.summary()

    def test_intervals_at_known_shares_hold_the_truth(self):
        """As often as 95 % or more, but for chance: three standard errors of 100 repetitions are 0.065."""
        rng, held = np.random.default_rng(0), []
        many, truth = draw(200_000, rng)
        for _ in range(100):
            p, y = draw(1000, rng)
            moved = (
                DecisionRule("accuracy", subject_to="precision >= 0.5", kind="probability").fit(p, y).for_prevalence({1: 0.1})
            )
            positive = many > moved.threshold_
            hits, false = 0.1 * positive[truth == 1].mean(), 0.9 * positive[truth == 0].mean()
            low, high = moved.constraints_[0]["interval"]
            held.append(low <= hits / (hits + false) <= high)
        assert np.mean(held) >= 0.95 - 0.065


class TestHints:
    def test_a_metric_of_constant_answers(self):
        p, y = draw(1000, np.random.default_rng(0))
        names = np.array(["ok", "fraud"])[y]
        hint = "recall alone is best if every row is predicted as 'fraud'. Add a limit, such as subject_to='precision >= 0.8'."
        assert hint in DecisionRule("recall").fit(p, names).notes_
        assert hint not in DecisionRule("recall", subject_to="precision >= 0.5").fit(p, names).notes_
        assert not any("every row" in note for note in DecisionRule("f1").fit(p, names).notes_)

    def test_scores_that_tell_nothing(self):
        rng = np.random.default_rng(0)
        p, y = rng.random(500), (rng.random(500) < 0.05).astype(int)
        rule = DecisionRule("accuracy").fit(p, y)
        share = (y == 0).mean()
        assert f"Predicting 0 for every row gives {share:.4f}, which is no worse than the rule." in rule.notes_

    def test_predictions_as_scores(self):
        p, y = draw(1000, np.random.default_rng(0))
        hint = "The scores take two values only, as predictions do. Pass probabilities: they leave more to decide."
        hard = (p > 0.5).astype(float)
        labels = np.stack([y, 1 - y], 1)
        for scores, target in (
            (hard, y),
            (np.stack([1 - hard, hard], 1), y),
            (np.eye(3)[y], y),
            (np.stack([hard, 1 - hard], 1), labels),
        ):
            assert hint in DecisionRule("f1_macro").fit(scores, target).notes_
        assert hint not in DecisionRule("f1_macro").fit(p, y).notes_


class TestOrigins:
    def test_columns_that_belong_to_other_classes_are_noticed(self):
        p, y = draw(500, np.random.default_rng(0))
        assert "The scores of 1 are lower in its own rows" in DecisionRule("f1").fit(1 - p, y).summary()
        assert "lower in its own rows" not in DecisionRule("f1").fit(p, y).summary()

    def test_before_the_fit(self):
        from sklearn.exceptions import NotFittedError

        rule = DecisionRule()
        for call in (
            lambda: rule.predict([0.1]),
            lambda: rule.decision_function([0.1]),
            lambda: rule.score([0.1], [1]),
            rule.summary,
            lambda: rule.adapt([0.1]),
            lambda: rule.for_prevalence({1: 0.1}),
        ):
            with pytest.raises(NotFittedError):
                call()

    def test_lengths_differ(self):
        p, y = draw(200, np.random.default_rng(0))
        with pytest.raises(ValueError, match="`y` should have 3 labels to match the scores, got 200"):
            DecisionRule().fit(p, y).score(p[:3], y)

    def test_a_single_column_is_about_the_rarer_name(self):
        p, y = draw(500, np.random.default_rng(0))
        rule = DecisionRule("f1").fit(p, np.array(["ok", "bad"])[y])  # sorted: bad, ok
        assert "The positive class is 'bad', the rarer one." in rule.notes_
        assert (rule.predict([0.01, 0.99]) == ["ok", "bad"]).all()
        assert "predict 'bad' where its probability is above" in repr(rule)

    def test_scores_of_another_kind_are_refused(self):
        p, y = draw(200, np.random.default_rng(0))
        rule = DecisionRule("f1").fit(np.stack([1 - p, p], 1), y)
        with pytest.raises(
            ValueError, match="should be probabilities in 2 columns, as in the fit, got 1 row of 2 columns, read as logits"
        ):
            rule.predict([[0.3, 4.0]])
        with pytest.raises(ValueError, match="in 2 columns, as in the fit"):
            rule.predict([0.3, 0.4])

    def test_the_kind_that_was_passed_is_kept(self):
        rng = np.random.default_rng(0)
        p, y = draw(200, rng)
        logs = DecisionRule("f1", kind="log_probability").fit(np.log(p), y)
        plain = DecisionRule("f1", kind="probability").fit(p, y)
        assert logs.predict(np.log(p)).tolist() == plain.predict(p).tolist()
        sigmoids = rng.random((200, 3))
        rule = DecisionRule("f1_macro", kind="probability").fit(sigmoids, rng.integers(0, 3, 200))
        assert len(rule.predict(sigmoids)) == 200

    def test_groups_that_say_nothing_are_refused(self):
        p, y = draw(200, np.random.default_rng(0))
        for groups, message in (
            (np.zeros(200), "at least two groups"),
            (np.array([None, "a"] * 100), "a group for every row, got 100 without"),
            (np.array([1, "a"] * 100, object), "names of one type"),
        ):
            with pytest.raises(ValueError, match=f"`groups` should .*{message}"):
                DecisionRule("f1").fit(p, y, groups=groups)

    def test_many_classes_are_a_short_sentence(self):
        rule = DecisionRule().fit(np.eye(50), np.arange(50))
        assert repr(rule).endswith("predict the class with the largest score.")
        rule.offsets_ = np.arange(50.0)
        assert repr(rule).endswith(", 8 +8, 9 +9, ....")


class TestFiles:
    @pytest.mark.parametrize(
        "options",
        [
            {"metric": "mcc"},
            {"metric": "recall", "subject_to": "precision >= 0.7", "confidence": 0.9},
            {"metric": Cost({("ok", "fraud"): 1, ("fraud", "ok"): 5}), "subject_to": "cost <= 1"},
            {"metric": "f1", "budget": {"fraud": 30, "ok": 0.99}},
            {"metric": "recall@50"},
            {"metric": "accuracy", "abstain": "error <= 5%"},
            {"metric": Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 2}), "abstain_cost": 1.5},
        ],
    )
    def test_a_rule_travels(self, tmp_path, options):
        rng = np.random.default_rng(0)
        p, y = draw(800, rng)
        costs = {"amount": rng.lognormal(2.0, 1.0, 800)} if "abstain_cost" in options else None
        frame = pd.DataFrame({"fraud": p, "ok": 1.0 - p})
        rule = DecisionRule(**options).fit(frame, np.array(["ok", "fraud"])[y], costs=costs)
        for overwrite in (False, True):
            rule.save(tmp_path / "rule.json", overwrite=overwrite)
        with pytest.raises(FileExistsError, match="Choose another name or pass overwrite=True"):
            rule.save(tmp_path / "rule.json")
        again = DecisionRule.load(tmp_path / "rule.json")
        assert again.predict(frame, costs=costs).tolist() == rule.predict(frame, costs=costs).tolist()
        assert (repr(again), again.summary()) == (repr(rule), rule.summary())
        for name in ("budget", "columns_", "gain_p_", "money_"):
            assert getattr(again, name) == getattr(rule, name)
        assert (tmp_path / "rule.json").stat().st_size < 20_000
        if rule.actions_ is None:
            one, other = (found.for_prevalence({"fraud": 0.1}).offsets_ for found in (again, rule))
            assert one == pytest.approx(other, abs=1e-6)

    def test_what_a_rule_keeps_of_its_fit(self):
        p, y = draw(600, np.random.default_rng(4))
        rule = DecisionRule("f1").fit(pd.DataFrame({"fraud": p, "ok": 1.0 - p}), np.array(["ok", "fraud"])[y])
        assert rule.columns_ == ("fraud", "ok")
        assert set(rule.predicted_) == {"fraud", "ok"}
        error = (rule.gain_interval_[1] - rule.gain_interval_[0]) / (2.0 * norm.ppf(0.975))
        assert rule.gain_p_ == pytest.approx(2.0 * norm.sf(abs(rule.gain_) / error), rel=1e-5)

    def test_a_function_has_to_be_passed_again(self, tmp_path):
        p, y = draw(200, np.random.default_rng(0))
        DecisionRule(lambda matrix: matrix[1, 1] / matrix.sum()).fit(p, y).save(tmp_path / "rule.json")
        rule = DecisionRule.load(tmp_path / "rule.json")
        assert len(rule.predict(p)) == 200
        with pytest.raises(ValueError, match="pass it to load as `metric`"):
            rule.for_prevalence({1: 0.1})

    @pytest.mark.parametrize(
        "content", ["", "[]", '{"format": "metricfit rule"}', '{"format": "metricfit rule", "version": 1}', "not json"]
    )
    def test_other_files_are_refused(self, tmp_path, content):
        (tmp_path / "rule.json").write_text(content)
        with pytest.raises(ValueError, match=r"is not a decision rule of metricfit|is damaged|another version of metricfit"):
            DecisionRule.load(tmp_path / "rule.json")

    def test_a_file_with_wrong_offsets_is_damaged(self, tmp_path):
        p, y = draw(200, np.random.default_rng(0))
        DecisionRule("f1").fit(p, y).save(tmp_path / "rule.json")
        found = json.loads((tmp_path / "rule.json").read_text())
        (tmp_path / "rule.json").write_text(json.dumps({**found, "offsets": [0.0]}))
        with pytest.raises(ValueError, match="is damaged: its offsets do not fit its classes"):
            DecisionRule.load(tmp_path / "rule.json")
