"""Which page is shown in the end: one that loads itself again, or is gone back to, is the same page."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.netlog.load import read_netlog
from harness.netlog.page import moved_on_to
from tests.support.made_netlog import MadeNetLog

FIRST, NEXT = "http://a.test/", "http://a.test/next"
CASES = [json.loads(line) for line in (Path(__file__).parent / "moved_on.jsonl").read_text().splitlines()]
"""Documents of the main frame, which of them is shown, and whether it is another page."""
GAP = 10
"""Events, of one tick each, between two navigations."""


@pytest.mark.parametrize("case", CASES, ids=json.dumps)
def test_the_page_that_scripts_led_to(case: dict[str, Any], tmp_path: Path) -> None:
    log = MadeNetLog()
    began = []
    for url in case["documents"]:
        began.append(1000 + len(log.events))
        log.request(url, "200 OK", b"x" * GAP, main_frame=True)
        for number in range(GAP):
            log.request(f"{url}{number}.png", "200 OK", b"x")
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    assert moved_on_to(netlog, FIRST.removesuffix("/"), netlog.tick(began[case["shown"]])) == case["other"]


def test_a_gate_that_leads_back_to_the_page_is_no_other_page(tmp_path: Path) -> None:
    """The page redirects to the gate, whose script sets a cookie and goes to the page again."""
    log = MadeNetLog()
    log.begin("http://short.test/", main_frame=True)
    for there in (FIRST, NEXT):
        log.head("302 Found", f"Location: {there}")
        log.add("URL_REQUEST_REDIRECTED", location=there)
        log.job(there, main_frame=True)
    log.head("200 OK")
    log.body(b"the gate")
    log.end()
    for number in range(GAP):
        log.request(f"{NEXT}{number}.png", "200 OK", b"x")
    began = 1000 + len(log.events)
    log.request(FIRST, "200 OK", b"the page", main_frame=True)
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    assert moved_on_to(netlog, FIRST, netlog.tick(began)) == ""
    assert moved_on_to(netlog, "http://short.test/", netlog.tick(began)) == ""
    assert moved_on_to(netlog, NEXT, netlog.tick(began)) == FIRST
