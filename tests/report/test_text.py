"""The text of the page, without a browser: which contender it is about, costs, colours, and what is left out."""

import re
from dataclasses import replace

import numpy as np

from metricfit.estimators import MetricClassifier
from metricfit.metrics import Cost
from metricfit.report import page
from metricfit.report._figures import decision_figure, reliability_figure
from metricfit.report._strips import forest, importance
from metricfit.report._thresholds import review
from metricfit.report._words import MINUS, compared_lines, contender_colours, line_of, model_colours, plain_line
from tests.report.conftest import RUN, data
from tests.report.test_parts import untested


def test_without_importance_the_page_says_how_to_get_it(two):
    results = {name: replace(result, importance=None) for name, result in two.results.items()}
    assert "<code>importance=True</code>" in page(replace(two, results=results), RUN)


def test_models_have_colours_and_a_plain_variant_is_hollow(two):
    linear = replace(two, results={name: result for name, result in two.results.items() if not name.startswith(("bo", "en"))})
    plain = plain_line(linear)
    assert plain.hollow if plain is not None else linear.choice.contender.name == "linear, cross_entropy"
    models = model_colours(two)
    assert len(set(models.values())) == len(models) == 4


def test_own_models_have_colours_of_their_own(four):
    colours = model_colours(four)
    assert list(colours) == ["trivial", "linear", "boosting", "<u>mine</u>", "ensemble"]
    assert len(set(colours.values())) == 5


def test_the_file_is_small(pages):
    assert max(len(path.read_bytes()) for path in pages.glob("*.html")) < 300_000


def test_the_constant_answer_is_named(two):
    assert "always &#39;&lt;b&gt;1&lt;/b&gt;&#39;" in page(
        replace(two, classes=np.array(["0", "<b>1</b>"]), positive="<b>1</b>"), RUN
    )


def test_probabilities_are_of_the_positive_class(two):
    assert "threshold on the probability of 0" in page(replace(two, positive=0), RUN)
    assert "threshold on the probability of 1" in page(two, RUN)


def section(text, name):
    return re.search(f'<section id="{name}".*?</section>', text, re.DOTALL).group()


def test_a_cost_is_a_positive_number_and_a_gain_is_a_saving(two):
    costly = replace(two, metric="minus cost", measure=Cost([[0.0, 1.0], [5.0, 0.0]]))
    means = {name: replace(one, estimate=replace(one.estimate, mean=-0.56)) for name, one in two.results.items()}
    text = page(replace(costly, results=means), RUN)
    for name in ("comparison", "gain", "review", "importance", "threshold"):
        assert "minus cost" not in section(text, name)
        assert f"{MINUS}0.56" not in section(text, name)
    assert '<td class="score">0.5600</td>' in section(text, "comparison")
    assert "The dot is the mean saving per case, compared with" in section(text, "comparison")
    assert "<b>0.5600</b>" in section(text, "summary")
    assert costly.metric_words.sentence(-0.56) == "cost 0.56 per case"
    assert section(text, "comparison").count("<th>saving vs") == 2
    assert "<th>saving vs" not in section(page(two, RUN), "comparison")


def test_a_page_says_which_rows_a_score_is_of(two):
    """The issue: three values of F1 for one contender in one report."""
    text, said = page(two, RUN), f"The scores of the comparison are means over {len(two.reference.scores)} splits."
    for name, of in (
        ("review", "on all held-out rows at once, each predicted once."),
        ("threshold", "on all held-out rows at once."),
    ):
        assert of in section(text, name)
        assert said in section(text, name)
    assert "means over" not in section(page(replace(two, is_test_set=True), RUN), "review")


def test_a_page_has_shares_in_percent_and_says_what_a_p_value_is_corrected_for(two):
    text = page(two, RUN)
    chosen = review(two)["about"].chosen
    low, high = chosen.precision_interval
    shown = f'{100 * chosen.precision:.1f} % <span class="soft">({100 * low:.1f} to {100 * high:.1f} %)</span> are right'
    assert shown in section(text, "review")
    assert "so the same pair can have two p-values" in section(text, "comparison")


def test_without_a_verdict_on_methods_there_is_no_empty_card(two):
    assert "Which method?" in page(two, RUN)
    text = page(untested(two), RUN)
    assert untested(two).verdict.about_method == ""
    assert "Which model?" in text
    assert "Which method?" not in text


def test_a_contender_has_one_colour_in_all_figures(two):
    """Also where it is of the model of the reference: the main figure had another colour for it than the curves."""
    linear = replace(two, results={name: result for name, result in two.results.items() if not name.startswith(("bo", "en"))})
    for comparison in (two, linear):
        colours, choice = contender_colours(comparison), comparison.choice.contender.name
        assert colours[choice] != colours["linear, threshold"]
        assert {row["name"]: row["colour"] for row in forest(comparison)["rows"]} == colours
        assert line_of(comparison, comparison.choice).colour == colours[choice]
        assert {line.name: line.colour for line in compared_lines(comparison)}.items() <= colours.items()
        legends = [*decision_figure(comparison)[1], *reliability_figure(comparison)[1], *review(comparison)["legend"]]
        assert {colour for colour, _, name in legends if name.startswith(choice)} == {colours[choice]}
        used = importance(comparison, None)
        assert f'class="dot c{colours[used["name"]]}"' in used["rows"][0]["strip"]
    assert forest(linear)["colours"][choice] == colours[choice]


def test_the_page_of_a_fit_is_about_the_fitted_model(two):
    linear = MetricClassifier("f1", model="linear", method="threshold", random_state=0).fit(*data(2))
    other = next(
        name for name in two.results if name not in (two.best.contender.name, "trivial, constant", "linear, threshold")
    )
    text = page(two.about(other), RUN, linear)
    card = f"<span>This model</span><b>{two.results[other].estimate.mean:.4f}</b><span>{other}</span>"
    assert card in section(text, "summary")
    assert f"This model, <b>{other}</b>, compared with" in section(text, "gain")
    assert "On held-out rows, this model flags" in section(text, "review")
    assert "The model in this folder is <b>linear</b> by the method <b>threshold</b>, fitted to all rows." in text
    assert "Permutation importance for linear, auto" in text  # of the fitted model, whatever is the best
