"""report.html in a real browser: it draws, says what is pointed at, zooms, fits, and can be used without a mouse."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.selenium import Axe  # type: ignore[import-untyped]
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.analysis.selection import select
from harness.browser.chrome import FLAGS
from harness.browser.program import find_browser
from harness.files.results import read_results
from harness.show.report import write_report
from tests.support.report_folder import EVIL, make_report_folder

pytestmark = pytest.mark.chrome
WIDTHS = (1280, 390)
FIRST, EVILS = "chart-waterfall-1-20", "chart-waterfall-2-20"
MOST_TABS = 120


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    results = read_results(make_report_folder(directory / "client"))
    return write_report(results, select(results, "load"), directory / "report.html")


@pytest.fixture(scope="module")
def driver(report: Path) -> Iterator[webdriver.Chrome]:
    browser, work = find_browser(), Path(tempfile.mkdtemp(prefix="tfo-lab-test-"))
    options = Options()
    options.binary_location = browser.binary
    for flag in (*FLAGS, "--no-sandbox", f"--user-data-dir={work / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8"}
    driver = webdriver.Chrome(options, Service(browser.driver, env=environment, log_output=subprocess.DEVNULL))
    try:
        driver.get(report.as_uri())                                         # starts what processes Chrome needs for it
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(work, ignore_errors=True)


def open_report(driver: webdriver.Chrome, report: Path, width: int = 1280, scheme: str = "light") -> None:
    """Show the report afresh and have every visible chart drawn."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    set_scheme(driver, scheme)
    driver.get(report.as_uri())
    for plot in driver.find_elements(By.CSS_SELECTOR, ".plot"):
        if plot.is_displayed():
            scroll_to(driver, plot.get_attribute("id"))
            wait_for(partial(plot.find_elements, By.CSS_SELECTOR, ".xaxislayer-above text"))


def set_scheme(driver: webdriver.Chrome, scheme: str) -> None:
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def scroll_to(driver: webdriver.Chrome, name: str | None) -> None:
    driver.execute_script("document.getElementById(arguments[0]).scrollIntoView({block: 'start'})", name)


def wait_for(ready: Callable[[], Any], patience_s: float = 10) -> Any:
    deadline_s = time.monotonic() + patience_s
    while not (found := ready()):
        assert time.monotonic() < deadline_s, "it never came"
        time.sleep(0.02)
    return found


def x_range(driver: webdriver.Chrome, name: str) -> list[float]:
    found: list[float] = driver.execute_script(
        "return document.getElementById(arguments[0]).layout.xaxis.range.slice()", name)
    return found


def button(driver: webdriver.Chrome, name: str, text: str) -> Any:
    chart = driver.find_element(By.ID, name).find_element(By.XPATH, "..")
    return next(element for element in chart.find_elements(By.TAG_NAME, "button") if element.text == text)


def readout(driver: webdriver.Chrome, name: str) -> str:
    return str(driver.find_element(By.XPATH, f"//div[@id='{name}']/../p[contains(@class, 'readout')]").text)


