"""QUIC's connections in the net-log of a real Chrome (tests/corpus/netlogs/pages/h3_streams.py): two visits of a page
of two hosts, the second with early data.
"""

import gzip
from pathlib import Path
from typing import Any

import pytest

from harness.netlog.har import har
from harness.netlog.load import NetLog, read_netlog
from tests.corpus.test_netlogs import NETLOGS


@pytest.fixture(scope="module")
def netlog(tmp_path_factory: pytest.TempPathFactory) -> NetLog:
    log: Path = tmp_path_factory.mktemp("h3") / "netlog.json"
    log.write_bytes(gzip.decompress((NETLOGS / "h3_streams.json.gz").read_bytes()))
    return read_netlog(log)


def test_sessions_are_connections_and_tcp_carried_no_request(netlog: NetLog) -> None:
    assert [(each.name, each.address.partition(":")[0], each.quic, each.early, each.error)
            for each in netlog.connections] == [
        ("first.example:443", "127.0.0.1", True, None, 0),
        ("second.example:443", "127.0.0.2", True, None, 0),
        ("first.example:443", "127.0.0.1", True, True, 0),
        ("second.example:443", "127.0.0.2", True, True, 0)]
    assert [each.requests for each in netlog.connections] == [13, 11, 13, 11]
    for each in netlog.connections:
        assert each.connected is not None
        assert each.closed is not None
        assert each.start <= each.connected <= each.sent[-1] <= each.closed
        assert each.ssl == (each.start, each.connected)
        assert each.start < each.received[0] <= each.received[-1] <= each.closed


def test_early_data_waits_for_no_handshake(netlog: NetLog) -> None:
    for each in netlog.connections:
        assert each.connected is not None
        assert (each.received[0] > each.connected) == bool(each.early)


def test_a_request_is_too_late_for_early_data_once_the_handshake_is_over(netlog: NetLog) -> None:
    """As it was on the fourth, over loopback; the first two had no ticket."""
    assert [each.asked_late for each in netlog.connections] == [False, False, False, True]
    for each in netlog.connections:
        assert each.confirmed is not None
        asked = [hop.send_end for hop in netlog.transactions if hop.connection == each.id and hop.send_end is not None]
        assert each.first_asked == min(asked)
        assert each.asked_late == (bool(each.early) and min(asked) >= each.confirmed)


def test_the_har_has_one_handshake_for_each_connection(netlog: NetLog) -> None:
    found = har(netlog, "https://first.example/", netlog.transactions[0].start)
    entries: list[dict[str, Any]] = found["log"]["entries"]
    assert {entry["response"]["httpVersion"] for entry in entries} == {"h3"}
    assert {entry["request"]["httpVersion"] for entry in entries} == {"h3"}
    opened = [entry for entry in entries if entry["timings"]["connect"] >= 0]
    assert [entry["connection"] for entry in opened] == [str(each.id) for each in netlog.connections]
    assert all(entry["timings"]["ssl"] == entry["timings"]["connect"] for entry in opened)
    assert all(entry["timings"]["dns"] >= 0 for entry in opened)
