"""What reaches a host is noted when it arrives, not when somebody reads it; and any bytes are a packet or none."""

import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.network.arrivals import noting_arrivals, sender
from harness.network.star import Host
from harness.system.netns import inside
from tests.support.namespaces import own_namespace

SYN_ACK, ACK = 0x12, 0x10


def packet(payload: bytes = b"", flags: int = ACK, protocol: int = 6, options: int = 0) -> bytes:
    """Return an IPv4 packet from 10.0.0.7 (RFC 791) with a TCP segment (RFC 9293)."""
    tcp = bytes(12) + bytes([(5 + options) << 4, flags]) + bytes(6 + 4 * options) + payload
    ip = bytes([0x45, 0]) + (20 + len(tcp)).to_bytes(2, "big") + bytes(5) + bytes([protocol]) + bytes(2)
    return ip + bytes([10, 0, 0, 7]) + bytes(4) + tcp


def test_only_what_a_server_itself_says_counts() -> None:
    assert sender(packet(b"HTTP/1.1 200")) == "10.0.0.7"
    assert sender(packet(b"x", options=10)) == "10.0.0.7"
    assert sender(packet(b"x" * 1000)[:60]) == "10.0.0.7", "only the first bytes are kept"
    assert sender(packet(flags=SYN_ACK)) == "10.0.0.7"
    assert sender(packet()) == "", "a bare acknowledgement is the kernel's, not the server's"
    assert sender(packet(b"x", protocol=17)) == "", "UDP"


@given(st.binary(max_size=120))
def test_any_bytes_are_a_packet_or_none(data: bytes) -> None:
    assert isinstance(sender(data), str)


@pytest.fixture
def host() -> Iterator[Host]:
    """A host whose only interface is its loopback."""
    with own_namespace() as holder:
        yield Host("user", "127.0.0.1", "", "lo", holder)


@pytest.mark.root
@pytest.mark.beside
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
    syn, syn_ack, answer = arrivals.at_s["127.0.0.1"]
    assert syn <= syn_ack <= before_s <= answer <= after_s < read_s - 0.2
