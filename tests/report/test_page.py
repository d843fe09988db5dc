"""The page in a real browser: no error, no request, every figure there, from a telephone to a sheet of paper."""

import base64
import json
import shutil
from dataclasses import replace

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from metricfit.report import page
from metricfit.report._words import DASH
from tests.report.conftest import RUN
from tests.report.test_parts import untested

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
OPEN = ("comparison", "summary", "gain", "confusion", "importance", "data")
FOLDED = ("threshold", "reliability", "training", "contenders", "run")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def open_page(browser, path, width=1100, dark=False, unfold=False):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("performance")
    browser.get(path.as_uri())
    if unfold:
        browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")


def is_visible(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).checkVisibility()", name)


@pytest.mark.parametrize("name", ["two", "four", "many"])
def test_the_page_opens(browser, pages, name):
    open_page(browser, pages / f"{name}.html")
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    asked = [
        params["request"]["url"] for params in sent if params["documentURL"].startswith("file://")
    ]  # not the browser's own
    assert all(url.startswith(("file://", "data:")) for url in asked)
    assert len([url for url in asked if url.startswith("file://")]) == 1
    assert [section for section in OPEN if not is_visible(browser, section)] == []
    assert [section for section in FOLDED if is_visible(browser, section)] == []
    linked = [link.get_attribute("href").split("#")[1] for link in browser.find_elements(By.CSS_SELECTOR, "nav a")]
    assert {*OPEN, *FOLDED, "classes"} <= set(linked)
    assert all(browser.find_elements(By.ID, name) for name in linked)


@pytest.mark.parametrize("width", [1200, 500, 390])
@pytest.mark.parametrize("name", ["two", "four", "many"])
def test_nothing_is_cut_off(browser, pages, name, width):
    """The page does not scroll sideways, folded or not. What is wider than its panel scrolls in a box of its own."""
    for unfold in (False, True):
        open_page(browser, pages / f"{name}.html", width, unfold=unfold)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    beyond = browser.execute_script(
        """return [...document.querySelectorAll('main *')].filter(one => !one.closest('.wide, nav, svg')
             && one.getBoundingClientRect().right > innerWidth + 0.5).map(one => one.outerHTML.slice(0, 80))"""
    )
    assert beyond == []


def test_a_link_unfolds_what_it_leads_to(browser, pages):
    open_page(browser, pages / "two.html")
    browser.find_element(By.CSS_SELECTOR, "nav a[href='#training']").click()
    assert is_visible(browser, "training")
    assert not is_visible(browser, "run")


@pytest.mark.parametrize(("name", "n_figures"), [("two", 2 + 1 + 4 * 2 + 1), ("four", None), ("many", None)])
def test_every_figure_is_drawn(browser, pages, name, n_figures):
    open_page(browser, pages / f"{name}.html", 390, unfold=True)
    figures = browser.find_elements(By.CSS_SELECTOR, "figure svg.chart")
    assert len(figures) == n_figures if n_figures else len(figures) >= 2
    for figure in figures:
        assert figure.size["width"] > 250
        assert figure.size["height"] > 60
        assert figure.get_attribute("aria-label")
        drawn = figure.find_elements(By.CSS_SELECTOR, "polyline, circle")
        assert drawn
        assert "nan" not in figure.get_attribute("innerHTML").lower()
    letters = browser.execute_script(
        "return [...document.querySelectorAll('svg text:not([transform])')].map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
    )
    assert min(letters) >= 9.0  # still readable on a telephone
    assert len(browser.find_elements(By.CSS_SELECTOR, "figure svg.map")) == (2 if name == "many" else 0)
    strips = "return [...document.querySelectorAll('svg.strip')].map(s => [s.clientWidth, s.clientHeight, s.innerHTML])"
    for wide, high, drawn in browser.execute_script(strips):
        assert wide > 200
        assert high > 15
        assert "nan" not in drawn.lower()


def test_nothing_is_drawn_outside_its_figure(browser, pages):
    open_page(browser, pages / "four.html", unfold=True)
    outside = browser.execute_script(
        """return [...document.querySelectorAll('svg[role]')].filter(svg => {
             const box = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('polyline, circle, .whisker')].some(part => {
               const own = part.getBoundingClientRect();
               return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || own.bottom > box.bottom + 1;
             });
           }).map(svg => svg.getAttribute('aria-label'))"""
    )
    assert outside == []


