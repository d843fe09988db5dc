"""The page in a real browser: no error, no request, every figure there, from a telephone to a sheet of paper."""

import base64
import json
import shutil
from dataclasses import replace

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from metricfit.estimators import MetricClassifier
from metricfit.report import page
from metricfit.report._shown import model_colours, shown_lines
from tests.report.conftest import RUN, data

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SECTIONS = (
    "comparison",
    "importance",
    "confusion",
    "threshold",
    "training",
    "classes",
    "reliability",
    "contenders",
    "run",
)
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


def open_page(browser, path, width=1100, dark=False):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("performance")
    browser.get(path.as_uri())


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("name", ["two", "four", "many"])
def test_the_page_opens(browser, pages, name, width):
    open_page(browser, pages / f"{name}.html", width)
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    asked = [
        params["request"]["url"] for params in sent if params["documentURL"].startswith("file://")
    ]  # not the browser's own
    assert all(url.startswith(("file://", "data:")) for url in asked)
    assert len([url for url in asked if url.startswith("file://")]) == 1
    for section in SECTIONS:
        assert browser.find_element(By.ID, section).is_displayed()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("name", "n_figures"), [("two", 1 + 1 + 1 + 4 * 4 + 1), ("four", None), ("many", None)])
def test_every_figure_is_drawn(browser, pages, name, n_figures):
    open_page(browser, pages / f"{name}.html", 390)
    figures = browser.find_elements(By.CSS_SELECTOR, "figure svg")
    assert len(figures) == n_figures if n_figures else len(figures) >= 3
    for figure in figures:
        assert figure.size["width"] > 250
        assert figure.size["height"] > 60
        assert figure.get_attribute("aria-label")
        drawn = figure.find_elements(By.CSS_SELECTOR, "polyline, circle")
        assert drawn
        assert "nan" not in figure.get_attribute("innerHTML").lower()
    letters = browser.execute_script(
        "return [...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
    )
    assert min(letters) >= 9.0  # still readable on a telephone


def test_nothing_is_drawn_outside_its_figure(browser, pages):
    open_page(browser, pages / "four.html")
    outside = browser.execute_script(
        """return [...document.querySelectorAll('svg')].filter(svg => {
             const box = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('polyline, circle, .whisker')].some(part => {
               const own = part.getBoundingClientRect();
               return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || own.bottom > box.bottom + 1;
             });
           }).map(svg => svg.getAttribute('aria-label'))"""
    )
    assert outside == []


def test_names_are_text_and_never_html(browser, pages):
    open_page(browser, pages / "four.html")
    assert browser.find_elements(By.CSS_SELECTOR, "main script, main b b, main u") == []
    text = browser.find_element(By.TAG_NAME, "main").text
    assert "<script>alert(1)</script>" in text
    assert "data <b>.csv" in text
    assert "a & b" in text
    assert "<u>mine</u>" in text
    assert "GaussianNB" in text
    assert "<u>a</u>" in text
    assert "b & c" in text


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
    assert len(printed) > 20_000


def test_the_verdict_comes_first(browser, pages, two):
    open_page(browser, pages / "two.html", 390)
    model, method = browser.find_elements(By.CLASS_NAME, "verdict")
    assert model.text == f"Which model?\n{two.verdict.about_model}"
    assert method.text == f"Which method?\n{two.verdict.about_method}"
    assert two.verdict.answer in method.get_attribute("class").split()
    assert model.location["y"] < 300


def test_the_best_and_the_simplest_are_marked_in_words(browser, pages, two):
    open_page(browser, pages / "two.html")
    rows = browser.find_elements(By.CSS_SELECTOR, ".contenders tbody tr")
    assert len(rows) == len(two.results)
    lines = {" ".join(row.text.split()[:2]).replace(" ", ", "): row.text for row in rows}
    assert list(lines) == list(two.results)
    assert "best" in lines[two.verdict.best]
    assert "reference" in lines["linear, threshold"]
    labels = [text.text for text in browser.find_elements(By.CSS_SELECTOR, "#comparison svg text.label")]
    assert [label for label in labels if label.startswith(two.verdict.best) and label.endswith("best")]
    if two.verdict.simplest != two.verdict.best:
        assert "simplest as good" in lines[two.verdict.simplest]


def test_the_table_of_contenders_fits_a_wide_window(browser, pages):
    open_page(browser, pages / "two.html", 1200)
    table = "const box = document.querySelector('.contenders').parentElement; return box.scrollWidth - box.clientWidth"
    assert browser.execute_script(table) <= 1


def test_importance_names_the_columns_and_says_what_is_not_shown(browser, pages, four):
    open_page(browser, pages / "many.html")
    text = browser.find_element(By.ID, "importance").text
    assert "Permutation importance for linear, auto" in text
    assert "Every split shuffles each column once, on at most 1,000 of its rows." in text
    assert "5 more columns are not shown; the largest mean of these is" in text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#importance tbody tr")) == 15
    assert len(browser.find_elements(By.CSS_SELECTOR, "#importance figure circle")) == 15
    open_page(browser, pages / "two.html")
    heads = [head.text for head in browser.find_elements(By.CSS_SELECTOR, "#importance th")]
    assert sorted(heads[1:]) == ["boosting, threshold", "ensemble, threshold", "linear, auto"]
    assert "not shown" not in browser.find_element(By.ID, "importance").text


def test_a_model_in_the_folder_is_explained_rather_than_the_best(two, pages):
    """Importance of the linear model, also where another model is the choice."""
    linear = MetricClassifier("f1", model="linear", method="threshold", random_state=0).fit(*data(2))
    text = page(two, RUN, linear)
    assert "The model in this folder is <b>linear</b> by the method <b>threshold</b>, fitted to all rows." in text
    assert "Permutation importance for linear, auto" in text


def test_without_importance_the_page_says_how_to_get_it(two):
    results = {name: replace(result, importance=None) for name, result in two.results.items()}
    assert "<code>importance=True</code>" in page(replace(two, results=results), RUN)


def test_the_reference_alone_can_be_drawn(two):
    """No contender but a constant answer and the reference: nothing is compared with itself."""
    names = ("trivial, constant", "linear, threshold")
    alone = replace(two, results={name: two.results[name] for name in names})
    assert [line.name for line in shown_lines(alone)] == ["linear, threshold"]
    assert "Which model and which method" in page(alone, RUN)


def test_lines_of_one_model_have_two_colours(two):
    linear = replace(two, results={name: result for name, result in two.results.items() if not name.startswith(("bo", "en"))})
    lines = {line.name: line for line in shown_lines(linear)}
    choice = lines[linear.choice.contender.name]
    assert choice.colour != lines["linear, threshold"].colour
    plain = lines["linear, cross_entropy"]
    assert plain.hollow or plain is choice
    models = model_colours(two)
    assert len(set(models.values())) == len(models) == 4


def test_own_models_have_colours_of_their_own(four):
    colours = model_colours(four)
    assert list(colours) == ["trivial", "linear", "boosting", "<u>mine</u>", "ensemble"]
    assert len(set(colours.values())) == 5
