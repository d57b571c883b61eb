"""Chrome's own windows: none of them is filled while a page loads, since that takes a processor from the page.

And what it says of itself to servers, as the same Chrome tells it."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.browser.chrome import visitors_user_agent
from harness.browser.program import find_browser
from tests.support.own_chrome import answer_of

STARTED = """
import time
from harness.netlog.load import read_netlog
settings = ChromeSettings(Path(work_dir))
driver = start(browser, settings)
try:
    driver.get("data:text/html,<p>hello")
    time.sleep(1)       # so long after the page Chrome fills them, were they wanted
    found = {"targets": driver.execute_cdp_cmd("Target.getTargets", {"filter": [{}]})["targetInfos"],
             "user_agent": driver.execute_cdp_cmd("Browser.getVersion", {})["userAgent"]}
finally:
    end(driver)
asked_for = [transaction.url for transaction in read_netlog(settings.net_log).transactions]
print(json.dumps(found | {"asked_for": asked_for}))
"""


@pytest.fixture(scope="module")
def started() -> Mapping[str, Any]:
    answer: Mapping[str, Any] = answer_of(STARTED)
    return answer


@pytest.mark.chrome
def test_nothing_is_open_but_the_page(started: Mapping[str, Any]) -> None:
    assert {target["type"]: target["url"].partition(",")[0] for target in started["targets"]} == dict.fromkeys(
        ("page", "tab"), "data:text/html")


@pytest.mark.chrome
def test_it_asks_for_no_page_of_its_own(started: Mapping[str, Any]) -> None:
    """Debian's Chromium loaded its home page while it started: a page of strangers beside the one that is measured."""
    assert started["asked_for"] == []


@pytest.mark.chrome
def test_a_visitors_user_agent_is_its_own_but_for_one_word(started: Mapping[str, Any]) -> None:
    assert started["user_agent"].replace("HeadlessChrome", "Chrome") == visitors_user_agent(find_browser())
