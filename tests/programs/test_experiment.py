"""tfo.py on real loads, with --until-ci and --pcap: real star, real Chrome, real TFO, and what tshark saw of it.

Three nested frames, each found in the one before, with a style sheet each: six connections to three hosts.
"""

import io
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from harness.measure.resume import program_digest
from tests.support.explained_pages import TWO_SITES, chain_of
from tests.support.finished import Finished, measured
from tests.support.har_schema import assert_har
from tests.support.ordinary import AS_ORDINARY
from tests.support.project_copy import TFO, experiment
from tests.support.ran import assert_refused, ran
from tests.support.recording import ICON, MadeRecording, chain_of_hosts, one_document

PAGE = "httpwww.nytimes.com"
HOSTS, CONNECTIONS = 3, 6
COOKIE_BYTES = 8
"""Length of Linux's cookies (RFC 7413 allows 4 to 16)."""
UNTIL = ("--delaynet", "50", "--until-ci", "99", "--min-pairs", "2", "--max-runs", "5", "--pcap")


def tshark(found: Finished, run: int, tfo: int, fields: tuple[str, ...], *shown: str) -> list[list[str]]:
    """Return these fields of each packet that is `shown`, or of all, in the capture of a load."""
    command = ["tshark", "-r", str(found.client / f"50-{run}-tfo-{tfo}" / f"{PAGE}.pcap"), *shown, "-T", "fields",
               *(word for name in fields for word in ("-e", name))]
    return [line.split("\t") for line in subprocess.check_output(command, text=True).splitlines()]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Measure once for all tests: at first two runs, and one more for an interval."""
    return measured(chain_of_hosts(tmp_path_factory.mktemp("until-ci"), HOSTS), *UNTIL)


@pytest.mark.root
@pytest.mark.chrome
class TestExperiment:
    """What its files say, and what its captures do."""

    def test_each_load_counts_by_the_kernels_counters(self, found: Finished) -> None:
        """What TFO saves of such a chain is measured in test_savings.py."""
        for load in found.loads:
            assert (load.why_not, load.requests, load.connections_with_request) == ((), CONNECTIONS, CONNECTIONS)
            passive, in_syn = load.counters["servers"]["TCPFastOpenPassive"], load.syn_data_connections
            assert load.tfo or passive == in_syn == 0
            assert not (load.tfo and load.run) or passive == in_syn == CONNECTIONS
        environment = found.loads[0].environment
        assert environment is not None
        assert environment.argv is not None
        assert len(environment.measured_rtt_ms) == HOSTS
        assert environment.versions
        assert environment.versions["chrome"]
        assert "--headless" in " ".join(environment.argv)
        assert "--no-sandbox" not in environment.argv

    def test_pairs_are_added_until_the_interval_is_narrow(self, found: Finished) -> None:
        assert "(95% interval of 2 pairs) after 2 measured runs\n" in found.said
        assert "[  1/>=4]" in found.said
        assert "[  6/6]" in found.said
        done = [[load.run, load.tfo] for load in found.loads]
        assert [run for run, _ in done] == [0, 0, 1, 1, 2, 2]
        assert [tfo for _, tfo in done] in ([0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0])

    def test_results_are_whole(self, found: Finished) -> None:
        description = json.loads((found.client / "experiment-50.json").read_text())
        assert [description[name] for name in ("until_ci", "max_runs", "min_pairs")] == [99, 5, 2]
        assert description["tfo_lab"] == program_digest()
        assert len((found.client / "loads.csv").read_text().splitlines()) == 1 + len(found.loads)
        assert (found.results.problems, [load.page for load in found.results.loads]) == ([], [PAGE] * 6)
        for path in found.client.glob("50-*/*.har"):
            assert len(assert_har(path)["entries"]) == CONNECTIONS
        assert sorted(path.name for path in (found.base / "serverlogs").iterdir()) == ["50-tfo-0", "50-tfo-1"]

    def test_a_whole_experiment_is_resumed_in_a_line_that_counts_all_its_loads(self, found: Finished) -> None:
        """Those beyond --testruns, too."""
        assert measured(found.base, *UNTIL, "--resume").said.endswith("100 ms: all 4 measured loads are there\n")

    def test_syns_carry_a_cookie_and_data_with_tfo_alone(self, found: Finished) -> None:
        fields = ("tcp.options.tfo.cookie", "tcp.options.tfo.request", "tcp.len")
        syns = {(load.run, load.tfo): tshark(found, load.run, load.tfo, fields,
                                             "-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0") for load in found.loads}
        for run in (1, 2):
            assert len(syns[run, 1]) == CONNECTIONS
            for cookie, request, data_bytes in syns[run, 1]:
                assert len(bytes.fromhex(cookie)) == COOKIE_BYTES
                assert (request, int(data_bytes) > 100) == ("", True), "a whole HTTP request"
        assert sum(request != "" for _, request, _ in syns[0, 1]) == HOSTS, "the warm-up asks each for a cookie"
        assert [syns[run, 0] for run in (0, 1, 2)] == [[["", "", "0"]] * CONNECTIONS] * 3

    def test_captures_are_whole(self, found: Finished) -> None:
        """No packet is missing: each connection of the load is there to the end, with all its data."""
        for load in found.loads:
            assert load.capture is not None
            assert (load.capture.dropped, load.capture.problem) == (0, None)
            read = tshark(found, load.run, load.tfo,
                          ("tcp.flags.fin", "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment"))
            assert len(read) == load.capture.packets > CONNECTIONS * 7, "SYN, SYN-ACK, request, answer, FIN, FIN, ACK"
            assert sum(fin in ("1", "True") for fin, *_ in read) == 2 * CONNECTIONS
            assert not [lost for _, *lost in read if any(lost)]


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.parametrize(("mode", "gave", "in_syn"), [
    ("cold", 4, 1), pytest.param("domain", 2, 3, marks=pytest.mark.timing)])
def test_first_visits_have_the_cookies_that_servers_gave_before(mode: str, gave: int, in_syn: int,
                                                                tmp_path: Path) -> None:
    """A chain of five connections to four servers of two sites: each server gives one, or one of each site.

    Data are in the SYN of the second connection to a.one.test, or of all but the first to each site, for which cookies
    are copied within a round trip. By the packets, by the servers' logs and by the kernel's counters.
    """
    record = measured(chain_of(tmp_path, *TWO_SITES), "--delaynet", "50", "--tfo", "1", "--cookies", mode).load(tfo=1)
    assert record.cookies is not None
    assert (record.cookies.mode, record.cookies.first) == (mode, gave)
    assert record.cookies.given >= gave
    assert record.connections_with_request == len(TWO_SITES)
    assert record.syn_data_connections == in_syn
    assert record.counters["servers"]["TCPFastOpenPassive"] >= in_syn
    assert record.counters["servers"]["TCPFastOpenCookieReqd"] >= gave


@pytest.mark.root
def test_page_that_is_not_in_the_mirror(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    (base / "small.pages").write_text("http://one.test/\n\nhttp://elsewhere.test/\n")
    done = experiment(base, status=2)
    assert done.stderr.startswith(f"{base}/small.pages:3: ")
    assert "http://elsewhere.test/" in done.stderr
    assert not (base / "client").exists()


@pytest.mark.root
def test_no_chrome_is_one_clear_line(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    done = ran(*TFO, "--dir", base, "--name", "small", env={**os.environ, "TFO_LAB_CHROME": "/nowhere/chrome"})
    assert_refused(done, 69)
    assert done.stderr.startswith("/nowhere/chrome: ")


@pytest.mark.root
def test_without_root_is_one_clear_line(tmp_path: Path) -> None:
    assert_refused(ran(*AS_ORDINARY, *TFO, "--dir", tmp_path))


@pytest.mark.root
@pytest.mark.chrome
def test_dialogs_before_a_late_load_event_do_not_end_the_load(tmp_path: Path) -> None:
    """A page that alerts while its image is on the way: its PLT is the image's, not the dialog's."""
    picture = io.BytesIO()          # a real one: Chrome gives up others as soon as it sees their first bytes
    Image.frombytes("RGB", (220, 220), random.Random(1).randbytes(220 * 220 * 3)).save(picture, "png")
    body = picture.getvalue()
    mirror = MadeRecording(tmp_path, "small", har=False)
    mirror.add("http://one.test/", f"<!doctype html>{ICON}<img src=/slow.png>"
               "<script>setTimeout(() => { alert('one'); confirm('two') }, 300)</script>")
    mirror.add("http://one.test/slow.png", body, "image/png")
    found = measured(mirror.finish("http://one.test/"), "--delaynet", "10", "--bwnet", "1", "--tfo", "0")
    assert len(found.loads) == 2
    assert all((load.plt_ms or 0.0) > len(body) * 8 / 1000 for load in found.loads)
