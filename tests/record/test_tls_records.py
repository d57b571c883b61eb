"""A replay cuts answers into records of TLS as nginx does: a browser sees nothing of one before it has all of it."""

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ResponseReceived, StreamEnded
from h2.settings import SettingCodes

from harness.files.hosts import read_hack_dns
from tests.support.internet.again import replayed
from tests.support.internet.recorded import NAME, copy_of_the_recording
from tests.support.internet.server import NGINX, Internet
from tests.support.internet.site import CDN, MEDIA

pytestmark = [pytest.mark.chrome, pytest.mark.slow,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
FULL = 2**14
"""Bytes of the longest record (RFC 8446, section 5.1)."""
SMALL = 1000
"""More than any head of the test internet, and less than a packet."""


@pytest.fixture(scope="module")
def copies(internet: Internet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Path, Path]]]:
    """Serve the test internet and the replay of its recording: the hack_dns file and the CA of each.

    Where nginx got no processor for a while when it was recorded, an answer came in pieces, and would be replayed so.
    """
    directory = tmp_path_factory.mktemp("copy")
    copy_of_the_recording(directory, tmp_path_factory)
    for har in (directory / f"{NAME}.fetchlog").glob("*.har"):
        log = json.loads(har.read_text())
        for entry in log["log"]["entries"]:
            entry.pop("_arrivals", None)
        har.write_text(json.dumps(log))
    with replayed(directory, NAME) as replay:
        yield [(internet.remap, internet.ca), replay]


def test_over_http_2_the_first_head_has_a_record_of_its_own(copies: list[tuple[Path, Path]]) -> None:
    for copy in copies:
        for path in ("/brotli.js", "/font.ttf", "/film.bin"):
            first, second = h2_records(*copy, CDN, path)
            assert (first[0] < SMALL, first[1], second[0]) == (True, FULL, FULL), copy
            if sum(second) > 3 * FULL:      # a record ends with the body's first 32 kB
                assert (second[1], second[2] < SMALL) == (FULL, True), copy


def test_over_http_1_the_body_begins_in_the_heads_record(copies: list[tuple[Path, Path]]) -> None:
    for copy in copies:
        with connect(*copy, MEDIA, "http/1.1") as connection:
            connection.sendall(f"GET /big.png HTTP/1.1\r\nHost: {MEDIA}\r\nConnection: close\r\n\r\n".encode())
            assert [len(connection.recv(2 * FULL)) for _ in range(2)] == [FULL, FULL], copy


def connect(remap: Path, ca: Path, host: str, protocol: str) -> ssl.SSLSocket:
    """Return a connection to `host`; each recv() of it returns what one record holds, as OpenSSL does."""
    address, port = next((each.address, each.port) for each in read_hack_dns(remap)
                         if (each.host, each.scheme) == (host, "https"))
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(socket.create_connection((address, port)), server_hostname=host)


def h2_records(remap: Path, ca: Path, host: str, path: str) -> Iterator[list[int]]:
    """Yield the sizes of the records of a connection's first answer, from that with its head on, and of a second."""
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**20})
    client.increment_flow_control_window(2**22)
    with connect(remap, ca, host, "h2") as connection:
        for stream in (1, 3):
            client.send_headers(stream, [(":method", "GET"), (":scheme", "https"), (":authority", host),
                                         (":path", path)], True)
            records, came = list[int](), set[type]()
            while StreamEnded not in came:
                connection.sendall(client.data_to_send())
                record = connection.recv(2 * FULL)
                came.update(map(type, client.receive_data(record)))
                records += [len(record)] if ResponseReceived in came else []
            yield records
