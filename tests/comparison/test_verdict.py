"""Sentences of the verdict: they agree with the table, and every number belongs to what is named."""

from dataclasses import replace

import pytest

from metricfit import metrics
from metricfit.comparison._statistics import Difference, no_interval
from metricfit.comparison._verdict import difference_in_words
from tests.comparison.made import around, compare_scores

UNSURE = {"linear_threshold": around(0.60), "boosting_threshold": around(0.63, 0.04)}  # +0.03, which ten scores do not show


def test_a_simpler_contender_is_recommended_only_if_it_is_shown_to_be_close():
    """Ten differences of -0.002 plus and minus 0.001: two comparisons, t 2.685, times 0.001 sqrt(10 / 9 (1 / 10 + 1 / 4))."""
    found = compare_scores(linear_threshold=around(0.698, 0.001), boosting_threshold=around(0.7)).verdict
    assert (found.status, found.best, found.recommended) == ("clear", "boosting, threshold", "linear, threshold")
    assert found.about_model.endswith(
        "Recommended: linear, threshold (0.6980), 1.0 s per fit. It is simpler, and it is shown to be within 0.01 of the best: "
        "-0.0020 (95 % interval -0.0037 to -0.0003)."
    )
    assert found.headline == "Use the linear model with a tuned threshold: it is simple and within 0.01 of the best."
    strict = compare_scores(linear_threshold=around(0.698, 0.001), boosting_threshold=around(0.7), margin=0.003).verdict
    assert (strict.status, strict.recommended) == ("clear", "boosting, threshold")
    assert "Everything simpler is shown to be worse." in strict.about_model


def test_a_lack_of_evidence_is_not_equality():
    """The issue: 0.506 was recommended for 0.608, because ten scores did not show the difference."""
    found = compare_scores(**UNSURE)
    verdict = found.verdict
    assert (verdict.status, verdict.best, verdict.recommended) == ("unclear", "boosting, threshold", "boosting, threshold")
    assert (
        "There is not enough data to tell whether linear, threshold (0.6000) is as good: the difference is -0.0300 (95 % interval"
        in (verdict.about_model)
    )
    assert (
        "It is ahead of linear, threshold (0.6000), but that may be chance: +0.0300 (95 % interval -0" in verdict.about_model
    )
    assert verdict.headline == ("Use boosted trees with a tuned threshold, although something simpler may be just as good.")
    assert "significant" not in verdict.sentence


def test_of_several_unclear_ones_the_highest_is_named():
    found = compare_scores(linear_cross_entropy=around(0.5, 0.2), **UNSURE).verdict.about_model
    assert "whether linear, threshold (0.6000) is as good" in found
    assert found.endswith("The same holds for linear, cross_entropy.")
    more = compare_scores(linear_cross_entropy=around(0.5, 0.2), linear_hinge=around(0.5, 0.2), **UNSURE).verdict
    assert more.about_model.endswith("The same holds for two other contenders.")


def test_everything_simpler_is_worse():
    found = compare_scores(linear_threshold=around(0.6, 0.01), boosting_threshold=around(0.8)).verdict
    assert (found.status, found.recommended) == ("clear", "boosting, threshold")
    assert found.headline == "Use boosted trees with a tuned threshold: everything simpler is shown to be worse."
    assert found.about_model.startswith(
        "Best: boosting, threshold (0.8000), 1.0 s per fit. It beats linear, threshold (0.6000): +0.2000 (95 % interval +0.1"
    )
    simple = compare_scores(linear_threshold=around(0.8), boosting_threshold=around(0.6, 0.01)).verdict
    assert (simple.headline, simple.recommended) == ("Use the linear model with a tuned threshold.", "linear, threshold")
    assert simple.about_model == "Best: linear, threshold (0.8000), 1.0 s per fit."


def test_equal_means():
    found = compare_scores(linear_cross_entropy=around(0.6), linear_threshold=around(0.6)).verdict
    assert (found.best, found.recommended) == ("linear, cross_entropy", "linear, cross_entropy")
    assert "linear, threshold has the same mean." in found.about_model


