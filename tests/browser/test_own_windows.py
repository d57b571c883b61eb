"""Chrome's own windows: none of them is filled while a page loads, since that takes a processor from the page."""

import pytest

from tests.support.own_chrome import answer_of

TARGETS = """
import time
driver = start(browser, Settings(Path(work_dir)))
try:
    driver.get("data:text/html,<p>hello")
    time.sleep(1)       # so long after the page Chrome fills them, were they wanted
    print(json.dumps(driver.execute_cdp_cmd("Target.getTargets", {"filter": [{}]})["targetInfos"]))
finally:
    end(driver)
"""


@pytest.mark.chrome
def test_nothing_is_open_but_the_page() -> None:
    assert {target["type"]: target["url"].partition(",")[0] for target in answer_of(TARGETS)} == dict.fromkeys(
        ("page", "tab"), "data:text/html")
