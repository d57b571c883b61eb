"""Request bodies read from what Chrome wrote over HTTP/2; over HTTP/1.1: tests/corpus/netlogs/made.jsonl."""

import base64
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from harness.netlog.sent import Sent
from tests.support.made_netlog import write_made
from tests.support.read_netlogs import sent_bodies_in


def sent_in(path: Path, data: bytes) -> dict[tuple[str, str], list[Sent]]:
    """Return what is read where a socket sent `data` over TLS."""
    event = [1, "SOCKET", 7, "SSL_SOCKET_BYTES_SENT", {"bytes": base64.b64encode(data).decode()}]
    return sent_bodies_in(write_made([event], path / "log"))


def test_http2_with_interleaved_streams(tmp_path: Path) -> None:
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    for stream, target in ((1, "/a"), (3, "/b")):
        connection.send_headers(stream, [(":method", "POST"), (":path", target), (":scheme", "https"),
                                         (":authority", "a.test"), ("x-long", "y" * 40_000)])
    for stream, piece in ((1, b"one"), (3, b"two"), (1, b" more")):
        connection.send_data(stream, piece)
    assert sent_in(tmp_path, connection.data_to_send()) == {
        ("POST", "https://a.test/a"): [Sent(7, b"one more")], ("POST", "https://a.test/b"): [Sent(7, b"two")]}


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
    assert sent_in(tmp_path, connection.data_to_send()) == {
        ("POST", f"https://a.test{target}"): [Sent(7, target.encode())] for target in ("/before", "/after", "/later")}