def test_the_verdict_compares_times():
    def sentence(seconds):
        scores = {"linear_threshold": around(0.6), "boosting_threshold": around(0.8, 0.01)}
        return compare_scores(seconds={"boosting": seconds}, **scores).verdict.about_model

    assert sentence(4.0).endswith(" A fit takes 4.0 times as long. Everything simpler is shown to be worse.")
    assert " A fit takes no longer." in sentence(0.2)


def test_no_model_is_shown_to_beat_a_constant_answer():
    ahead = compare_scores(trivial_constant=around(0.6), linear_threshold=around(0.63, 0.04)).verdict
    assert (ahead.status, ahead.answer, ahead.best) == ("constant", "no", "linear, threshold")
    assert ahead.recommended == "trivial, constant"
    assert ahead.sentence.startswith(
        "No model is shown to beat always answering 'good' (0.6000). linear, threshold (0.6300) is ahead, but that may be "
        "chance: +0.0300 (95 % interval -0"
    )
    assert ahead.headline == "No model is shown to beat a constant answer, always 'good'."
    behind = compare_scores(trivial_constant=around(0.7), linear_threshold=around(0.68, 0.05)).verdict
    assert "The best of them, linear, threshold (0.6800), is behind: -0.0200 (" in behind.sentence
    worse = compare_scores(trivial_constant=around(0.7), linear_threshold=around(0.6, 0.01)).verdict
    assert worse.sentence.startswith("No model beats always answering 'good' (0.7000) by more than 0.01. The best of them is ")
    same = compare_scores(trivial_constant=around(0.0), linear_threshold=around(0.9)).verdict  # the same gain on every split
    assert same.status == "clear"


def test_no_model_is_recommended_that_is_not_shown_to_beat_a_constant_answer():
    """The highest mean scatters so much that it may be no better; the second one is."""
    scores = {"linear_threshold": around(0.61, 0.001), "boosting_threshold": around(0.62, 0.1)}
    found = compare_scores(trivial_constant=around(0.6), **scores).verdict
    assert (found.status, found.best, found.recommended) == ("unclear", "boosting, threshold", "linear, threshold")
    assert "It is not shown to beat always answering 'good'. linear, threshold (0.6100) is: +0.0100 (" in (found.about_model)


def test_recall_recommends_no_constant_answer():
    """The issue: always 'good' has recall 1, and was recommended."""
    found = compare_scores("recall", trivial_constant=around(1.0), linear_threshold=around(0.99, 0.01)).verdict
    assert (found.status, found.recommended, found.answer) == ("none", None, "none")
    assert found.headline == "A constant answer, always 'good', has recall 1: use another metric."
    assert "recall alone cannot choose a model. Use f2 (--metric f2)" in found.sentence
    assert "a limit on precision" in found.sentence
    assert (
        compare_scores("recall", trivial_constant=around(1.0), linear_threshold=around(0.99)).main.contender.model == "linear"
    )
    free = metrics.Cost([[0.0, 0.0], [5.0, 0.0]])  # always the second class costs nothing
    no_cost = replace(compare_scores(linear_threshold=around(0.9)), metric="minus cost", measure=free).verdict
    assert no_cost.headline == "A constant answer, always 'good', has no cost: use another metric."
    any_unit = metrics.get(lambda matrix: 100.0 * matrix[..., 1, 1] / matrix.sum((-2, -1)))
    assert replace(compare_scores(linear_threshold=around(0.9)), measure=any_unit).verdict.status == "clear"
    precision = compare_scores("precision", trivial_constant=around(0.5), linear_threshold=around(0.8, 0.01)).verdict
    assert precision.recommended == "linear, threshold"


def test_few_scores_give_means_and_no_verdict():
    known = compare_scores(linear_threshold=around(0.6), boosting_threshold=around(0.7))

    def with_scores(n_scores, **more):
        results = {
            name: replace(one, scores=one.scores[:n_scores], estimate=no_interval(one.estimate.mean))
            for name, one in known.results.items()
        }
        return replace(known, results=results, **more).verdict

    two = with_scores(2)
    assert (two.status, two.answer, two.best, two.recommended) == ("none", "none", "boosting, threshold", None)
    assert two.sentence == (
        "Two scores are too few for a verdict. Run at least five folds (n_splits=5, --folds 5). Best so far: "
        "boosting, threshold (0.7000). The reference: linear, threshold (0.6000)."
    )
    assert with_scores(1).sentence.startswith("One score is too few")
    once = with_scores(1, is_test_set=True)
    assert once.sentence.startswith("A test set of 20 rows is too small for a verdict. Use at least 30 rows")
    assert "split" not in once.sentence
    assert once.headline == "A test set of 20 rows is too small for a verdict."


