"""The hint: its conditions are those of the table at hand, its numbers those of the study, and it is silent where it knows nothing."""

import dataclasses
import json

import numpy as np
import pytest
from markupsafe import escape

from metricfit import metrics
from metricfit.comparison import compare
from metricfit.comparison._hint import (
    CURVED,
    CURVED_AND_RARE,
    CURVED_ONLY,
    FINDINGS,
    IN_WORDS,
    RARE,
    STRAIGHT,
    kind_of,
    log_losses,
    studied_metric,
)
from metricfit.comparison._outcome import HeldOutPrediction
from metricfit.comparison._words import number_word
from metricfit.report import Run, page

LINEAR, TREES = "linear, cross_entropy", "boosting, cross_entropy"


@pytest.fixture(scope="module")
def known():
    """A comparison with a verdict, whose probabilities and class counts the tests replace."""
    random = np.random.default_rng(0)
    features = random.normal(size=(200, 2))
    target = (features[:, 0] + 0.5 * random.normal(size=200) > 0.8).astype(int)
    return compare(features, target, "f1", models=["linear", "boosting"], methods=["cross_entropy", "direct"], n_repeats=1)


def with_losses(known, linear, trees, rarest=0.05):
    """The same with these log-losses, and this share of the rarest class."""
    n_rows = len(known.labels)
    results = dict(known.results)
    for name, loss in ((LINEAR, linear), (TREES, trees)):
        probability = np.full((n_rows, 2), np.exp(-loss))
        held_out = HeldOutPrediction(results[name].held_out.scores, probability)
        results[name] = dataclasses.replace(results[name], held_out=held_out)
    counts = np.array([1000 - round(1000 * rarest), round(1000 * rarest)])
    return dataclasses.replace(known, results=results, class_counts=counts)


def test_log_losses_are_those_of_the_held_out_rows(known):
    for loss, name in zip(log_losses(known), (LINEAR, TREES), strict=True):
        chances = known.results[name].held_out.probability
        wanted = -np.mean([np.log(chance[label]) for chance, label in zip(chances, known.labels, strict=True)])
        assert loss == pytest.approx(wanted)
    assert log_losses(with_losses(known, 0.4, 0.3)) == pytest.approx((0.4, 0.3))


def test_where_the_rule_holds(known):
    found, wanted = with_losses(known, 0.5, 0.25, 0.04).hint, FINDINGS["f1", CURVED_AND_RARE]
    assert found.startswith("Hint: boosted trees remove 50 % of the linear model's log-loss, and the rarest class has 4.0 %")
    assert (
        f"On {number_word(wanted.n_tables)} studied tables of this kind (a linear model does not fit, a class is rare)"
        in found
    )
    assert f"{wanted.low:.1f} to {wanted.high:.1f} points over a tuned threshold on {number_word(wanted.n_gained)}" in found
    assert found.endswith("(docs/evidence.md).")


@pytest.mark.parametrize(
    ("trees", "rarest", "words", "kind"),
    [
        (0.5 * (1.0 - CURVED) + 0.01, 0.04, "boosted trees remove ", STRAIGHT),
        (0.25, RARE + 0.01, "boosted trees remove 50 %", CURVED_ONLY),
        (0.6, 0.04, "boosted trees fit no better than the linear model", STRAIGHT),
    ],
    ids=["straight", "no rare class", "trees are worse"],
)
def test_elsewhere(known, trees, rarest, words, kind):
    found, wanted = with_losses(known, 0.5, trees, rarest).hint, FINDINGS["f1", kind]
    assert found.startswith(f"Hint: {words}")
    assert f"On {number_word(wanted.n_tables)} studied tables of this kind ({IN_WORDS[kind]}), from " in found
    assert f"the mean is {wanted.mean:+.1f}" in found


def test_kinds_include_their_ends():
    assert kind_of(CURVED, RARE) == CURVED_AND_RARE
    assert kind_of(CURVED - 1e-9, RARE) == STRAIGHT
    assert kind_of(CURVED, RARE + 1e-9) == CURVED_ONLY


def test_no_hint_without_trees_a_verdict_or_a_studied_metric(known):
    linear = {name: result for name, result in known.results.items() if not name.startswith("boosting")}
    assert dataclasses.replace(known, results=linear).hint == ""
    assert dataclasses.replace(known, measure=metrics.get("balanced_accuracy")).hint == ""
    unknown = dataclasses.replace(known.reference.estimate, low=-np.inf, high=np.inf)
    few = {**known.results, known.reference.contender.name: dataclasses.replace(known.reference, estimate=unknown)}
    assert dataclasses.replace(known, results=few).hint == ""


@pytest.mark.parametrize(
    ("metric", "studied"),
    [
        ("f1", "f1"),
        ("f1_macro", "f1"),
        ("accuracy", "accuracy"),
        ("mcc", "mcc"),
        ("f2", None),
        ("kappa", None),
        ("recall", None),
    ],
)
def test_metrics_of_the_study(metric, studied):
    assert studied_metric(metrics.get(metric)) == studied


def test_print_json_and_report_have_it(known):
    assert known.hint.startswith("Hint: ")
    assert repr(known).splitlines()[-1] == known.hint
    assert json.loads(json.dumps(known.as_json()))["hint"] == known.hint
    written = page(known, Run("data.csv", "target", "metricfit compare data.csv", "2026-01-01 00:00 UTC", {"Python": "3"}))
    assert f'<p class="hint">{escape(known.hint)}</p>' in written
    silent = dataclasses.replace(known, measure=metrics.get("kappa"))
    assert repr(silent).splitlines()[-1] == silent.verdict.about_method
