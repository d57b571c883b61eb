"""A page whose names hide the browser's own from our scripts: what these ask for is what the browser knows."""

import pytest

from tests.support.own_chrome import answer_of
from tests.support.small_web import serving

pytestmark = pytest.mark.chrome

PAGE = """<!doctype html><link rel=icon href=data:,><form name=title></form>
<img name=readyState><iframe name=documentURI></iframe><script>function performance() {}
var Reflect = function () {};           // as Haxe wrote its classes</script>"""
CHROME = """
from harness.browser import page
from harness.record.visit import PAGE_SCRIPT
driver = start(browser, ChromeSettings(Path(work_dir)))
try:
    driver.get(words[0])
    print(json.dumps([*(page.run_script(driver, script, 0) for script in (page.LOAD_EVENT_SCRIPT, PAGE_SCRIPT)),
                      driver.execute_async_script("setTimeout(arguments[0], 10, String(new Date()).slice(0, 15))")]))
finally:
    end(driver)
"""


def test_names_of_a_page_do_not_hide_the_browsers() -> None:
    with serving(lambda _: ("text/html", PAGE)) as web:
        state, seen, told = answer_of(CHROME, f"{web}/")
    assert state == {"complete": True, "ended": True}
    assert (seen["document_uri"], seen["ready"]) == (f"{web}/", "complete")
    assert seen["timing"]["loadEventEnd"] > 0
    assert seen["time_origin_ms"] > 1_500_000_000_000, "the real one, not that of the page's clock"
    assert told == "Fri Mar 15 2013", "no timer began, and each Date was a TypeError"
