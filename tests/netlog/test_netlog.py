"""The net-log reader against logs of a real Chromium and the server's own access log (tests/corpus/netlogs).

What is read of each log is said there, a line for each exchange; here is what holds for all of them.
"""

import gzip
import json
import os
import tempfile
import tracemalloc
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.files.exchange import UNFINISHED, Fate
from harness.files.load_record import LoadEvent
from harness.netlog.file import read_constants, read_events
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.page import exchanges, har, page_log
from tests.support.har_schema import har_problems
from tests.support.made_netlog import MadeNetLog

A = "http://a.test"
DATA = Path(__file__).parent.parent / "corpus" / "netlogs"
SCENES = ("settled", "hanging", "killed")
WHOLE = gzip.decompress((DATA / "hanging.json.gz").read_bytes())
FIRST_LINE = WHOLE.index(b"\n") + 20


class Scene:
    """A recorded load: its net-log, the tick of its navigation's start, and what its server and Chrome's page saw."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = folder / f"{name}.json"
        self.path.write_bytes(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
        self.netlog = read_netlog(self.path)
        told = json.loads((DATA / f"{name}.served.json").read_text())
        self.served, self.timing = told["served"], told["timing"]
        self.start = self.netlog.tick(self.timing["navigationStart"])

    def har(self, **more: Any) -> dict[str, Any]:
        """Return its HAR, as read back from JSON."""
        on_load_ms = self.timing["loadEventEnd"] - self.timing["navigationStart"]
        archive: dict[str, Any] = json.loads(json.dumps(har(self.netlog, f"{A}/", self.start, on_load_ms=on_load_ms,
                                                            **more)))
        return archive


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return Scene(str(request.param), tmp_path)


def test_it_is_what_the_server_saw(scene: Scene) -> None:
    """It saw each request once, on connections that carried as many."""
    netlog, served = scene.netlog, scene.served
    assert Counter((hop.method, urldefrag(hop.url).url, hop.status) for hop in netlog.transactions if hop.sends
                   ) == Counter((line["method"], line["url"], line["status"]) for line in served)
    assert sorted(connection.requests for connection in netlog.connections if connection.requests
                  ) == sorted(Counter(tuple(line["connection"]) for line in served).values())
    assert Counter((urldefrag(hop.url).url, hop.body_bytes) for hop in netlog.transactions
                   if hop.sends and hop.status // 100 != 3
                   ) == Counter((line["url"], line["body"]) for line in served if line["status"] // 100 != 3)


def test_a_fate_is_set_by_the_load_event_and_the_end_of_the_load(tmp_path: Path) -> None:
    scene = Scene("hanging", tmp_path)
    silent = next(hop for hop in scene.netlog.transactions if hop.url == f"{A}/silent?hang")

    def fate(end_tick: float | None, event_tick: float | None) -> tuple[str, Fate]:
        event = None if event_tick is None else LoadEvent(event_tick, event_tick)
        found = exchanges(scene.netlog, scene.start, end_tick, event)
        return next((each.error, each.fate) for each in found if each.request.url == silent.url)

    assert fate(None, None) == ("net::ERR_ABORTED", Fate.CANCELLED)
    assert fate(silent.start + 50, None) == (UNFINISHED, Fate.FAILED)
    assert fate(silent.start + 50, silent.start - 1) == (UNFINISHED, Fate.AFTER_LOAD)
    assert fate(silent.start + 50, silent.start + 1) == (UNFINISHED, Fate.FAILED)
    assert len(exchanges(scene.netlog, scene.start, silent.start - 1)) < len(scene.netlog.transactions)
    cut = page_log(scene.netlog, scene.start, silent.start + 50)
    assert not [row for row in cut.transactions if row.url == silent.url]
    assert [problem for problem in cut.problems if problem.startswith(silent.url)]


def test_a_har_is_one_by_its_schema_and_says_what_crossed_the_network(scene: Scene) -> None:
    """Chrome strips cookies from the log and says how long they were, so the sizes are exact."""
    archive = scene.har()
    assert har_problems(archive) == []
    sent: Counter[str] = Counter()
    for entry in archive["log"]["entries"]:
        if "connection" in entry:
            sent[entry["connection"]] += entry["request"]["headersSize"] + entry["request"]["bodySize"]
    kind = read_constants(scene.path)["logEventTypes"]["SOCKET_BYTES_SENT"]
    passed: Counter[str] = Counter()
    for event in read_events(scene.path, []):
        if event["type"] == kind:
            passed[str(event["source"]["id"])] += event["params"]["byte_count"]
    assert sent == {str(used.id): passed[str(used.id)] for used in scene.netlog.connections if used.requests}
    day_ms = 86_400_000.0
    begins = [datetime.fromisoformat(log["log"]["pages"][0]["startedDateTime"])
              for log in (archive, scene.har(clock_shift_ms=100 * day_ms))]
    assert begins[0] - begins[1] == timedelta(days=100)


@pytest.fixture
def h3(tmp_path: Path) -> NetLog:
    """Two visits of a page of two hosts over QUIC, the second with early data (tests/corpus/netlogs/pages)."""
    log = tmp_path / "netlog.json"
    log.write_bytes(gzip.decompress((DATA / "h3_streams.json.gz").read_bytes()))
    return read_netlog(log)


def test_a_request_is_too_late_for_early_data_once_the_handshake_is_over(h3: NetLog) -> None:
    """As it was on the fourth, over loopback; the first two had no ticket."""
    assert [each.asked_late for each in h3.connections] == [False, False, False, True]
    for each in h3.connections:
        assert each.confirmed is not None
        asked = [hop.send_end for hop in h3.transactions if hop.connection == each.id and hop.send_end is not None]
        assert each.first_asked == min(asked)
        assert each.asked_late == (bool(each.early) and min(asked) >= each.confirmed)


def test_the_har_has_one_handshake_for_each_connection(h3: NetLog) -> None:
    found = har(h3, "https://first.example/", h3.transactions[0].start)
    entries: list[dict[str, Any]] = found["log"]["entries"]
    assert {entry["response"]["httpVersion"] for entry in entries} == {"h3"}
    assert {entry["request"]["httpVersion"] for entry in entries} == {"h3"}
    opened = [entry for entry in entries if entry["timings"]["connect"] >= 0]
    assert [entry["connection"] for entry in opened] == [str(each.id) for each in h3.connections]
    assert all(entry["timings"]["ssl"] == entry["timings"]["connect"] for entry in opened)
    assert all(entry["timings"]["dns"] >= 0 for entry in opened)


@settings(max_examples=60, deadline=None)
@given(length=st.one_of(st.integers(0, FIRST_LINE), st.integers(0, len(WHOLE) - 1)))
def test_a_log_cut_anywhere_is_read_as_far_as_it_goes(length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "netlog.json"
        path.write_bytes(WHOLE)
        full = {(hop.source, hop.hop, hop.url) for hop in read_netlog(path).transactions} if length % 10 == 0 else None
        path.write_bytes(WHOLE[:length])
        netlog = read_netlog(path)
        assert netlog.problems or WHOLE[length:].strip() == b""
        if full is not None:
            over = [hop for hop in netlog.transactions if hop.end is not None]      # Chrome's start page may not be
            assert {(hop.source, hop.hop, hop.url) for hop in over} <= full
        page_log(netlog, 0)
        exchanges(netlog, 0)


@pytest.mark.parametrize("text", [
    "", "{", "[]", "3", "not json\n", '{"constants": 3, "events": []}', '{"constants": {}, "events": [1, null, {}]}',
    '{"constants": {"logEventTypes": [], "logSourceType": 1}, "events": []}', "\xff\xfe\x00"])
def test_what_is_no_netlog_is_a_problem_not_a_crash(text: str, tmp_path: Path) -> None:
    path = tmp_path / "netlog.json"
    path.write_text(text, encoding="latin-1")
    netlog = read_netlog(path)
    assert netlog.problems
    assert not page_log(netlog, 0).transactions_seen


@pytest.mark.parametrize("whole", [True, False])
def test_a_log_that_chrome_still_writes_is_read_to_its_end(tmp_path: Path, *, whole: bool) -> None:
    """Whoever reads it does not wait for Chrome's own end, but for Chrome's end where the log gets none."""
    path = tmp_path / "netlog.json"
    text = WHOLE.removesuffix(b"]}") + b"],\n\"polledData\": [{}]\n}\n"
    places = [*range(len(text) // 3, len(text), len(text) // 10), len(text)][:None if whole else -1]
    path.write_bytes(text[:places[0]])

    def writes_on() -> bool:
        """Write the next piece, if there is one; tell whether Chrome has ended."""
        written = path.stat().st_size
        more = next((place for place in places if place > written), written)
        with path.open("ab") as log:
            log.write(text[written:more])
        return not whole and more == written

    netlog = read_netlog(path, is_over=writes_on)
    path.write_bytes(WHOLE)
    full = read_netlog(path)
    assert bool(netlog.problems) != whole
    assert (len(netlog.transactions) == len(full.transactions)) or not whole


@pytest.mark.parametrize("lost_bytes", [30, 5000])
def test_a_log_that_lacks_a_part_of_its_middle_is_refused(lost_bytes: int, tmp_path: Path) -> None:
    """As Chrome leaves it when the disk was full for a while: what came later is there, and must not look like all."""
    path, middle = tmp_path / "netlog.json", len(WHOLE) // 2
    begin = WHOLE.index(b'"source"', middle) + 12
    path.write_bytes(WHOLE[:begin] + WHOLE[WHOLE.index(b'\n{', begin + lost_bytes) + 1:])
    with pytest.raises(ExperimentError, match=r"netlog\.json:\d+: "):
        read_netlog(path)


def test_a_missing_log_a_link_and_a_fifo_are_refused(tmp_path: Path) -> None:
    """Each time it is opened: root reads it in a folder of Chrome's user."""
    (tmp_path / "of-root.json").write_bytes(WHOLE)
    (tmp_path / "link.json").symlink_to("of-root.json")
    os.mkfifo(tmp_path / "fifo.json")
    for name in ("none", "link", "fifo"):
        for read in (read_netlog, read_constants, lambda path: next(read_events(path, []))):
            with pytest.raises(ExperimentError, match=rf"{name}\.json: "):
                read(tmp_path / f"{name}.json")


def test_bodies_of_a_recording_are_not_held_in_memory(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.head("200 OK")
    log.body(*[b"x" * 32_768] * 1000)
    log.end()
    path = log.write(tmp_path / "netlog.json")
    assert path.stat().st_size > 40_000_000
    tracemalloc.start()
    try:
        transaction, = read_netlog(path).transactions
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert transaction.body_bytes == 32_768_000
    assert peak_bytes < 8_000_000
