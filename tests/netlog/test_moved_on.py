"""Which page is shown in the end: one that loads itself again, or is gone back to, is the same page."""

from typing import Any

from harness.netlog.load import NetLog
from harness.netlog.page import moved_on_to
from harness.netlog.transactions import HttpTransaction
from tests.support.noted import each_case


@each_case("netlog/moved_on.jsonl")
def test_the_page_that_scripts_led_to(case: dict[str, Any]) -> None:
    """Documents of the main frame (a list: of redirects and where they led), which of them is shown, and whether it is
    another page than the one that was `asked` for, http://a.test.
    """
    documents = [[found] if isinstance(found, str) else found for found in case["documents"]]
    netlog = NetLog([HttpTransaction(number, 0, url, 100 * number, main_frame=True, status_line="HTTP/1.1 200 OK",
                                     redirect_url=there) for number, hops in enumerate(documents)
                     for url, there in zip(hops, [*hops[1:], None], strict=True)])
    assert moved_on_to(netlog, case.get("asked", "http://a.test"), 100 * case["shown"]) == case["other"]
