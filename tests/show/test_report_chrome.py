"""report.html in a real browser: it draws, says what is pointed at, zooms, fits, and can be used without a mouse."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
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

from harness.browser.chrome import FLAGS
from harness.browser.program import find_browser
from harness.show.report import write_report
from tests.support.client_folder import selected
from tests.support.report_folder import EVIL, make_report_folder

pytestmark = pytest.mark.chrome
WIDTH = 390
FIRST, EVILS = "#section-3-1 .view:first-of-type .chart", "#section-3-2 .view:first-of-type .chart"
BREAKDOWN = "#section-3-1-3 .chart"
MOST_TABS = 120


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Give a Chrome that shows a report."""
    directory = tmp_path_factory.mktemp("report")
    report = write_report(selected(make_report_folder(directory / "client")), directory / "report.html")
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


def show_afresh(driver: webdriver.Chrome, width: int = 1280, scheme: str = "light", *, unfolded: bool = False) -> None:
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get(driver.current_url)
    if unfolded:
        driver.execute_script("document.querySelectorAll('details').forEach((element) => { element.open = true; })")


def press(driver: webdriver.Chrome, chart: str, text: str, times: int = 1) -> Any:
    """Press a button of a figure so often, and return what could be read after each time."""
    [found] = [button for button in driver.find_elements(By.CSS_SELECTOR, f"{chart} button") if button.text == text]
    return driver.execute_script("""
        return Array(arguments[1]).fill(arguments[0]).map((button) => {
            button.click();
            return button.closest('.chart').querySelector('.readout').innerText;
        });""", found, times)


def test_it_draws_without_an_error_and_without_a_network_and_says_what_is_pointed_at(driver: webdriver.Chrome) -> None:
    for log in ("browser", "performance"):
        driver.get_log(log)              # what came before is not the report's
    show_afresh(driver)
    assert driver.get_log("browser") == []
    asked = [message["params"]["request"]["url"] for entry in driver.get_log("performance")
             if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"]
    assert asked == [driver.current_url]
    assert len(driver.find_elements(By.CSS_SELECTOR, f"{FIRST} [data-bar]")) == 2 * 29
    drawn = driver.find_elements(By.CSS_SELECTOR, ".drawing svg")
    assert [svg.is_displayed() for svg in drawn] == [True, True, False, True, True, False, True]
    bar = driver.find_element(By.CSS_SELECTOR, f"{EVILS} [data-bar='1'] path")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    ActionChains(driver).move_to_element(bar).perform()
    read = driver.find_element(By.CSS_SELECTOR, f"{EVILS} .readout").text
    assert read.startswith(f"2. {EVIL}/1\nTFO off, Start (ms) 1000, blocked (ms) 1, dns (ms) 0, connect (ms) 20, "
                           "tls (ms) 10, ")
    assert "Status 200 <b>OK</b>, answered by a stand-in, Connection <u>1</u>" in read     # as text, not as bold type
    assert "\nTFO on, Start (ms) " in read
    assert driver.execute_script("return window.pwned === undefined && !document.querySelector('img, b')")


def test_every_bar_of_every_kind_of_figure_has_its_row(driver: webdriver.Chrome) -> None:
    """One of requests, a breakdown: one can step through all bars, and round."""
    show_afresh(driver)
    for chart, bars in ((FIRST, 29), (BREAKDOWN, 4)):
        said = press(driver, chart, "Next bar", bars + 1)
        assert (len({*said}), said[-1]) == (bars, said[0])
        assert press(driver, chart, "Previous bar") == said[-2:-1]
        assert all(any(character.isdigit() for character in words) for words in said)


def test_the_page_is_no_wider_than_a_telephone_however_large_a_figure_is(driver: webdriver.Chrome) -> None:
    show_afresh(driver, WIDTH, unfolded=True)
    size = f"return document.querySelector('{FIRST} svg').getBoundingClientRect().width"
    before = driver.execute_script(size)
    press(driver, FIRST, "Zoom in")
    assert driver.execute_script(size) == pytest.approx(2 * before, rel=0.02)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= WIDTH
    assert driver.execute_script("return [...document.querySelectorAll('.drawing, .controls, p, li, h3')]"
                                 ".every((element) => element.getBoundingClientRect().right <= innerWidth)")
    press(driver, FIRST, "Zoom out", times=2)
    assert driver.execute_script(size) == pytest.approx(before, rel=0.02)


def test_the_tab_key_reaches_everything(driver: webdriver.Chrome) -> None:
    show_afresh(driver)
    driver.execute_script("scrollTo(0, 0)")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    described = """
        const element = document.activeElement, style = getComputedStyle(element);
        return [`${element.tagName} ${element.getAttribute('aria-label') || element.textContent}`,
                style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1 &&
                element.getBoundingClientRect().left >= 0];"""
    reached: list[tuple[str, bool]] = []
    while not (found := driver.execute_script(described))[0].startswith("BODY") and len(reached) < MOST_TABS:
        reached.append(found)
        ActionChains(driver).send_keys(Keys.TAB).perform()
    names = [name for name, _ in reached]
    assert names[0] == "A Skip to the results"
    assert {"A Environment", "SUMMARY Requests at 20 ms RTT", "BUTTON Zoom in", "BUTTON Next bar",
            "SUMMARY The numbers as a table", "DIV Page load time (PLT), without and with TFO"} <= {*names}
    assert [name for name, can_be_seen in reached if not can_be_seen] == []


@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})])
def test_axe_finds_nothing(scheme: str, rules: dict[str, Any], driver: webdriver.Chrome) -> None:
    show_afresh(driver, scheme=scheme, unfolded=True)
    driver.set_script_timeout(90)       # axe looks at every element: 30 s are too few beside other tests
    the_same_again = [[".view ~ .view"], ["tbody:nth-of-type(n + 4)"]]      # at 100 ms RTT; more rows
    found = Axe().run(driver, {"exclude": the_same_again}, rules)
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]] == []
    assert "color-contrast" in [rule["id"] for rule in found["passes"]]
