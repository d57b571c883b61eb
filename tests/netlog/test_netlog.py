"""The net-log reader against logs of a real Chromium and the server's own access log (tests/corpus/netlogs).

What is read of each log is said there, a line for each exchange; here is what holds for all of them, and of a log whose
events make no sense: it is read as far as it makes some, and nothing ends in a traceback.
"""

import gzip
import json
import os
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.files.exchange import UNFINISHED, Fate
from harness.files.har import to_har
from harness.files.load_record import LoadEvent
from harness.files.moments import moment_at
from harness.netlog.file import POINT, Event, Subscriber
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.page import end_load, exchanges, page_log
from harness.netlog.sent import read_sent_bodies
from harness.netlog.silences import server_pieces, silences
from harness.netlog.socket_bytes import Sockets
from harness.netlog.websockets import read_websockets
from tests.support.made_netlog import numbers
from tests.support.noted import cases

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"
WHOLE = gzip.decompress((DATA / "hanging.json.gz").read_bytes())
FIRST_LINE = WHOLE.index(b"\n") + 20


def read_scene(name: str, folder: Path, *others: Subscriber[Any]) -> NetLog:
    """Read the net-log of a recorded load."""
    path = folder / "netlog.json"
    path.write_bytes(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    return read_netlog(path, *others)


def counting_bytes(sent: Counter[str], event: Event) -> None:
    sent["bytes"] += event.params["byte_count"]


@pytest.mark.parametrize("scene", ["settled", "hanging", "killed"])
def test_it_is_what_the_server_saw_and_a_har_says_how_much_was_sent(scene: str, tmp_path: Path) -> None:
    """It saw each request once, on connections that carried as many.

    Chrome strips cookies from the log and says how long they were, so the sizes in the HAR are exact.
    """
    passed = Subscriber[Counter[str]](("SOCKET",), lambda _: Counter(), {("SOCKET_BYTES_SENT", POINT): counting_bytes})
    netlog = read_scene(scene, tmp_path, passed)
    served = json.loads((DATA / f"{scene}.served.json").read_text())["served"]
    assert Counter((hop.method, urldefrag(hop.url).url, hop.status, hop.status // 100 != 3 and hop.body_bytes)
                   for hop in netlog.transactions if hop.sends) == Counter(
        (line["method"], line["url"], line["status"], line["status"] // 100 != 3 and line["body"]) for line in served)
    assert sorted(connection.requests for connection in netlog.connections if connection.requests
                  ) == sorted(Counter(tuple(line["connection"]) for line in served).values())

    sent = Counter[str]()
    for entry in map(to_har, exchanges(netlog, 0)):
        sent[entry.get("connection", "")] += entry["request"]["headersSize"] + entry["request"]["bodySize"]
    assert {used: sent[used] for used in sent if used} == {
        str(used.id): passed.found[used.id]["bytes"] for used in netlog.connections if used.requests}


def test_a_fate_is_set_by_the_load_event_and_the_end_of_the_load(tmp_path: Path) -> None:
    netlog = read_scene("hanging", tmp_path)
    silent = next(hop for hop in netlog.transactions if hop.url == "http://a.test/silent?hang")

    def fate(event_tick: float | None) -> tuple[str, Fate]:
        event = None if event_tick is None else LoadEvent(event_tick, event_tick)
        return next((each.error, each.fate) for each in exchanges(netlog, 0, event) if each.request.url == silent.url)

    assert fate(None) == ("net::ERR_ABORTED", Fate.CANCELLED)
    end_load(netlog, silent.start + 50)
    assert fate(None) == fate(silent.start + 1) == (UNFINISHED, Fate.FAILED)
    assert fate(silent.start - 1) == (UNFINISHED, Fate.AFTER_LOAD)
    assert any(each.startswith(silent.url) for each in page_log(netlog, 0).problems)


def test_a_log_is_not_held_in_memory(tmp_path: Path) -> None:
    """40 MB."""
    head, mark, rest = WHOLE.partition(b'"events": [\n')
    event = b'{"params":{"x":"%s"},"phase":0,"source":{"id":1,"type":0},"time":"1","type":0},\n' % (b"x" * 40_000)
    path = tmp_path / "netlog.json"
    path.write_bytes(head + mark + event * 1000 + rest)
    tracemalloc.start()
    try:
        assert read_netlog(path).transactions
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_over_quic_a_request_is_too_late_for_early_data_once_the_handshake_is_over(tmp_path: Path) -> None:
    """As it was on the fourth, over loopback; the first two, of a first visit, had no ticket."""
    netlog = read_scene("h3_streams", tmp_path)
    assert [each.asked_late for each in netlog.connections] == [False, False, False, True]
    opened = [each for each in exchanges(netlog, 0) if each.phases.connect >= 0]
    assert [(each.connection, each.answer.protocol) for each in opened] == [
        (str(each.id), "h3") for each in netlog.connections]
    assert all(each.phases.ssl == each.phases.connect and each.phases.dns >= 0 for each in opened)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> NetLog:
    return read_scene("hanging", tmp_path_factory.mktemp("full"))


@settings(max_examples=60, deadline=None)
@given(length=st.one_of(st.integers(0, FIRST_LINE), st.integers(0, len(WHOLE) - 1)))
def test_a_log_cut_anywhere_is_read_as_far_as_it_goes(full: NetLog, length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "netlog.json"
        path.write_bytes(WHOLE[:length])
        netlog = read_netlog(path)
    assert netlog.problems or WHOLE[length:].strip() == b""
    over = {(hop.source, hop.hop, hop.url) for hop in netlog.transactions if hop.end is not None}
    assert over <= {(hop.source, hop.hop, hop.url) for hop in full.transactions}    # Chrome's start page may not be
    page_log(netlog, 0)
    exchanges(netlog, 0)


@pytest.mark.parametrize("text", [
    "[]", "not json\n", '{"constants": 3, "events": []}', '{"constants": {}, "events": [1, null, {}]}',
    '{"constants": {"logEventTypes": [], "logSourceType": 1}, "events": []}', "\xff\xfe\x00"])
def test_what_is_no_netlog_is_a_problem_not_a_crash(text: str, tmp_path: Path) -> None:
    path = tmp_path / "netlog.json"
    path.write_text(text, encoding="latin-1")
    netlog = read_netlog(path)
    assert netlog.problems
    assert not page_log(netlog, 0).transactions_seen


@pytest.mark.parametrize("whole", [True, False])
def test_a_log_that_chrome_still_writes_is_read_to_its_end(tmp_path: Path, full: NetLog, *, whole: bool) -> None:
    """Whoever reads it does not wait for Chrome's own end, but for Chrome's end where the log gets none."""
    text, path = WHOLE.removesuffix(b"]}") + b"],\n\"polledData\": [{}]\n}\n", tmp_path / "netlog.json"
    path.write_bytes(text[:len(text) // 3])
    rest = [text[len(text) // 3:-len(text) // 3], text[-len(text) // 3:][:None if whole else -len(text) // 9]]

    def writes_on() -> bool:
        """Write the next piece, if there is one; tell whether Chrome has ended."""
        with path.open("ab") as log:
            log.write(rest.pop(0) if rest else b"")
        return not (whole or rest)

    netlog = read_netlog(path, is_over=writes_on)
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
    lacking = path.read_bytes()
    path.write_bytes(lacking[:begin] + lacking[begin:].partition(b"\n")[0] + b"\n")     # Chrome still writes it

    def is_over() -> bool:
        path.write_bytes(lacking)
        return True

    with pytest.raises(ExperimentError, match=r"netlog\.json:\d+: "):
        read_netlog(path, is_over=is_over)


@pytest.mark.parametrize("name", ["none", "link", "fifo"])
def test_a_missing_log_a_link_and_a_fifo_are_refused(name: str, tmp_path: Path) -> None:
    """Root reads it in a folder of Chrome's user."""
    (tmp_path / "of-root.json").write_bytes(WHOLE)
    (tmp_path / "link.json").symlink_to("of-root.json")
    os.mkfifo(tmp_path / "fifo.json")
    with pytest.raises(ExperimentError, match=rf"{name}\.json: "):
        read_netlog(tmp_path / f"{name}.json")


MADE = [event for case in cases("corpus/netlogs/made.jsonl") for event in case["events"]]
TYPES, KINDS = numbers(MADE, 3), numbers(MADE, 1)

NONSENSE = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9),
                        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                                                     max_size=3), max_leaves=5)
TEXTS = st.sampled_from(["http://a.test/", "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK", "content-length: x", "QUJD",
                         "main frame", "http://[", "%ESCAPED:\u200b %ff"])
PARAMETERS = st.dictionaries(
    st.sampled_from(["url", "method", "headers", "line", "bytes", "byte_count", "net_error", "load_flags", "initiator",
                     "source_dependency", "address", "remote_address", "location", "request_type"]),
    TEXTS | st.lists(TEXTS, max_size=3) | st.fixed_dictionaries({"id": st.integers(0, 3) | TEXTS}) | NONSENSE)
EVENTS = st.lists(NONSENSE | st.fixed_dictionaries({
    "time": st.integers(0, 99).map(str) | TEXTS, "type": st.sampled_from([*TYPES.values()]), "phase": st.integers(0, 2),
    "params": PARAMETERS | NONSENSE,
    "source": st.fixed_dictionaries({"id": st.integers(0, 3), "type": st.sampled_from([*KINDS.values()])})}),
    max_size=30)


@settings(max_examples=100, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(EVENTS)
def test_events_that_make_no_sense_are_passed_over(events: list[Any]) -> None:
    constants = {"logEventTypes": TYPES, "logSourceType": KINDS, "netError": {"ERR_ABORTED": -3}}
    sockets = Sockets()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "netlog.json"
        log.write_text(json.dumps({"constants": constants, "events": events}))
        netlog = read_netlog(log, sockets)
    page_log(netlog, 0)
    json.dumps([*map(to_har, exchanges(netlog, 0))])
    silences(netlog, 0, netlog.end_tick)
    server_pieces(netlog)
    read_sent_bodies(sockets.found.values())
    read_websockets(sockets.found.values(), moment_at)
