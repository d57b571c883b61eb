"""Which page is shown in the end: one that loads itself again, or is gone back to, is the same page."""

from pathlib import Path
from typing import Any

from harness.netlog.load import read_netlog
from harness.netlog.page import moved_on_to
from tests.support.made_netlog import MadeNetLog
from tests.support.noted import each_case

GAP = 10
"""Events, of one tick each, between two navigations."""


@each_case("netlog/moved_on.jsonl")
def test_the_page_that_scripts_led_to(case: dict[str, Any], tmp_path: Path) -> None:
    """Documents of the main frame (a list: of redirects and where they led), which of them is shown, and whether it is
    another page than the one that was `asked` for, http://a.test.
    """
    log, began = MadeNetLog(), []
    for document in case["documents"]:
        first, *redirects = [document] if isinstance(document, str) else document
        began.append(1000 + len(log.events))
        log.begin(first, main_frame=True)
        for there in redirects:
            log.head("302 Found", f"Location: {there}")
            log.add("URL_REQUEST_REDIRECTED", location=there)
            log.hop(there, main_frame=True)
        log.head("200 OK")
        log.body(b"x" * GAP)
        log.end()
        for number in range(GAP):
            log.request(f"{first}{number}.png", b"x")
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    shown = netlog.tick(began[case["shown"]])
    assert moved_on_to(netlog, case.get("asked", "http://a.test"), shown) == case["other"]
