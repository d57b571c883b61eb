"""Request bodies read from what Chrome wrote over HTTP/2; over HTTP/1.1: tests/corpus/netlogs/made.jsonl."""

import base64
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from harness.netlog.sent import Sent
from tests.support.made_netlog import write_made
from tests.support.read_netlogs import sent_bodies_in


def test_http2_with_interleaved_streams_and_a_server_that_allows_more_than_the_usual_table(tmp_path: Path) -> None:
    """Chrome tells so in the first headers after the server's settings; all that followed there was lost."""
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    server = H2Connection(H2Configuration(client_side=False))
    server.update_settings({SettingCodes.HEADER_TABLE_SIZE: 65_536})
    asked = {1: "/before", 3: "/after", 5: "/later"}
    for stream, target in asked.items():
        connection.send_headers(stream, [(":method", "POST"), (":path", target), (":scheme", "https"),
                                         (":authority", "a.test"), ("x-long", target * 6000)])
        connection.send_data(stream, target.encode())
        if stream == 1:
            connection.receive_data(server.data_to_send())
    for stream in asked:
        connection.send_data(stream, b" more", end_stream=True)
    event = [1, "SOCKET", 7, "SSL_SOCKET_BYTES_SENT",
             {"bytes": base64.b64encode(connection.data_to_send()).decode()}]
    assert sent_bodies_in(write_made([event], tmp_path / "log")) == {
        ("POST", f"https://a.test{target}"): [Sent(7, f"{target} more".encode())] for target in asked.values()}
