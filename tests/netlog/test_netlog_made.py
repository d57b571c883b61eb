"""The net-log reader against made logs: what no recorded one has, such as heads that servers of the world send."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from harness.mirror.exchanges import read_page
from harness.mirror.transactions import recorded_of, sequences
from harness.netlog.har import har
from harness.netlog.load import NetLog, read_netlog, summarise
from harness.netlog.requests import mime_type_and_charset
from tests.support.made_netlog import MadeNetLog


def test_a_request_that_came_while_tls_was_under_way_waited_for_that(tmp_path: Path) -> None:
    """The connection was opened for another request, which got one that had become free meanwhile."""
    log = MadeNetLog()
    log.source, log.kind = 21, "SOCKET"
    log.add("TCP_CONNECT", 1)
    log.add("TCP_CONNECT", 2, remote_address="10.0.0.1:443")
    log.add("SSL_CONNECT", 1)
    log.source, log.kind = 1, "URL_REQUEST"
    log.add("REQUEST_ALIVE", 1)
    log.source, log.kind = 21, "SOCKET"
    log.add("SSL_CONNECT", 2)
    log.add("SOCKET_IN_USE", 1, source_dependency={"id": 11, "type": 9})
    log.source, log.kind = 1, "URL_REQUEST"
    log.job("https://a.test/", job=11)
    log.head("200 OK")
    log.end()
    [request] = read_netlog(log.write(tmp_path / "netlog.json")).transactions
    assert (request.phases.blocked, request.phases.connect, request.phases.ssl) == (4, 1, 1)


def synthetic(tmp_path: Path, events: list[tuple[str, int, dict[str, Any]]]) -> NetLog:
    """Read a log in which one URL_REQUEST has `events` (name, phase, parameters), a ms apart."""
    names = sorted({name for name, _, _ in events})
    constants = {"logEventTypes": {name: number for number, name in enumerate(names)},
                 "logSourceType": {"URL_REQUEST": 1}, "netError": {"ERR_ABORTED": -3}, "timeTickOffset": 0}
    source = {"id": 7, "type": 1}
    rows = [{"time": str(tick), "type": names.index(name), "phase": phase, "params": params, "source": source}
            for tick, (name, phase, params) in enumerate(events)]
    path = tmp_path / "netlog.json"
    path.write_text(json.dumps({"constants": constants, "events": rows}))
    return read_netlog(path)


def test_a_request_sent_twice_over_a_dead_connection_counts_the_last_answer(tmp_path: Path) -> None:
    once = [("HTTP_STREAM_REQUEST_BOUND_TO_JOB", 0, {"source_dependency": {"id": 9}}),
            ("HTTP_TRANSACTION_SEND_REQUEST", 1, {}), ("HTTP_TRANSACTION_SEND_REQUEST", 2, {}),
            ("HTTP_TRANSACTION_READ_HEADERS", 1, {})]
    head = {"headers": ["HTTP/2 200", "Content-Type: Text/HTML; charset=X"]}
    answer = [("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, head),
              ("HTTP_TRANSACTION_READ_HEADERS", 2, {}), ("HTTP_TRANSACTION_READ_BODY", 2, {}), ("REQUEST_ALIVE", 2, {})]
    start = [("REQUEST_ALIVE", 1, {}),
             ("URL_REQUEST_START_JOB", 1, {"url": "http://x/", "method": "GET", "initiator": "http://x"})]
    hop, = synthetic(tmp_path, start + once + once + answer).transactions
    assert (hop.sends, hop.status, hop.status_text, hop.mime_type, hop.charset) == (2, 200, "OK", "text/html", "x")
    assert (hop.start, hop.phases.blocked, hop.phases.wait, hop.end) == (0, 7, 3, 12)


def test_requests_over_http2_belong_to_the_connection_of_their_session(tmp_path: Path) -> None:
    """Chrome opens a socket for each of two requests, and sends both over the first that stands; the other is idle."""
    log = MadeNetLog()
    for request, job, socket in ((1, 11, 21), (2, 12, 22)):
        log.source, log.kind = socket, "SOCKET"
        log.add("TCP_CONNECT", 1)
        log.add("TCP_CONNECT", 2, remote_address=f"10.0.0.{request}:443")
        log.add("SOCKET_IN_USE", 1, source_dependency={"id": job, "type": 9})
    log.source, log.kind = 31, "HTTP2_SESSION"
    log.add("HTTP2_SESSION_INITIALIZED", source_dependency={"id": 21, "type": 2})
    for job in (11, 12):
        log.add("HTTP2_SESSION_SEND_HEADERS", source_dependency={"id": job, "type": 9})
    log.source, log.kind = 0, "URL_REQUEST"
    for job in (11, 12):
        log.begin(f"https://a.test/{job}", h2=True, job=job)
        log.head("200 OK")
        log.end()
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    assert [transaction.connection for transaction in netlog.transactions] == [21, 21]
    assert {connection.id: connection.requests for connection in netlog.connections} == {21: 2, 22: 0}
    entries = har(netlog, "https://a.test/", 0)["log"]["entries"]
    assert [(entry["connection"], entry["serverIPAddress"]) for entry in entries] == [("21", "10.0.0.1")] * 2
    assert summarise(netlog, 0).connections_unused == 1


def test_what_is_sent_again_over_http1_belongs_to_the_connection_of_that(tmp_path: Path) -> None:
    """A server may refuse a request over HTTP/2 and want HTTP/1.1 for it: Chrome opens a connection that speaks it."""
    log = MadeNetLog()
    for job, socket in ((11, 21), (12, 22)):
        log.source, log.kind = socket, "SOCKET"
        log.add("TCP_CONNECT", 1)
        log.add("TCP_CONNECT", 2, remote_address="10.0.0.1:443")
        log.add("SOCKET_IN_USE", 1, source_dependency={"id": job, "type": 9})
    log.source, log.kind = 31, "HTTP2_SESSION"
    log.add("HTTP2_SESSION_INITIALIZED", source_dependency={"id": 21, "type": 2})
    log.add("HTTP2_SESSION_SEND_HEADERS", source_dependency={"id": 11, "type": 9})
    log.source, log.kind = 0, "URL_REQUEST"
    log.begin("https://a.test/", h2=True, job=11)
    log.add("HTTP_STREAM_REQUEST_BOUND_TO_JOB", source_dependency={"id": 12, "type": 9})
    log.add("HTTP_TRANSACTION_SEND_REQUEST", 1)
    log.add("HTTP_TRANSACTION_SEND_REQUEST_HEADERS", line="GET / HTTP/1.1", headers=["Host: a.test"])
    log.add("HTTP_TRANSACTION_SEND_REQUEST", 2)
    log.head("200 OK")
    log.end()
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    assert [transaction.connection for transaction in netlog.transactions] == [22]
    assert summarise(netlog, 0).connections_unused == 0


def test_a_redirect_chrome_makes_itself_needs_no_connection(tmp_path: Path) -> None:
    """HSTS: http becomes https inside Chrome."""
    begin = {"method": "GET", "initiator": "http://x"}
    hops = synthetic(tmp_path, [
        ("REQUEST_ALIVE", 1, {}), ("URL_REQUEST_START_JOB", 1, begin | {"url": "http://x/"}),
        ("URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED", 0, {"headers": ["HTTP/1.1 307 Internal Redirect"]}),
        ("URL_REQUEST_REDIRECTED", 0, {"location": "https://x/"}), ("URL_REQUEST_START_JOB", 2, {}),
        ("URL_REQUEST_START_JOB", 1, begin | {"url": "https://x/"}), ("CANCELLED", 0, {"net_error": -3})]).transactions
    assert [(hop.url, hop.status, hop.sends, hop.end, hop.error) for hop in hops] == [
        ("http://x/", 307, 0, 3, ""), ("https://x/", 0, 0, 6, "net::ERR_ABORTED")]


@pytest.mark.parametrize(("raw", "read"), [("Z%C3%BCrich 5%25", "Zürich 5%"), ("Z%FCrich 5%25", "Zürich 5%")])
def test_heads_that_are_not_ascii_are_read_as_they_were_sent(raw: str, read: str, tmp_path: Path) -> None:
    """Chrome marks such a status line or header, and percent-encodes it."""
    mark = "%ESCAPED:\u200b "
    head = [f"{mark}HTTP/1.1 404 {raw}", f"{mark}X-Town: {raw}", "X-Plain: 5%25"]
    begin = {"method": "GET", "initiator": "http://x", "url": "http://x/"}
    [hop] = synthetic(tmp_path, [
        ("REQUEST_ALIVE", 1, {}), ("URL_REQUEST_START_JOB", 1, begin),
        ("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": head}), ("REQUEST_ALIVE", 2, {})]).transactions
    assert (hop.status, hop.status_text) == (404, read)
    assert hop.response_headers == (("X-Town", read), ("X-Plain", "5%25"))


@pytest.mark.parametrize("raw", ["/Z%FCrich", "/Z%C3%BCrich"])
def test_a_redirect_whose_target_is_not_ascii_leads_where_it_led(raw: str, tmp_path: Path) -> None:
    """The first one led to the URL of the second one, which was not recorded."""
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.head("302 Found", f"%ESCAPED:\u200b Location: {raw}")
    log.add("URL_REQUEST_REDIRECTED", location=f"http://a.test{raw}")
    log.job(f"http://a.test{raw}")
    log.head("200 OK")
    log.end()
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    (tmp_path / "x.har").write_text(json.dumps(har(netlog, "http://a.test/", 0)))
    page = read_page(tmp_path / "x.har", [])
    assert page is not None
    [answer] = sequences(recorded_of(page))["http", "a.test"]["GET", "/"]
    assert dict(answer.headers or ())["location"] == raw


@pytest.mark.parametrize(("content_type", "charset"), [
    ("Text/HTML; name*=utf-8''a; name*0=a; charset=X", "x"), (f"text/html; a*{'0' * 5000}=b", ""),
    ("text/html; charset*=utf-8''x", ""), ('text/html;a="; charset=b";Charset="X" ;charset=c', "x")])
def test_parameters_of_a_content_type_are_no_mails(content_type: str, charset: str) -> None:
    assert mime_type_and_charset([("Content-Type", content_type)]) == ("text/html", charset)


@pytest.mark.parametrize(("status", "read"), [("2" * 5000, 2**31 - 1), ("200", 200)])
def test_numbers_that_python_does_not_take_are_read(status: str, read: int, tmp_path: Path) -> None:
    """Chrome takes a status of any length; a server may write what Chrome writes for a cookie."""
    log = MadeNetLog()
    log.request("http://a.test/", f"{status} x", b"x", f"X-Odd: [{'1' * 5000} bytes were stripped]")
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    [entry] = har(netlog, "http://a.test/", 0)["log"]["entries"]
    assert entry["response"]["status"] == read


def test_bodies_of_a_recording_are_not_held_in_memory(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.head("200 OK")
    log.body(*[b"x" * 32_768] * 1000)
    log.end()
    path = log.write(tmp_path / "netlog.json")
    assert path.stat().st_size > 40_000_000
    tracemalloc.start()
    try:
        transaction, = read_netlog(path).transactions
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert transaction.body_bytes == 32_768_000
    assert peak_bytes < 8_000_000
