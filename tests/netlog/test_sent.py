"""Request bodies read from the bytes that Chrome wrote to its sockets."""

import base64
import json
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from harness.netlog.sent import Sent
from tests.support.read_netlogs import sent_bodies_in

TYPES = {"SOCKET_BYTES_SENT": 1, "SSL_SOCKET_BYTES_SENT": 2, "OTHER": 3}
PLAIN, TLS = 1, 2


def net_log(path: Path, *events: tuple[int, int, int, bytes]) -> Path:
    """Write events of tick, socket, type, bytes."""
    lines = [json.dumps({"time": str(tick), "type": kind, "phase": 0, "source": {"id": socket, "type": 1},
                         "params": {"byte_count": len(data), "bytes": base64.b64encode(data).decode()}})
             for tick, socket, kind, data in events]
    constants = json.dumps({"logEventTypes": TYPES, "logSourceType": {"SOCKET": 1}})
    path.write_text(f'{{"constants": {constants},\n"events": [\n' + ",\n".join(lines) + "]}")
    return path


def post(path: str, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


def test_http1_one_after_the_other_in_pieces(tmp_path: Path) -> None:
    sent = post("/x", b"first") + b"GET /y HTTP/1.1\r\nHost: a.test\r\n\r\n" + post("/x", b"\xff\r\n\r\n")
    log = net_log(tmp_path / "log", *((tick, 7, PLAIN, sent[at:at + 10]) for tick, at in
                                      enumerate(range(0, len(sent), 10))))
    assert sent_bodies_in(log) == {("POST", "http://a.test/x"): [Sent(7, b"first"), Sent(7, b"\xff\r\n\r\n")],
                                     ("GET", "http://a.test/y"): [Sent(7, b"")]}


def test_requests_on_several_sockets_are_in_order_of_sending(tmp_path: Path) -> None:
    log = net_log(tmp_path / "log", (5, 7, PLAIN, post("/x", b"late")), (3, 8, PLAIN, post("/x", b"early")))
    assert sent_bodies_in(log) == {("POST", "http://a.test/x"): [Sent(8, b"early"), Sent(7, b"late")]}


def test_tls_is_read_before_encryption(tmp_path: Path) -> None:
    log = net_log(tmp_path / "log", (1, 7, PLAIN, b"\x16\x03\x01"), (2, 7, TLS, post("/x", b"secret")),
                  (2, 7, PLAIN, b"\x17\x03\x03 noise"))
    assert sent_bodies_in(log) == {("POST", "https://a.test/x"): [Sent(7, b"secret")]}


def test_http2_with_interleaved_streams(tmp_path: Path) -> None:
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    for stream, target in ((1, "/a"), (3, "/b")):
        connection.send_headers(stream, [(":method", "POST"), (":path", target), (":scheme", "https"),
                                         (":authority", "a.test"), ("x-long", "y" * 40_000)])
    for stream, piece in ((1, b"one"), (3, b"two"), (1, b" more")):
        connection.send_data(stream, piece)
    log = net_log(tmp_path / "log", (1, 7, TLS, connection.data_to_send()))
    assert sent_bodies_in(log) == {("POST", "https://a.test/a"): [Sent(7, b"one more")],
                                     ("POST", "https://a.test/b"): [Sent(7, b"two")]}


def test_http2_with_a_server_that_allows_more_than_the_usual_table(tmp_path: Path) -> None:
    """Chrome tells so in the first headers after the server's settings; all that followed there was lost."""
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    server = H2Connection(H2Configuration(client_side=False))
    server.update_settings({SettingCodes.HEADER_TABLE_SIZE: 65_536})
    for stream, target in ((1, "/before"), (3, "/after"), (5, "/later")):
        connection.send_headers(stream, [(":method", "POST"), (":path", target), (":scheme", "https"),
                                         (":authority", "a.test"), ("x-long", target * 600)])
        connection.send_data(stream, target.encode(), end_stream=True)
        if stream == 1:
            connection.receive_data(server.data_to_send())
    log = net_log(tmp_path / "log", (1, 7, TLS, connection.data_to_send()))
    assert sent_bodies_in(log) == {("POST", f"https://a.test{target}"): [Sent(7, target.encode())]
                                     for target in ("/before", "/after", "/later")}


def test_what_is_no_request_is_left_out(tmp_path: Path) -> None:
    log = net_log(tmp_path / "log", (1, 7, PLAIN, b"\0\1\2\r\n\r\n"), (1, 8, TLS, b"POST /x HTTP/1.1\r\nHost"),
                  (2, 9, TLS, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\1\1\4\0\0\0\1\xff"),
                  (3, 10, PLAIN, post("/x", b"y")))
    assert sent_bodies_in(log) == {("POST", "http://a.test/x"): [Sent(10, b"y")]}
    (tmp_path / "none").write_text("{}")
    assert sent_bodies_in(tmp_path / "none") == {}
