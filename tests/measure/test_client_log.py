"""Which requests are of the document that is shown. What else a load leaves: tests/corpus/test_client_logs.py."""

from pathlib import Path

from harness.netlog.load import read_netlog
from harness.netlog.page import SLACK_MS, leave_out_previous_document
from tests.support.made_netlog import MadeNetLog


def loading_anew() -> MadeNetLog:
    """Return the net-log of a page that asks for itself again while late.png of its first document comes."""
    made = MadeNetLog()
    made.begin("http://a.test/", main_frame=True)
    made.begin("http://a.test/late.png")
    made.body(*[b"x"] * 2 * SLACK_MS)
    made.end()
    return made


def test_what_the_replaced_document_still_asks_for_is_not_the_pages(tmp_path: Path) -> None:
    """Of a page that loads itself anew only the second document counts: the first one's last requests are a race."""
    made = loading_anew()
    late, made.source = made.source, 1
    made.head("200 OK", "Content-Type: text/html")
    made.end()
    made.source = late
    made.request("http://a.test/own.png", "200 OK", b"png")
    netlog = read_netlog(made.write(tmp_path / "netlog.json"))
    before = [transaction.url for transaction in netlog.transactions]
    leave_out_previous_document(netlog, start_tick=netlog.transactions[0].start)
    assert [transaction.url for transaction in netlog.transactions] == ["http://a.test/", "http://a.test/own.png"]
    assert before == ["http://a.test/", "http://a.test/late.png", "http://a.test/own.png"]
    assert netlog.left_out["of the document that was replaced"] == 1
    leave_out_previous_document(netlog, start_tick=netlog.transactions[-1].start)
    assert len(netlog.transactions) == 2, "no document, nothing to leave out"


def test_what_early_hints_lead_to_is_of_the_new_document(tmp_path: Path) -> None:
    made = loading_anew()
    late, made.source = made.source, 1
    made.early_hints("link: </early.css>; rel=preload; as=style")
    made.source = late
    made.request("http://a.test/early.css", "200 OK", b"p {}")
    late, made.source = made.source, 1
    made.body(*[b"x"] * 2 * SLACK_MS)
    made.head("200 OK", "Content-Type: text/html")
    made.end()
    netlog = read_netlog(made.write(tmp_path / "netlog.json"))
    assert netlog.transactions[0].early_hints == (("link", "</early.css>; rel=preload; as=style"),)
    leave_out_previous_document(netlog, start_tick=netlog.transactions[0].start)
    assert [transaction.url for transaction in netlog.transactions] == ["http://a.test/", "http://a.test/early.css"]
