"""The report of a decision rule."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.special import expit

from metricfit import DecisionRule
from metricfit.metrics import Cost
from metricfit.report import decision_page
from tests.report.conftest import NASTY, RUN
from tests.report.test_page import browser as browser
from tests.report.test_page import open_page

LEVELS = ["low", "medium", "high"]
LINES_OF_HEADS = """return [...document.querySelectorAll(".matrix thead th:not(.corner)")].map(head => {
    const range = document.createRange(); range.selectNodeContents(head); return range.getClientRects().length; })"""


@pytest.fixture(scope="module")
def two():
    random = np.random.default_rng(0)
    y = np.where(random.random(1500) < 0.15, "<fraud>", "o&k")
    return expit(1.2 * random.normal(size=1500) + 2.5 * (y == "<fraud>") - 3.0), y


@pytest.fixture(scope="module")
def four():
    random = np.random.default_rng(1)
    y = random.integers(0, 4, 1000)
    logits = random.normal(size=(1000, 4)) + np.array([0.0, 0.5, -1.0, 0.2])
    logits[np.arange(1000), y] += 1.5
    return logits, NASTY[y], NASTY


def check_html(html):
    """Names are text, and what is opened is closed."""
    assert "<script" not in html
    assert "<fraud>" not in html
    opened = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "br"):
                opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Reader().feed(html)
    assert opened == []


def plain(html):
    """The text of the page, without tags."""
    body = re.sub(r"<(style|svg).*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def numbers(text):
    return [float(word.replace(",", "").replace("\u2212", "-")) for word in re.findall(r"[+\u2212-]?[\d,]+(?:\.\d+)?", text)]


def drawn(rule, scores, y, **options):
    """The fitted rule, and its page."""
    html = decision_page(rule.fit(scores, y, **options), scores, y, RUN)
    check_html(html)
    return rule, html


def test_two_classes(two):
    rule, html = drawn(DecisionRule("mcc"), *two)
    text = plain(html)
    assert f"Maximise mcc; predict &#39;&lt;fraud&gt;&#39; where its probability is above {rule.threshold_:.4g}." in text
    assert html.count('<polygon class="band') == 1
    assert html.count('class="ring c0"') == 1
    low, high = rule.curve_.best
    assert f"{low:.3g} to {high:.3g}" in text
    assert "each decided by a rule fitted to other rows" in text


def test_changes_are_those_of_the_held_out_answers(two):
    scores, y = two
    rule, html = drawn(DecisionRule("f1"), scores, y)
    text = plain(html)
    fraud = y == "<fraud>"
    found = [1000 * (answer & fraud).mean() for answer in (rule.predicted_ == "<fraud>", scores > 0.5)]
    after, before = numbers(re.search(r"found ([\d.]+ instead of [\d.]+)", text)[1])
    assert (after, before) == pytest.approx(tuple(found), abs=0.51)
    assert after > before


def test_several_classes(four):
    scores, y, classes = four
    rule, html = drawn(DecisionRule("f1_macro", classes=list(classes)), scores, y)
    assert "threshold" not in plain(html)
    assert html.count('<table class="matrix">') == 2
    for offset in rule.offsets_:
        assert f"{offset:+.4f}".replace("-", "\u2212") in html


def test_a_limit_is_drawn_and_no_range_of_the_metric_alone(two):
    rule, html = drawn(DecisionRule("recall", subject_to="precision >= 0.5", confidence=0.9), *two)
    assert rule.attainable_
    assert html.count('class="limit c2"') == 1
    assert "about as good" not in html
    assert "With probability 0.9 over the draw of such rows" in html


def test_a_rule_that_refuses_shows_no_answers(two):
    _, html = drawn(DecisionRule("recall", subject_to="precision >= 0.999", confidence=0.9), *two)
    assert "Not attainable: the best" in html
    for absent in ('id="gain"', 'id="confusion"', 'id="classes"', "<span>Rule</span>", "<span>Threshold</span>"):
        assert absent not in html


def test_other_shares_weight_the_rows(two):
    scores, y = two
    costs = Cost({("<fraud>", "o&k"): 20.0, ("o&k", "<fraud>"): 1.0})
    rule = DecisionRule(costs).fit(scores, y).for_prevalence({"<fraud>": 0.01})
    html = decision_page(rule, scores, y, RUN)
    check_html(html)
    assert "with the shares of the classes that the rule is for" in html
    fraud, answer = y == "<fraud>", rule.predict(scores) == "<fraud>"
    cost = 1000 * (0.01 * 20.0 * (~answer[fraud]).mean() + 0.99 * answer[~fraud].mean())
    (shown,) = re.findall(r"in the unit of your costs ([\d.,]+) instead", plain(html))
    assert float(shown.replace(",", "")) == pytest.approx(cost, rel=0.01)


def test_weights_count(two):
    scores, y = two
    weight = np.where(y == "<fraud>", 3.0, 1.0)
    rule = DecisionRule("f1").fit(scores, y, weight)
    html = decision_page(rule, scores, y, RUN, weight)
    assert f"{3 * (y == '<fraud>').sum() / weight.sum() * 100:.3g} %" in html


def cells_of(html):
    """The numbers in the matrices, row by row."""
    return [
        [
            [int(cell.replace(",", "")) for cell in re.findall(r"<td[^>]*>([\d,]+)</td>", row)]
            for row in table.split("</tr>")[1:-1]
        ]
        for table in re.findall(r'<table class="matrix">(.*?)</table>', html, re.DOTALL)
    ]


def test_cases_without_an_answer_are_a_column_and_a_curve(two):
    scores, y = two
    rule, html = drawn(DecisionRule("accuracy", abstain="error <= 0.05", confidence=0.9), scores, y)
    before, after = cells_of(html)
    expected = [
        [int(((y == true) & (rule.predicted_ == answer)).sum()) for answer in ("<fraud>", "o&k", "abstain")]
        for true in rule.classes_
    ]
    assert after == expected
    assert [len(row) for row in before] == [2, 2]
    assert html.count('<td class="none') == 2
    assert html.count('class="limit c7"') == 1
    per = 1000 / len(y)
    none = sum(row[2] for row in expected) * per
    assert numbers(re.search(r"([\d+.]+) cases without an answer", plain(html))[1]) == pytest.approx([none], abs=0.51)
    assert f"{100 * rule.coverage_['coverage']:.3g} %" in html


def test_many_classes_have_the_column_in_their_picture(four):
    random = np.random.default_rng(3)
    y = random.integers(0, 15, 900)
    logits = random.normal(size=(900, 15))
    logits[np.arange(900), y] += 3.0
    rule, html = drawn(DecisionRule("accuracy", abstain_cost=0.3), logits, y)
    assert html.count('<path class="none') >= 1
    (rows,) = [int((rule.predicted_[y == 3] == -1).sum())]
    assert f"true 3, predicted no answer: {rows} rows" in html


def test_money_and_the_budget_in_words_and_per_1000(two):
    scores, y = two
    amount = np.random.default_rng(4).lognormal(3.0, 1.0, len(y))
    costs = Cost({("<fraud>", "o&k"): "amount", ("o&k", "<fraud>"): 5.0})
    rule, html = drawn(DecisionRule(costs, budget={"<fraud>": "4%"}), scores, y, costs={"amount": amount})
    right = 1000 * ((rule.predicted_ == "<fraud>") & (y == "<fraud>")).mean()
    assert "allows 40 answers “ &lt;fraud&gt;”. The rule gives 40".replace("“ ", "“") in plain(html)
    assert numbers(re.search(r"gives 40, and ([\d.]+) of them", plain(html))[1]) == pytest.approx([right], abs=0.51)
    (section,) = re.findall(r'<section id="money".*?</section>', html, re.DOTALL)
    found = [numbers(cell) for cell in re.findall(r"<td>([^<]+)</td>", section)]
    saved = rule.money_.savings[0]
    assert found[0] == pytest.approx([rule.money_.per_1000], abs=0.51)
    assert found[1][0] == pytest.approx(1000 * (rule.money_.total + saved.total) / len(y), abs=0.51)
    assert found[2][0] == pytest.approx(1000 * saved.total / len(y), abs=0.51)


def test_several_labels(four):
    logits, random = four[0][:, :3], np.random.default_rng(5)
    y = (random.random(logits.shape) < expit(2.0 * logits - 1.0)).astype(int)
    rule, html = drawn(DecisionRule("f1_samples", classes=list(NASTY[:3])), logits, y)
    found = [1000 * (answers * y).sum(1).mean() for answers in (rule.predicted_, logits > 0.0)]
    shown = numbers(re.search(r"labels found ([\d,.]+ instead of [\d,.]+)", plain(html))[1])
    assert shown == pytest.approx(found, abs=0.51)
    for threshold in rule.thresholds_:
        assert f"<td>{threshold:.3g}</td>" in html


@pytest.mark.slow  # in a browser
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_is_cut_off(browser, two, four, tmp_path, width):
    random = np.random.default_rng(2)
    y = random.integers(0, 40, 4000)
    many = random.normal(size=(4000, 40))
    many[np.arange(4000), y] += 2.0
    levels = np.array(LEVELS)[four[0][:, :3].argmax(1)]
    pages = {
        "two": (DecisionRule("mcc"), *two),
        "four": (DecisionRule("f1_macro", classes=list(four[2])), *four[:2]),
        "many": (DecisionRule("f1_macro"), many, y),
        "no answer": (DecisionRule("accuracy", abstain_cost=0.2, classes=LEVELS), four[0][:, :3], levels),
    }
    for name, (rule, scores, labels) in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(decision_page(rule.fit(scores, labels), scores, labels, RUN))
        open_page(browser, file, width, unfold=True)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, name
        assert browser.execute_script("return document.querySelector('h1').getBoundingClientRect().height") < 300
    assert browser.execute_script(LINES_OF_HEADS)[:-1] == [1] * 6  # no word is broken; the last is "no answer"
