"""tfo.py on real loads, with --until-ci and --pcap: real star, real Chrome, real TFO, and what tshark saw of it.

Three nested frames, each found in the one before, with a style sheet each: six connections to three hosts.
"""

import json
from pathlib import Path

import pytest

from harness.measure.resume import program_digest
from tests.support.finished import Finished, measured
from tests.support.har_schema import assert_har
from tests.support.ordinary import AS_ORDINARY
from tests.support.project_copy import TFO
from tests.support.ran import assert_refused, ran
from tests.support.recording import chain_of_hosts, chain_of_scripts

pytestmark = [pytest.mark.root, pytest.mark.chrome]
PAGE = "httpwww.nytimes.com"
HOSTS, CONNECTIONS = 3, 6
COOKIE_BYTES = 8
"""Length of Linux's cookies (RFC 7413 allows 4 to 16)."""
FIELDS = ("tcp.flags", "tcp.len", "tcp.options.tfo.cookie", "tcp.options.tfo.request", "tcp.analysis.lost_segment",
          "tcp.analysis.ack_lost_segment")
FIN, SYN, ACK = 0x01, 0x02, 0x10


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Measure once for all tests: at first two runs, and one more for an interval."""
    return measured(chain_of_hosts(tmp_path_factory.mktemp("until-ci"), HOSTS), "--delaynet", 50, "--until-ci", 99,
                    "--min-pairs", 2, "--max-runs", 5, "--pcap")


def test_each_load_counts_by_the_kernels_counters(found: Finished) -> None:
    """What TFO saves of such a chain is measured in test_savings.py."""
    for load in found.loads:
        assert (load.why_not, load.requests, load.connections_with_request) == ((), CONNECTIONS, CONNECTIONS)
        passive, in_syn = load.counters["servers"]["TCPFastOpenPassive"], load.syn_data_connections
        assert load.tfo or passive == in_syn == 0
        assert not (load.tfo and load.run) or passive == in_syn == CONNECTIONS
    environment = found.loads[0].to_json()["environment"]
    assert len(environment["measured_rtt_ms"]) == HOSTS
    assert environment["versions"]["chrome"]
    assert "--headless" in " ".join(environment["argv"])
    assert "--no-sandbox" not in environment["argv"]


def test_pairs_are_added_until_the_interval_is_narrow(found: Finished) -> None:
    assert "(95% interval of 2 pairs) after 2 measured runs\n" in found.said
    assert "[  1/>=4]" in found.said
    assert "[  6/6]" in found.said
    assert [load.run for load in found.loads] == [0, 0, 1, 1, 2, 2]
    assert [load.tfo for load in found.loads] in ([0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0])


def test_results_are_whole(found: Finished) -> None:
    assert json.loads((found.client / "experiment-50.json").read_text())["tfo_lab"] == program_digest()
    assert len((found.client / "loads.csv").read_text().splitlines()) == 1 + len(found.loads)
    assert (found.results.problems, [load.page for load in found.results.loads]) == ([], [PAGE] * 6)
    for path in found.client.glob("50-*/*.har"):
        assert len(assert_har(path)["entries"]) == CONNECTIONS


def test_captures_are_whole_and_syns_carry_a_cookie_and_data_with_tfo_alone(found: Finished) -> None:
    """No packet is missing: each connection of the load is there to the end, with all its data."""
    for load in found.loads:
        assert load.capture is not None
        assert (load.capture.dropped, load.capture.problem) == (0, None)
        said = ran("tshark", "-Y", "tcp", "-r", found.client / f"50-{load.run}-tfo-{load.tfo}" / f"{PAGE}.pcap",
                   "-T", "fields", *(word for name in FIELDS for word in ("-e", name)), status=0).stdout
        read = [(int(flags, 16), more) for flags, *more in (line.split("\t") for line in said.splitlines())]
        assert len(read) == load.capture.packets > CONNECTIONS * 7, "SYN, SYN-ACK, request, answer, FIN, FIN, ACK"
        assert sum(bool(flags & FIN) for flags, _ in read) == 2 * CONNECTIONS
        assert not [lost for _, (*_, lost, lost_ack) in read if lost or lost_ack]

        syns = [(int(size), cookie, request) for flags, (size, cookie, request, *_) in read
                if flags & (SYN | ACK) == SYN]
        assert len(syns) == CONNECTIONS
        if not load.tfo:
            assert syns == [(0, "", "")] * CONNECTIONS
        elif load.run == 0:
            assert sum(request != "" for *_, request in syns) == HOSTS, "the warm-up asks each for a cookie"
        else:
            assert {(size > 100, len(cookie) // 2, request) for size, cookie, request in syns} == {
                (True, COOKIE_BYTES, "")}, "a whole HTTP request"


TWO_SITES = ("http://www.one.test/", "http://a.one.test/1.js", "http://b.one.test/2.js", "http://a.one.test/3.js",
             "http://two.test/4.js")
DIALOGS = "<script>setTimeout(() => { alert('one'); confirm('two') }, 100)</script>"
"""A page that asks while more of it is on the way: that must not end its load."""


@pytest.mark.parametrize(("mode", "gave", "in_syn"), [
    ("cold", 4, 1), pytest.param("domain", 2, 3, marks=pytest.mark.timing)])
def test_first_visits_have_the_cookies_that_servers_gave_before(mode: str, gave: int, in_syn: int,
                                                                tmp_path: Path) -> None:
    """A chain of five connections to four servers of two sites: each server gives one, or one of each site.

    Data are in the SYN of the second connection to a.one.test, or of all but the first to each site, for which cookies
    are copied within a round trip. By the packets, by the servers' logs and by the kernel's counters.
    """
    base = chain_of_scripts(tmp_path, *TWO_SITES)
    with (base / "small" / "www.one.test" / "index.html").open("a") as document:
        document.write(DIALOGS)
    record = measured(base, "--delaynet", "50", "--tfo", "1", "--cookies", mode).load(tfo=1)
    assert record.cookies is not None
    assert (record.cookies.mode, record.cookies.first) == (mode, gave)
    assert record.cookies.given >= gave
    assert record.requests == record.connections_with_request == len(TWO_SITES)
    assert (record.plt_ms or 0.0) > 100 * (2 * len(TWO_SITES) - in_syn), "not when a dialog opened, after 100 ms"
    assert record.syn_data_connections == in_syn
    assert record.counters["servers"]["TCPFastOpenPassive"] >= in_syn
    assert record.counters["servers"]["TCPFastOpenCookieReqd"] >= gave


def test_without_root_is_one_clear_line(tmp_path: Path) -> None:
    assert_refused(ran(*AS_ORDINARY, *TFO, "--dir", tmp_path))
