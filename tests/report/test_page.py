"""The page in a real browser: no error, no request, every figure there, from a telephone to a sheet of paper."""

import base64
import json
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SECTIONS = ("comparison", "confusion", "threshold", "training", "classes", "reliability", "run")
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


@pytest.mark.parametrize(("name", "n_figures"), [("two", 1 + 1 + 4 * 4 + 1), ("four", None), ("many", None)])
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
    assert browser.find_elements(By.CSS_SELECTOR, "main script, main b b") == []
    text = browser.find_element(By.TAG_NAME, "main").text
    assert "<script>alert(1)</script>" in text
    assert "data <b>.csv" in text
    assert "a & b" in text


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
    verdict = browser.find_element(By.CLASS_NAME, "verdict")
    assert verdict.text == two.verdict.sentence
    assert verdict.location["y"] < 300
