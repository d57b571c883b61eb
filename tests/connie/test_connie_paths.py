"""The star's paths decide by a packet's first bytes: which way it goes, how long it takes, whether it is lost."""

import ipaddress
import struct
import time

import pytest

from connie.lab.paths import ACK, SYN, Head, Paths, parse, read_paths
from connie.lab.scenarios import LOSE_ALL, LOSE_FIRST_SYN, PASS

CLIENT4, CLIENT6 = "10.0.0.1", "2001:db8:0:1::1"
SERVER4, SERVER6 = "198.18.0.1", "2001:db8:8000::1"
UDP = 17


def packet(source: str, target: str, flags: int, port: int = 40000, protocol: int = 6) -> bytes:
    """The first 60 bytes of a packet without options."""
    ends = ipaddress.ip_address(source), ipaddress.ip_address(target)
    addresses = ends[0].packed + ends[1].packed
    if ends[0].version == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, protocol, 0) + addresses
    else:
        head = struct.pack("!IHBB", 6 << 28, 20, protocol, 64) + addresses
    return head + struct.pack("!HHIIBBHHH", port, 80, 0, 0, 5 << 4, flags, 0, 0, 0)


class Held:
    """A packet of the kernel's, and its verdict."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self.verdict = ""
        self.at_s = 0.0

    def get_payload(self) -> bytes:
        return self._payload

    def get_timestamp(self) -> float:
        return 0.0

    def accept(self) -> None:
        self.verdict, self.at_s = "accepted", time.monotonic()

    def drop(self) -> None:
        self.verdict = "dropped"


def made_paths(path: str, one_way_ms: float = 20) -> Paths:
    settings: dict[str, dict[str, float | str]] = {
        address: {"one_way_ms": one_way_ms, "jitter_ms": 0, "path": path} for address in (SERVER4, SERVER6)}
    return Paths(read_paths(settings), seed=1)


def passed(paths: Paths, *packets: bytes) -> list[Held]:
    """Send the packets down the paths and wait for the last."""
    held = [Held(payload) for payload in packets]
    for waiting in held:
        paths.hold(waiting)
    while (wait_s := paths.under_way.release_due()) is not None:
        time.sleep(wait_s)
    return held


@pytest.mark.parametrize(("client", "server"), [(CLIENT4, SERVER4), (CLIENT6, SERVER6)])
def test_what_is_read(client: str, server: str) -> None:
    ends = ipaddress.ip_address(client).packed, ipaddress.ip_address(server).packed
    ports = struct.pack("!HH", 40000, 80)
    assert parse(packet(client, server, SYN)) == Head(*ends, ports, is_first=True)
    assert parse(packet(client, server, SYN | ACK)) == Head(*ends, ports, is_first=False)
    assert parse(packet(client, server, SYN, protocol=UDP)) == Head(*ends, b"", is_first=False)


@pytest.mark.parametrize(("client", "server"), [(CLIENT4, SERVER4), (CLIENT6, SERVER6)])
def test_both_directions_are_delayed_and_nothing_else(client: str, server: str) -> None:
    began_s = time.monotonic()
    there, back = passed(made_paths(PASS), packet(client, server, SYN), packet(server, client, SYN | ACK))
    assert there.verdict == back.verdict == "accepted"
    assert min(there.at_s, back.at_s) - began_s >= 0.020
    paths, other = made_paths(PASS, one_way_ms=10_000), Held(packet("10.0.0.1", "10.0.0.2", SYN))
    paths.hold(other)
    assert other.verdict == "accepted", "at once"


def test_losses() -> None:
    syn, again, ack = packet(CLIENT4, SERVER4, SYN), packet(CLIENT4, SERVER4, SYN), packet(CLIENT4, SERVER4, ACK)
    other = packet(CLIENT4, SERVER4, SYN, port=40001)
    assert [held.verdict for held in passed(made_paths(LOSE_ALL), syn, again, ack)] == ["dropped"] * 3
    verdicts = [held.verdict for held in passed(made_paths(LOSE_FIRST_SYN), syn, again, ack, other)]
    assert verdicts == ["dropped", "accepted", "accepted", "dropped"]