def test_names_are_text_and_never_html(browser, pages):
    open_page(browser, pages / "four.html", unfold=True)
    assert browser.find_elements(By.CSS_SELECTOR, "script, main b b, main u") == []
    text = browser.find_element(By.TAG_NAME, "main").text
    assert "<script>alert(1)</script>" in text
    assert "data <b>.csv" in text
    assert "a & b" in text
    assert "<u>mine</u>" in text
    assert "GaussianNB" in text
    assert "<u>a</u>" in text
    assert "b & c" in text
    assert "bell \\x07 and turn \\u202e" in text
    assert not set(text) & set("\x07\u202e")


def test_dark_and_light_differ_and_both_can_be_read(browser, pages):
    grounds = []
    for dark in (False, True):
        open_page(browser, pages / "two.html", dark=dark)
        style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        ground, ink = (sum(map(int, colour[4:-1].split(","))) for colour in browser.execute_script(style))
        assert abs(ground - ink) > 450
        grounds.append(ground)
    assert grounds[0] > 600 > 200 > grounds[1]


def test_it_prints(browser, pages):
    open_page(browser, pages / "four.html")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert [section for section in FOLDED if not is_visible(browser, section)] == []  # on paper nothing is folded
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_verdict_comes_first(browser, pages, two):
    open_page(browser, pages / "two.html", 390)
    largest = browser.find_element(By.TAG_NAME, "h1")
    assert largest.text == two.verdict.headline
    assert largest.location["y"] < 100
    model, method = browser.find_elements(By.CLASS_NAME, "verdict")
    assert model.text == f"Which model?\n{two.verdict.about_model}"
    assert method.text == f"Which method?\n{two.verdict.about_method}"
    assert two.verdict.answer in method.get_attribute("class").split()
    cards = [card.text.splitlines() for card in browser.find_elements(By.CLASS_NAME, "card")]
    assert [card[0] for card in cards] == ["Best", "Reference", "Constant answer", "Rows", "Scores per contender"]
    assert cards[0][1:] == [f"{two.best.estimate.mean:.4f}", two.best.contender.name]
    assert cards[3][1:] == ["400", "6 columns, 2 classes"]
    assert cards[4][1:] == ["5", "5-fold cross-validation, 1 repeat"]


def test_the_best_and_the_recommended_are_marked_in_words(browser, pages, two):
    open_page(browser, pages / "two.html", unfold=True)
    rows = browser.find_elements(By.CSS_SELECTOR, ".contenders tbody tr")
    assert len(rows) == len(two.results)
    lines = {" ".join(row.text.split()[:2]).replace(" ", ", "): row.text for row in rows}
    assert list(lines) == list(two.results)
    assert "best" in lines[two.verdict.best]
    assert "reference" in lines["linear, threshold"]
    labels = [name.text for name in browser.find_elements(By.CSS_SELECTOR, ".forest .name")]
    assert [label for label in labels if label.startswith(two.verdict.best) and "best" in label]
    assert "recommended" in lines[two.verdict.recommended]


def test_the_table_of_contenders_fits_a_wide_window(browser, pages):
    open_page(browser, pages / "two.html", 1200, unfold=True)
    table = "const box = document.querySelector('.contenders').parentElement; return box.scrollWidth - box.clientWidth"
    assert browser.execute_script(table) <= 1


def test_importance_names_the_columns_and_says_what_is_not_shown(browser, pages, four):
    open_page(browser, pages / "many.html", unfold=True)
    text = browser.find_element(By.ID, "importance").text
    assert "Permutation importance for linear, auto" in text
    assert "Every split shuffles each column once, on at most 1,000 of its rows." in text
    assert "5 more columns are not shown; the largest mean of these is" in text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#importance tbody tr")) == 15
    assert len(browser.find_elements(By.CSS_SELECTOR, "#importance figure circle")) == 15
    open_page(browser, pages / "two.html", unfold=True)
    heads = [head.text for head in browser.find_elements(By.CSS_SELECTOR, "#importance details th")]
    assert sorted(heads[1:]) == ["boosting, threshold", "ensemble, threshold", "linear, auto"]
    assert "not shown" not in browser.find_element(By.ID, "importance").text


