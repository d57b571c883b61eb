"""http_tfo.py over TLS: TLS 1.3 only, HTTP/2 where it was recorded, hostile and silent clients."""

import contextlib
import socket
import ssl
import time
from pathlib import Path

import pytest
from hyperframe.frame import HeadersFrame
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.replay.authority import open_authority
from harness.replay.http2 import PREFACE
from harness.replay.server import ReplayServer
from tests.support.recording import HOST
from tests.support.replay_process import read_all
from tests.support.secure_replay import Client, Secure, serving
from tests.support.waiting import wait_until


def test_only_tls_1_3_and_only_its_own_authority(secure: Secure, tmp_path: Path) -> None:
    before = sum(line.protocol == "-" for line in secure.server.log())
    with secure.connect("h2") as connection:
        assert connection.version() == "TLSv1.3"
        assert ("DNS", HOST) in (connection.getpeercert() or {})["subjectAltName"]
    old = secure.context("h2")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    open_authority(tmp_path)
    other = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    for context in (old, other):
        with socket.create_connection(("127.0.0.1", secure.port)) as plain, pytest.raises(ssl.SSLError):
            context.wrap_socket(plain, server_hostname=HOST)
    refused = ("silent", "https", "-")
    wait_until(lambda: [(line.found, line.scheme, line.protocol) for line in secure.server.log()].count(refused)
               == before + 2)


def spoken(server: Secure, *, answers: bytes = b"") -> list[str | None]:
    """Return what a host that was recorded over HTTP/2 speaks, one that was not, and to whom knows no HTTP/2.

    Each connection is asked for a page that begins with `answers`, if that is given.
    """
    found = []
    for host, offered in ((HOST, ("h2", "http/1.1")), ("old.test", ("h2", "http/1.1")), (HOST, ("http/1.1",))):
        with server.connect(*offered, name=host) as connection:
            found.append(connection.selected_alpn_protocol())
            if answers:
                connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert read_all(connection).startswith(answers)
    return found


def test_as_recorded_each_host_speaks_what_it_did(secure: Secure, early: Secure) -> None:
    assert spoken(secure) == spoken(early) == ["h2", "http/1.1", "http/1.1"]


@pytest.mark.parametrize(("option", "value", "answers", "protocols"), [
    ("--http", "1.1", b"", ["http/1.1"] * 3), ("--http", "h2", b"", ["h2", "h2", "http/1.1"]),
    ("--server", "2013", b"HTTP/1.0 200 OK\r\n", ["http/1.1"] * 3)])      # which serves one at a time
def test_which_protocol_is_spoken(tls_recording: Path, option: str, value: str, answers: bytes, protocols: list[str]
                                  ) -> None:
    with serving(tls_recording, option, value, hosts=(HOST, "old.test")) as server:
        assert spoken(server, answers=answers) == protocols


def test_who_only_shakes_hands_is_noted_and_keeps_nobody_waiting(secure: Secure) -> None:
    for protocol, spoken in (("h2", "h2"), ("http/1.1", "HTTP/1.1")):
        with secure.connect(protocol):
            begin = time.monotonic()
            with secure.connect("h2") as other:
                assert Client(other).get("/gone")[1] == b"sorry"
            assert time.monotonic() - begin < ReplayServer.idle_limit_s / 2, "who waits for the first waits so long"
        wait_until(lambda spoken=spoken: any(  # type: ignore[misc]
            line.found == "silent" and line.protocol == spoken for line in secure.server.log()))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(bytes(9), "h2", True)
@example(b"GET / HTTP/1.1\r\n\r\n", "h2", False)
@given(st.binary(max_size=300), st.sampled_from(["plain", "h2", "http/1.1"]), st.booleans())
def test_garbage_never_ends_the_server(secure: Secure, garbage: bytes, where: str, preface: bool) -> None:
    sent = PREFACE * preface + garbage
    with socket.create_connection(("127.0.0.1", secure.port)) as plain:
        if where == "plain":
            with contextlib.suppress(OSError):    # the server may have closed already
                plain.sendall(sent)
                plain.shutdown(socket.SHUT_WR)
                read_all(plain)
        else:
            with secure.context(where).wrap_socket(plain, server_hostname=HOST) as connection:
                connection.sendall(sent)
    assert secure.server.process.poll() is None


BOMB = HeadersFrame(1, b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 4000, flags=["END_HEADERS"]).serialize().hex()
"""A field of 4 kB, and one byte for each of 4,000 times that it stands again (RFC 7541, section 6.1)."""


@pytest.mark.parametrize("frame", [
    "000000 00 00 00000000", "000001 00 08 00000001 ff", "000005 04 00 00000000 0000000000", "000000 04 00 00000001",
    "000004 08 00 00000000 00000000", "004001 00 00 00000001", "000000 09 04 00000001",
    "00000c 04 00 00000000 000100000000 000100001000", BOMB])
def test_a_frame_that_may_not_come_ends_the_connection_in_words(secure: Secure, frame: str) -> None:
    with secure.connect("h2") as connection:
        connection.sendall(PREFACE + bytes.fromhex(frame))
        assert read_all(connection).endswith(bytes.fromhex("000008 07 00 00000000 00000000 00000001"))
