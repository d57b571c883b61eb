"""Which requests are of the document that is shown. What else a load leaves: tests/corpus/test_client_logs.py."""

from pathlib import Path

import pytest

from harness.netlog.load import read_netlog
from harness.netlog.page import SLACK_MS, leave_out_previous_document
from tests.support.made_netlog import MadeNetLog


@pytest.mark.parametrize("hinted", [False, True])
def test_what_the_replaced_document_still_asks_for_is_not_the_pages(tmp_path: Path, *, hinted: bool) -> None:
    """Of a page that loads itself anew only the second document counts: the first one's last requests are a race.

    late.png is of the first one. own.png is asked for when the second one's head is there, or hints before it.
    """
    made = MadeNetLog()
    made.begin("http://a.test/", main_frame=True)
    made.begin("http://a.test/late.png")
    made.body(*[b"x"] * 2 * SLACK_MS)
    made.end()
    late, made.source = made.source, 1
    if hinted:
        made.add("HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS",
                 headers=["HTTP/1.1 103", "link: </own.png>; rel=preload; as=image"])
    else:
        made.head("200 OK", "Content-Type: text/html")
        made.end()
    made.source = late
    made.request("http://a.test/own.png", b"png")
    if hinted:
        made.source = 1
        made.body(*[b"x"] * 2 * SLACK_MS)
        made.head("200 OK", "Content-Type: text/html")
        made.end()
    netlog = read_netlog(made.write(tmp_path / "netlog.json"))
    assert bool(netlog.transactions[0].early_hints) == hinted
    leave_out_previous_document(netlog, start_tick=netlog.transactions[0].start)
    assert [transaction.url for transaction in netlog.transactions] == ["http://a.test/", "http://a.test/own.png"]
    assert netlog.left_out["of the document that was replaced"] == 1
    leave_out_previous_document(netlog, start_tick=netlog.transactions[-1].start)
    assert len(netlog.transactions) == 2, "no document, nothing to leave out"
