"""A page whose names hide the browser's own from our scripts: what these ask for is what the browser knows."""

from typing import Any

import pytest

from tests.support.own_chrome import answer_of
from tests.support.small_web import serving

pytestmark = pytest.mark.chrome

PAGE = """<!doctype html><link rel=icon href=data:,><title>its title</title><form name=title></form>
<img name=readyState><iframe name=documentURI></iframe><script>function performance() {}</script>"""
CHROME = """
from harness.browser import page
from harness.record.visit import PAGE_SCRIPT
driver = start(browser, ChromeSettings(Path(work_dir)))
try:
    driver.get(words[0])
    print(json.dumps([page.run_script(driver, script, 0) for script in (page.LOAD_EVENT_SCRIPT, PAGE_SCRIPT)]))
finally:
    end(driver)
"""


def test_names_of_a_page_do_not_hide_the_browsers() -> None:
    with serving(lambda _: ("text/html", PAGE)) as web:
        found: list[dict[str, Any]] = answer_of(CHROME, f"{web}/")
    state, seen = found
    assert state == {"complete": True, "ended": True}
    assert (seen["document_uri"], seen["title"], seen["ready"]) == (f"{web}/", "its title", "complete")
    assert seen["timing"]["loadEventEnd"] > 0
    assert seen["time_origin_ms"] > 1_500_000_000_000, "the real one, not that of the page's clock"
