"""Chrome's own windows: none of them is filled while a page loads, since that takes a processor from the page.

And what it says of itself to servers, as the same Chrome tells it; and what our scripts ask of it in a page whose names
hide the browser's own.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.browser.chrome import visitors_user_agent
from harness.browser.program import find_browser
from tests.support.answering import serving
from tests.support.own_chrome import answer_of

pytestmark = pytest.mark.chrome

Seen = Mapping[str, Any]
"""What that Chrome and its page said."""
STARTED = """
import time
from harness.browser import page
from harness.netlog.load import read_netlog
from harness.record.visit import PAGE_SCRIPT
settings = ChromeSettings(Path(work_dir))
driver = start(browser, settings)
try:
    driver.get("data:text/html,<p>hello")
    time.sleep(1)       # so long after the page Chrome fills them, were they wanted
    found = {"targets": driver.execute_cdp_cmd("Target.getTargets", {"filter": [{}]})["targetInfos"],
             "user_agent": driver.execute_cdp_cmd("Browser.getVersion", {})["userAgent"]}
    driver.get(words[0])
    found |= {"state": page.run_script(driver, page.LOAD_EVENT_SCRIPT, 0),
              "seen": page.run_script(driver, PAGE_SCRIPT, 0),
              "told": driver.execute_async_script("setTimeout(arguments[0], 10, String(new Date()).slice(0, 15))")}
finally:
    end(driver)
asked_for = [[each.url, each.synchronous] for each in read_netlog(settings.net_log).transactions]
print(json.dumps(found | {"asked_for": asked_for, "has_bytes": '"bytes":' in settings.net_log.read_text()}))
"""
PAGE = """<!doctype html><link rel=icon href=data:,><form name=title></form>
<img name=readyState><iframe name=documentURI></iframe><script>
const asked = new XMLHttpRequest();
asked.open('GET', '/stands/still', false);
asked.send();
function performance() {}
var Reflect = function () {};           // as Haxe wrote its classes</script>"""


@pytest.fixture(scope="module")
def started() -> Seen:
    with serving(lambda _: ("text/html", PAGE)) as web:
        answer: Seen = {"web": f"{web}/", **answer_of(STARTED, f"{web}/")}
    return answer


def test_nothing_is_open_but_the_page_and_nothing_asked_for_but_what_it_wants(started: Seen) -> None:
    """Debian's Chromium loaded its home page while it started: a page of strangers beside the one that is measured.

    For one request of the page its thread stood still. The net-log has no byte of an answer: that takes time.
    """
    assert not started["has_bytes"]
    assert {target["type"]: target["url"].partition(",")[0] for target in started["targets"]} == dict.fromkeys(
        ("page", "tab"), "data:text/html")
    assert started["asked_for"] == [[started["web"], False], [f"{started['web']}stands/still", True]]


def test_a_visitors_user_agent_is_its_own_but_for_one_word(started: Seen) -> None:
    assert started["user_agent"].replace("HeadlessChrome", "Chrome") == visitors_user_agent(find_browser())


def test_names_of_a_page_do_not_hide_the_browsers(started: Seen) -> None:
    seen = started["seen"]
    assert started["state"] == {"complete": True, "ended": True}
    assert (seen["document_uri"], seen["ready"]) == (started["web"], "complete")
    assert seen["timing"]["loadEventEnd"] > 0
    assert seen["time_origin_ms"] > 1_500_000_000_000, "the real one, not that of the page's clock"
    assert started["told"] == "Fri Mar 15 2013", "no timer began, and each Date was a TypeError"
