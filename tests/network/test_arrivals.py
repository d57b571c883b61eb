"""What reaches a host is noted when it arrives, not when somebody reads it; and any bytes are a packet or none."""

import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.network.arrivals import Said, noting_arrivals, read_packet
from harness.system.namespaces import inside
from tests.network.packets import ACK, COOKIE, SERVER, SYN, packet
from tests.support.namespaces import host_with

SYN_ACK = SYN | ACK


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


@pytest.mark.root
def test_an_answer_that_is_read_late_did_not_come_late() -> None:
    with host_with("ip link set lo up") as host, noting_arrivals(host) as arrivals:
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