def test_it_draws_without_an_error_and_without_a_network(driver: webdriver.Chrome, report: Path) -> None:
    for log in ("browser", "performance"):
        driver.get_log(log)                                                 # what came before is not the report's
    open_report(driver, report)
    assert driver.get_log("browser") == []
    asked = [message["params"]["request"]["url"] for entry in driver.get_log("performance")
             if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"]
    assert asked == [report.as_uri()]
    bars = driver.execute_script("return document.querySelectorAll(arguments[0]).length", f"#{FIRST} .bars .point")
    assert bars > 100
    assert driver.execute_script("return window.pwned === undefined && !document.querySelector('img, b')")
    drawn = driver.execute_script("return [...document.querySelectorAll('.plot')]"
                                  ".filter((plot) => plot.querySelector('.main-svg')).map((plot) => plot.id)")
    assert drawn == ["chart-improvement", FIRST, "chart-breakdown-page-1", EVILS]


def test_pointing_at_a_request_says_what_it_is(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    scroll_to(driver, EVILS)
    connect_off = f"#{EVILS} .bars:nth-of-type(3) .point:nth-of-type(2) path"     # after blocked, off and on
    bar = driver.find_element(By.CSS_SELECTOR, connect_off)
    ActionChains(driver).move_to_element(bar).perform()
    label = wait_for(lambda: driver.find_elements(By.CSS_SELECTOR, f"#{EVILS} .hoverlayer .hovertext"))[0]
    words = label.get_attribute("textContent")
    assert "TFO off: 238 to 288 ms (50 ms)" in words
    assert "blocked 1, connect 20, tls 10, wait 15, receive 4 ms" in words
    assert "status 200 <b>OK</b>, 7 bytes, connection <u>1</u>" in words    # as text, not as bold type
    assert "</script>" in words
    read = readout(driver, EVILS)
    assert read.startswith(f"Request 2 of 5: {EVIL}/1\nTFO off: 238 to 288 ms")
    assert "\nTFO on: " in read
    assert driver.execute_script("return window.pwned === undefined")


def test_requests_without_their_recorded_answer_are_marked(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    scroll_to(driver, EVILS)
    traces = driver.execute_script(
        f"return document.getElementById('{EVILS}').data.filter((trace) => trace.mode === 'markers')"
        ".map((trace) => [trace.name, trace.x.length])")
    assert traces == [["answered by a stand-in", 2], ["failed", 2]]         # of the loads with TFO off and on
    bar = driver.find_element(By.CSS_SELECTOR, f"#{EVILS} .bars:nth-of-type(3) .point:nth-of-type(2) path")
    ActionChains(driver).move_to_element(bar).perform()
    wait_for(lambda: driver.find_elements(By.CSS_SELECTOR, f"#{EVILS} .hoverlayer .hovertext"))
    assert "answered by a stand-in" in readout(driver, EVILS)


def test_dragging_zooms_and_a_double_click_goes_back(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    scroll_to(driver, FIRST)
    whole = x_range(driver, FIRST)
    area = driver.find_element(By.CSS_SELECTOR, f"#{FIRST} .nsewdrag")
    ActionChains(driver).move_to_element_with_offset(area, -200, -60).click_and_hold().move_by_offset(300, 90) \
        .release().perform()
    start, end = wait_for(lambda: x_range(driver, FIRST) != whole and x_range(driver, FIRST))
    assert whole[0] < start < end < whole[1]
    time.sleep(0.4)                                                         # else the drag's end is the first click

    def is_whole_after_a_double_click() -> bool:
        """Plotly waits half a second for the second click: a busy browser may need another try."""
        ActionChains(driver).move_to_element(area).double_click().perform()
        time.sleep(0.6)
        return x_range(driver, FIRST) == whole

    wait_for(is_whole_after_a_double_click)


def test_buttons_zoom_and_step(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report, width=390)
    whole = x_range(driver, FIRST)
    button(driver, FIRST, "Zoom in").click()
    start, end = x_range(driver, FIRST)
    assert end - start == pytest.approx((whole[1] - whole[0]) / 2)
    button(driver, FIRST, "Later").click()
    assert x_range(driver, FIRST)[0] == pytest.approx(start + (end - start) / 2)
    button(driver, FIRST, "Whole load").click()
    assert x_range(driver, FIRST) == pytest.approx(whole)
    for text in ("Zoom in", "Later", "Later"):
        button(driver, FIRST, text).click()
    button(driver, FIRST, "Next request").click()
    assert readout(driver, FIRST).startswith("Request 1 of 29: http://en.wikipedia.org/wiki/Transmission_Control_Protocol")
    assert x_range(driver, FIRST) == pytest.approx(whole)                   # it was out of sight
    button(driver, FIRST, "Previous request").click()
    assert readout(driver, FIRST).startswith("Request 29 of 29: ")


def test_choosing_the_load_and_the_rtt(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    count = "return document.querySelectorAll(arguments[0]).length"
    both = driver.execute_script(count, f"#{FIRST} .bars .point")
    driver.find_element(By.XPATH, f"//div[@id='{FIRST}']/..//label[.='TFO on']/input").click()
    assert 0 < driver.execute_script(count, f"#{FIRST} .bars .point") < both
    other = driver.find_element(By.ID, "chart-waterfall-1-100")
    assert not other.is_displayed()
    driver.find_element(By.XPATH, "//section[@id='page-1']//label[.='100 ms']/input").click()
    assert other.is_displayed()
    assert not driver.find_element(By.ID, FIRST).is_displayed()
    scroll_to(driver, "chart-waterfall-1-100")
    wait_for(lambda: other.find_elements(By.CSS_SELECTOR, ".bars .point"))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_no_wider_than_the_screen(width: int, driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report, width)
    driver.execute_script("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    wide = driver.execute_script("return [...document.querySelectorAll('.plot svg, .controls, p, li, h3')]"
                                 ".filter((element) => element.getBoundingClientRect().right > innerWidth).length")
    assert wide == 0


def test_dark_mode_and_paper(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    colours = "return [getComputedStyle(document.body).backgroundColor, " \
              "document.querySelector('#chart-improvement .xtitle').style.fill, " \
              "document.querySelector('#chart-waterfall-1-20 .bars path').style.fill]"
    light = driver.execute_script(colours)
    set_scheme(driver, "dark")                                              # while it is open
    dark = wait_for(lambda: driver.execute_script(colours)[1] != light[1] and driver.execute_script(colours))
    assert all(before != after for before, after in zip(light, dark, strict=True))
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert driver.execute_script(colours) == light                          # no dark ink saved, no white text on paper
    assert driver.execute_script(f"return document.querySelector('#{FIRST} .main-svg').clientWidth") == 680
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert driver.execute_script(colours) == dark
    open_report(driver, report, scheme="dark")                              # and from the start
    assert driver.execute_script(colours) == dark


def test_the_tab_key_reaches_everything(driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report)
    driver.execute_script("scrollTo(0, 0)")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    described = "const element = document.activeElement, style = getComputedStyle(element);" \
                "return [element.tagName, " \
                "element.getAttribute('aria-label') || (element.labels?.[0] || element).textContent, " \
                "style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1, " \
                "element.getBoundingClientRect().left >= 0]"
    reached = []
    for _ in range(MOST_TABS):
        reached.append(driver.execute_script(described))
        ActionChains(driver).send_keys(Keys.TAB).perform()
        if driver.execute_script("return document.activeElement === document.body"):
            break
    names = [(tag, name) for tag, name, *_ in reached]
    assert names[0] == ("A", "Skip to the results")
    for wanted in (("A", "Environment"), ("INPUT", "20 ms"), ("INPUT", "both"), ("BUTTON", "Zoom in"),
                   ("BUTTON", "Next request"), ("SUMMARY", "The requests as a table"),
                   ("DIV", "Page load time (PLT), without and with TFO")):
        assert wanted in names, wanted
    assert [name for _, name, outlined, on_screen in reached if not (outlined and on_screen)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, driver: webdriver.Chrome, report: Path) -> None:
    open_report(driver, report, scheme=scheme)
    driver.execute_script("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    driver.set_script_timeout(90)       # axe looks at every element: 30 s are too few beside other tests
    found = Axe().run(driver)
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]] == []
    assert "color-contrast" in [rule["id"] for rule in found["passes"]]
