"""http_tfo.py over TLS: TLS 1.3 only, HTTP/2 where it was recorded, silent and hostile clients."""

import ssl
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hyperframe.frame import HeadersFrame

from harness.replay.authority import open_authority
from harness.replay.http2 import PREFACE
from harness.replay.server import ReplayServer
from tests.support.ran import ran
from tests.support.recording import HOST
from tests.support.replay_process import Running, read_all, running
from tests.support.secure_replay import AT_ONE_ADDRESS, speaking_h2
from tests.support.waiting import wait_until


def test_only_tls_1_3_and_only_its_own_authority(secure: Running, tmp_path: Path) -> None:
    with secure.secure("h2") as connection:
        assert connection.version() == "TLSv1.3"
    old = secure.context("h2")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    open_authority(tmp_path)
    other = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    before = silent(secure, "-")
    for context in (old, other):
        with secure.connect(secure.tls_port) as plain, pytest.raises(ssl.SSLError):
            context.wrap_socket(plain, server_hostname=HOST)
    wait_until(lambda: silent(secure, "-") >= before + 2)


def silent(server: Running, protocol: str) -> int:
    """Return how many connections to its https port brought no request, by the log."""
    return [(line.found, line.method, line.path, line.status, line.bytes, line.request, line.own_ms, line.scheme,
             line.protocol) for line in server.log()].count(("silent", "-", "-", 0, 0, 0, None, "https", protocol))


def test_who_only_shakes_hands_is_noted_and_keeps_nobody_waiting(secure: Running) -> None:
    for protocol, noted in (("h2", "h2"), ("http/1.1", "HTTP/1.1")):
        before, begin = silent(secure, noted), time.monotonic()
        with ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(secure.secure(protocol))
            with speaking_h2(secure) as other:
                assert other.get("/gone").body == b"sorry"
            assert time.monotonic() - begin < ReplayServer.idle_limit_s / 2, "who waits for the first waits so long"
        wait_until(lambda noted=noted, before=before: silent(secure, noted) >= before + 20)  # type: ignore[misc]


def spoken(server: Running, *, answers: bytes = b"") -> list[str | None]:
    """Return what a host that was recorded over HTTP/2 speaks, one that was not, and to whom knows no HTTP/2.

    Each connection is asked for a page that begins with `answers`, if that is given.
    """
    found = []
    for host, offered in ((HOST, ("h2", "http/1.1")), ("old.test", ("h2", "http/1.1")), (HOST, ("http/1.1",))):
        with server.secure(*offered, name=host) as connection:
            found.append(connection.selected_alpn_protocol())
            if answers:
                connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert read_all(connection).startswith(answers)
    return found


def test_as_recorded_each_host_speaks_what_it_did(secure: Running, early: Running) -> None:
    assert spoken(secure) == spoken(early) == ["h2", "http/1.1", "http/1.1"]


@pytest.mark.parametrize(("http", "protocols"), [
    ("1.1", ["http/1.1"] * 3), ("h2", ["h2", "h2", "http/1.1"])])
def test_which_protocol_is_spoken(tls_recording: Path, http: str, protocols: list[str]) -> None:
    with running(tls_recording, "--http", http, hosts=AT_ONE_ADDRESS) as server:
        assert spoken(server) == protocols
        assert not ran("ss", "-Hlun", f"sport = :{server.tls_port}", status=0).stdout, "QUIC only if asked for"


def test_the_server_of_2013_speaks_http_1_0_and_serves_one_at_a_time(tls_recording: Path) -> None:
    """A silent connection keeps all others waiting."""
    with running(tls_recording, "--server", "2013", hosts=AT_ONE_ADDRESS) as server:
        assert spoken(server, answers=b"HTTP/1.0 200 OK\r\n") == ["http/1.1"] * 3
        silent = server.connect()
        with server.connect() as connection:
            connection.sendall(b"GET /who HTTP/1.0\r\n\r\n")
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            silent.close()
            connection.settimeout(None)
            assert read_all(connection).endswith(HOST.encode())


BOMB = HeadersFrame(1, b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 4000, flags=["END_HEADERS"]).serialize().hex()
"""A field of 4 kB, and one byte for each of 4,000 times that it stands again (RFC 7541, section 6.1)."""


@pytest.mark.parametrize("frame", [
    "000000 00 00 00000000", "000001 00 08 00000001 ff", "000005 04 00 00000000 0000000000", "000000 04 00 00000001",
    "000004 08 00 00000000 00000000", "004001 00 00 00000001", "000000 09 04 00000001",
    "00000c 04 00 00000000 000100000000 000100001000", "000000 01 00 00000001 000008 06 00 00000000 0000000000000000",
    BOMB])
def test_a_frame_that_may_not_come_ends_the_connection_in_words(secure: Running, frame: str) -> None:
    with secure.secure("h2") as connection:
        connection.sendall(PREFACE + bytes.fromhex(frame))
        assert read_all(connection).endswith(bytes.fromhex("000008 07 00 00000000 00000000 00000001"))
