"""A visit turned into a recording and a verdict: what is kept of answers that came half, in parts, or never."""

import base64
from pathlib import Path

import pytest

from harness.netlog.file import BEGIN, END
from tests.support.made_netlog import PAGE, MadeNetLog, seen


@pytest.mark.parametrize("ties", [False, True])
def test_requests_at_once_over_two_connections_keep_their_bodies(tmp_path: Path, ties: bool) -> None:
    """The second POST overtakes the first, which was also tried over a connection that was dead."""
    log = MadeNetLog()
    log.request(PAGE, b"page", "Content-Type: text/html", main_frame=True)
    for job, connection in ((91, 81), (92, 82)):
        log.source, log.kind = connection, "SOCKET"
        log.add("TCP_CONNECT", BEGIN)
        log.add("TCP_CONNECT", END, remote_address="10.0.0.1:80")
        log.add("SOCKET_IN_USE", BEGIN, source_dependency={"id": job, "type": 9})
    log.source, log.kind = 1, "URL_REQUEST"
    for job in (91, 92):
        log.begin("http://a.test/api", "POST", job=job)
        log.head("200 OK")
        log.end()
    for connection, body in ((80, b"first"), (82, b""), (82, b"second"), (81, b"first")):
        log.source, log.kind = connection, "SOCKET"
        head = f"POST /api HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        log.add("SOCKET_BYTES_SENT", bytes=base64.b64encode(head + body).decode())
    if ties:
        for event in log.events[-4:]:
            event[0] = log.events[-1][0]
    log.source, log.kind = 3, "URL_REQUEST"
    log.begin("http://a.test/api", "POST", job=92)
    log.head("200 OK")
    posts = [each for each in seen(log, tmp_path).requests if each.transaction.method == "POST"]
    assert [each.exchange.request.body for each in posts] == [b"first", b"", b"second"]