def test_a_test_set_has_no_splits_and_no_repeats():
    """The issue: texts of one test set spoke of splits and repeats."""
    scores = {"linear_threshold": around(0.6), "linear_direct": around(0.62, 0.015)}
    folds = compare_scores(**scores)
    assert folds.verdict.answer == "perhaps"
    assert "Run more repeats to decide" in folds.verdict.about_method
    once = replace(folds, is_test_set=True).verdict
    assert "Evaluate them on more rows to decide" in once.about_method
    assert "repeat" not in once.sentence
    constant = Difference(0.1, 0.1, 0.1, 1.0)
    assert difference_in_words(constant, folds) == "+0.1000 (the same on every split)"
    assert difference_in_words(constant, replace(folds, is_test_set=True)) == "+0.1000 (on all resampled rows)"


@pytest.mark.parametrize(
    ("scores", "chosen", "answer", "words"),
    [
        ({"exact": around(0.7, 0.02), "direct": around(0.69, 0.01)}, None, "yes", "EXACT reaches 0.7000 and a tuned threshold 0.6000: +0.1000 ("),
        ({"exact": around(0.7, 0.02), "auto": around(0.65, 0.01)}, "direct(1)", "yes", "helps. The automatic choice reaches 0.6500"),
        ({"exact": around(0.62, 0.015)}, None, "perhaps", "EXACT reaches 0.6200 and a tuned threshold 0.6000, but that may be chance: +0.0200 (95 % interval -0.0"),
        ({"cross_entropy": around(0.61, 0.1), "exact": around(0.62, 0.015)}, None, "perhaps", "Plain cross-entropy reaches 0.6100. Run more repeats to decide."),
        ({"exact": around(0.7, 0.2)}, None, "no", "not shown to help. EXACT reaches 0.7000 and a tuned threshold 0.6000, but that may be chance: +0.1000 ("),
        ({"exact": around(0.5, 0.01)}, None, "no", "No method trained for it is ahead of a tuned threshold (0.6000). The best of them, EXACT, reaches 0.5000."),
        ({"hinge": around(0.9, 0.01), "exact": around(0.5, 0.01)}, None, "no", "Linear model: training for f1 is not shown to help."),
        ({"cross_entropy": around(0.65, 0.1), "exact": around(0.5, 0.01)}, None, "no", "The best of them, EXACT, reaches 0.5000. Plain cross-entropy reaches 0.6500."),
        ({"auto": around(0.65, 0.1)}, "threshold", "no", "The automatic choice mostly did not train for f1."),
        ({}, None, "no", "Linear model: a tuned threshold reaches 0.6000. None of the compared methods trains for f1."),
    ],
)  # fmt: skip
def test_verdicts_on_methods(scores, chosen, answer, words):
    linear = {f"linear_{name}": own for name, own in {"threshold": around(0.6), **scores}.items()}
    found = compare_scores(chosen=chosen, **linear).verdict
    assert found.answer == answer
    assert words in found.about_method


@pytest.mark.parametrize(("gain", "answer"), [(around(0.604, 0.1), "no"), (around(0.62, 0.015), "perhaps")])
def test_both_sentences_recommend_the_same(gain, answer):
    """The issue: "Use the linear model trained by direct training" and "a tuned threshold is enough" in one verdict."""
    verdict = compare_scores(linear_threshold=around(0.6), linear_direct=gain).verdict
    assert (verdict.status, verdict.recommended, verdict.answer) == ("unclear", "linear, direct", answer)
    assert "but that may be chance: +0.0" in verdict.about_method
    assert "enough" not in verdict.about_method
    assert "use" not in verdict.about_method.split()