def test_what_may_mislead_stands_above_the_picture_and_what_was_decided_below(browser, pages):
    open_page(browser, pages / "four.html")
    warnings = browser.find_element(By.TAG_NAME, "header").find_element(By.CLASS_NAME, "warnings").text
    assert "<b>A warning</b> of the comparison." in warnings
    assert "1 warning about the data" in warnings
    decided = browser.find_element(By.CSS_SELECTOR, "#summary .decided").text
    assert "Order of the classes\nplain < a & b" in decided
    assert "A note." in decided
    open_page(browser, pages / "two.html")
    assert browser.find_elements(By.CSS_SELECTOR, ".warnings, .decided") == []


def test_the_data_are_described(browser, pages):
    open_page(browser, pages / "four.html")
    section = browser.find_element(By.ID, "data")
    assert "A warning of the <i>profile</i>." in section.text
    assert "7 rows equal an earlier row in all columns." in section.text
    first = section.find_elements(By.CSS_SELECTOR, ".columns tbody tr")[0].text
    assert "<u>a</u>" in first
    assert "It is odd." in first
    assert len(section.find_elements(By.CSS_SELECTOR, ".columns tbody tr")) == 6
    assert len(section.find_elements(By.CSS_SELECTOR, ".sizes tr")) == 4
    open_page(browser, pages / "two.html")
    assert browser.find_elements(By.CLASS_NAME, "columns") == []


def test_effects_say_towards_which_class(browser, pages):
    open_page(browser, pages / "four.html")
    section = browser.find_element(By.ID, "effects").text
    assert "What pushes the linear model towards a class" in section
    assert "b & c = <u>" in section
    open_page(browser, pages / "many.html")
    assert browser.find_elements(By.ID, "effects") == []


def test_many_classes_are_a_picture_and_few_are_numbers(browser, pages, four):
    open_page(browser, pages / "many.html")
    pictures = browser.find_elements(By.CSS_SELECTOR, "#confusion svg.map")
    assert len(pictures) == 2
    assert len(pictures[0].find_elements(By.TAG_NAME, "text")) == 2 * 16
    assert 1 <= len(browser.find_elements(By.CSS_SELECTOR, ".confusions tbody tr")) <= 20
    assert "75 % and more" in browser.find_element(By.ID, "confusion").text
    open_page(browser, pages / "four.html")
    first = browser.find_element(By.CLASS_NAME, "matrix").find_elements(By.TAG_NAME, "td")
    assert [int(cell.text) for cell in first] == four.confusion(four.reference).ravel().astype(int).tolist()


def test_too_few_scores_have_dashes_instead_of_intervals(browser, two, tmp_path):
    (tmp_path / "few.html").write_text(page(untested(two), RUN), encoding="utf-8")
    open_page(browser, tmp_path / "few.html", unfold=True)
    text = browser.find_element(By.ID, "comparison").text
    assert "too few scores for intervals and p-values" in text
    assert "inf" not in text
    assert "nan" not in text
    assert {cell.text for cell in browser.find_elements(By.CSS_SELECTOR, ".forest .interval, .forest .p")} == {DASH}


@pytest.mark.parametrize("width", [1200, 820, 390])
def test_a_long_name_of_a_metric_stays_inside(browser, two, tmp_path, width):
    """Before, it pushed "p (Holm)" out of its panel."""
    long = "FBeta(beta=(1.0, 1.0, 0.25, 2.0), average='macro', positive='a customer')" + "x" * 50
    (tmp_path / "long.html").write_text(page(replace(two, metric=long), RUN), encoding="utf-8")
    open_page(browser, tmp_path / "long.html", width, unfold=True)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    outside = browser.execute_script(
        """return [...document.querySelectorAll('.panel, .card, .step, .verdict')].flatMap(box =>
             [...box.querySelectorAll('*')].filter(one => !one.closest('.wide, svg')
               && one.getBoundingClientRect().right > box.getBoundingClientRect().right + 0.5)).map(one => one.outerHTML.slice(0, 80))"""
    )
    assert outside == []


def test_figures_and_tables_can_be_heard(browser, pages):
    """Every figure has a title, and every table has headers."""
    for name in ("two", "four", "many"):
        open_page(browser, pages / f"{name}.html", unfold=True)
        without = "return [...document.querySelectorAll(arguments[0])].filter(one => !one.querySelector(arguments[1])).length"
        assert browser.execute_script(without, "svg[role=img]", "title") == 0
        assert browser.execute_script(without, "table", "th") == 0
        assert browser.execute_script(without, "#review svg.chart", "desc") == 0
