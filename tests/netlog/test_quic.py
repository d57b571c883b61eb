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
