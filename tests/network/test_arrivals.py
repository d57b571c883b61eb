"""What reaches a host is noted when it arrives, not when somebody reads it; and any bytes are a packet or none."""

import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.network.arrivals import Said, noting_arrivals, read_packet
from harness.network.star import Host
from harness.system.namespaces import inside
from tests.support.namespaces import own_namespace

SYN_ACK, ACK = 0x12, 0x10


COOKIE = bytes([1, 1, 34, 10]) + bytes(8)
"""Two no-operations, and a TFO cookie of 8 bytes (RFC 7413)."""
SERVER = "10.0.0.7"


def packet(payload: bytes = b"", flags: int = ACK, protocol: int = 6, options: bytes = b"") -> bytes:
    """Return an IPv4 packet from 10.0.0.7 (RFC 791) with a TCP segment (RFC 9293)."""
    tcp = bytes(12) + bytes([(5 + len(options) // 4) << 4, flags]) + bytes(6) + options + payload
    ip = bytes([0x45, 0]) + (20 + len(tcp)).to_bytes(2, "big") + bytes(5) + bytes([protocol]) + bytes(2)
    return ip + bytes([10, 0, 0, 7]) + bytes(4) + tcp


def test_only_what_a_server_itself_says_counts() -> None:
    for said, packets in {
            Said.ANSWER: [packet(b"HTTP/1.1 200"), packet(b"x", options=bytes(40)),
                          packet(b"x" * 1000)[:60],             # only the first bytes are kept
                          packet(b"x", protocol=17)],           # UDP: QUIC's, whatever it says
            Said.CONNECTED: [packet(flags=SYN_ACK)], Said.COOKIE: [packet(flags=SYN_ACK, options=COOKIE)]}.items():
        assert [*map(read_packet, packets)] == [(SERVER, said)] * len(packets)
    assert read_packet(packet(options=COOKIE))[1] is Said.NOTHING, "a bare acknowledgement is the kernel's"
    assert read_packet(packet(b"x", protocol=1))[1] is Said.NOTHING, "ICMP"


@given(st.binary(max_size=120), st.binary(max_size=40))
def test_any_bytes_are_a_packet_or_none(data: bytes, options: bytes) -> None:
    assert isinstance(read_packet(data)[1], Said)
    assert isinstance(read_packet(packet(flags=SYN_ACK, options=options))[1], Said)


@pytest.fixture
def host() -> Iterator[Host]:
    """A host whose only interface is its loopback."""
    with own_namespace() as holder:
        yield Host("user", "127.0.0.1", "", "lo", holder)


@pytest.mark.root
def test_an_answer_that_is_read_late_did_not_come_late(host: Host) -> None:
    with noting_arrivals(host) as arrivals:
        with inside(host.pid):
            listener = socket.create_server(("127.0.0.1", 0))
            client = socket.create_connection(listener.getsockname())
        with listener, client, listener.accept()[0] as server:
            before_s = time.time()
            server.sendall(b"answer")
            after_s = time.time()
            time.sleep(0.3)
            assert client.recv(100) == b"answer"
            read_s = time.time()
    assert not arrivals.lost
    syn, syn_ack, answer = arrivals.of("127.0.0.1", connecting=True)
    assert syn <= syn_ack <= before_s <= answer <= after_s < read_s - 0.2