def test_the_verdict_says_what_the_automatic_choice_took():
    """The issue: the best was "linear, auto", and its fit "linear by threshold"."""
    found = compare_scores(chosen="threshold", linear_threshold=around(0.6), linear_auto=around(0.604, 0.1)).verdict
    assert found.best == "linear, auto"
    assert " On 10 of 10 splits it chose threshold. There is not enough data to tell" in found.about_model


SCORES = {
    "linear_threshold": around(0.60),
    "boosting_threshold": around(0.70, 0.01),
    "ensemble_threshold": around(0.65, 0.02),
}


def test_the_verdict_of_fit_is_about_the_fitted_model():
    """The issue: `fit` reported the best contender, and saved another one."""
    found = compare_scores(**SCORES).about("ensemble, threshold")
    verdict = found.verdict
    assert found.main.contender.name == found.choice.contender.name == "ensemble, threshold"
    assert (verdict.status, verdict.best, verdict.recommended) == ("clear", "boosting, threshold", "boosting, threshold")
    assert verdict.about_model.startswith("ensemble, threshold scores 0.6500 (95 % interval 0.62")
    assert (
        "on rows that neither the model nor its tuning saw. boosting, threshold (0.7000) is shown to be better: +0.0500 ("
        in (verdict.about_model)
    )
    assert verdict.about_model.endswith("Fit it with --model boosting.")
    assert verdict.headline == (
        "The ensemble with a tuned threshold: f1 0.6500, but the data show boosted trees with a tuned threshold to be better."
    )
    assert verdict.about_method == ""  # that would be about the linear model


def test_fit_of_the_best_and_of_one_that_may_be_beaten():
    best = compare_scores(**SCORES).about("boosting, threshold").verdict
    assert (best.status, best.recommended) == ("clear", "boosting, threshold")
    assert best.about_model.endswith("No other contender has a better score.")
    assert best.headline == "Boosted trees with a tuned threshold: f1 0.7000. No other contender is shown to be better."
    unsure = compare_scores(**UNSURE).about("linear, threshold").verdict
    assert (unsure.status, unsure.recommended) == ("unclear", "linear, threshold")
    assert "boosting, threshold (0.6300) is ahead, but that may be chance: +0.0300 (" in unsure.about_model
    constant = compare_scores(trivial_constant=around(0.6), linear_threshold=around(0.61, 0.1)).about("linear, threshold")
    assert constant.verdict.status == "constant"
    assert "It is not shown to beat always answering 'good' (0.6000): +0.0100 (" in constant.verdict.sentence
    with pytest.raises(ValueError, match="`name` should be a contender"):
        constant.about("forest, threshold")


def test_every_difference_has_one_interval_and_one_p_value_which_agree():
    """The issue: "not beyond chance: +0.0674 (95 % interval +0.0246 to +0.1102)"."""
    means = (0.58, 0.61, 0.62, 0.64, 0.66, 0.70)
    names = ("linear_cross_entropy", "linear_hinge", "linear_leaky", "linear_exact", "linear_east", "linear_direct")
    shown, claims = 0, set()
    for scatter in (0.01, 0.02, 0.03, 0.05, 0.08):
        scores = {name: around(mean, scatter) for name, mean in zip(names, means, strict=True)}
        found = compare_scores(linear_threshold=around(0.6), **scores).about("linear, hinge")
        for one in found.results.values():
            for difference in (one.difference, one.behind_best, one.above_constant, one.above_subject):
                if difference.is_tested:
                    assert (difference.low > 0.0 or difference.high < 0.0) == (difference.p_holm < 0.05)
                    shown, claims = shown + 1, claims | {difference.p_holm < 0.05}
    assert shown == 80
    assert claims == {True, False}


def test_a_frame_and_html_for_notebooks():
    found = replace(compare_scores(**SCORES), warnings=("<script>",))
    frame = found.to_frame()
    assert frame["model"].tolist() == ["trivial", "linear", "boosting", "ensemble"]
    assert frame["mean"].tolist() == pytest.approx([0.2, 0.6, 0.7, 0.65])
    html = found._repr_html_()
    assert html.startswith(f"<p><b>{found.verdict.headline}</b></p>")
    assert "<td>0.65</td>" in html
    assert "Warning: &lt;script&gt;" in html
    assert "<script>" not in html
