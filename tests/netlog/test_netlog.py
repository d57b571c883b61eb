"""The net-log reader against logs of a real Chromium (tests/corpus/netlogs) and the server's own access log."""

import gzip
import json
import os
import shutil
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.files.text_log import format_log, read_log
from harness.netlog.file import read_constants, read_events
from harness.netlog.har import har
from harness.netlog.load import HttpTransaction, NetLog, page_log, read_netlog, summarise
from tests.corpus.netlogs import record
from tests.corpus.netlogs.small_site import ABSENT, OLD, REFUSED, A, B, Site
from tests.support.growth import LINEAR, growth
from tests.support.made_netlog import MadeNetLog

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"
SCENES = ("settled", "hanging", "killed")
NEVER_SENT = {f"{REFUSED}/x.png", f"{ABSENT}/x.png"}


def fixture_text(scene: str) -> bytes:
    return gzip.decompress((DATA / f"{scene}.json.gz").read_bytes())


def served_of(scene: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((DATA / f"{scene}.served.json").read_text())
    return result


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def load(scene: str, folder: Path) -> NetLog:
    path = folder / "netlog.json"
    path.write_bytes(fixture_text(scene))
    return read_netlog(path)


def by_url(netlog: NetLog, url: str) -> list[HttpTransaction]:
    return [hop for hop in netlog.transactions if urldefrag(hop.url).url == url]


def start_of(netlog: NetLog, scene: str) -> float:
    return netlog.tick(served_of(scene)["timing"]["navigationStart"])


def asked(served: list[dict[str, Any]]) -> Counter[tuple[str, str, int]]:
    return Counter((line["method"], line["url"], line["status"]) for line in served)


def seen(netlog: NetLog) -> Counter[tuple[str, str, int]]:
    return Counter((hop.method, urldefrag(hop.url).url, hop.status) for hop in netlog.transactions if hop.sends)


def per_connection(served: list[dict[str, Any]]) -> list[int]:
    return sorted(Counter(tuple(line["connection"]) for line in served).values())


def carried(netlog: NetLog) -> list[int]:
    return sorted(connection.requests for connection in netlog.connections if connection.requests)


def test_every_request_the_server_saw_is_there_once(scene: str, tmp_path: Path) -> None:
    assert seen(load(scene, tmp_path)) == asked(served_of(scene)["served"])


def test_connections_carried_as_many_requests_as_the_server_saw(scene: str, tmp_path: Path) -> None:
    assert carried(load(scene, tmp_path)) == per_connection(served_of(scene)["served"])


def test_body_bytes_are_what_the_server_sent(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    sent = Counter((line["url"], line["body"]) for line in served_of(scene)["served"] if line["status"] // 100 != 3)
    got = Counter((urldefrag(hop.url).url, hop.body_bytes) for hop in netlog.transactions
                  if hop.sends and hop.status // 100 != 3)
    assert got == sent


def test_what_was_never_sent_is_kept_with_its_reason(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    failed = {hop.url: hop.error for hop in netlog.transactions if not hop.sends and not hop.from_cache}
    assert failed == {f"{REFUSED}/x.png": "net::ERR_CONNECTION_REFUSED",
                      f"{ABSENT}/x.png": "net::ERR_NAME_NOT_RESOLVED"}


def test_chromes_own_requests_are_left_out_and_counted(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    text = fixture_text(scene).decode()
    assert "clients2.google.com" in text                                # Chrome did ask for something of its own
    assert not [hop.url for hop in netlog.transactions if ".test" not in hop.url]
    assert netlog.left_out["Chrome's own"] >= 1
    assert all(connection.name.endswith(".test:80") for connection in netlog.connections)


def test_a_redirect_is_one_transaction_per_hop(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    first, = by_url(netlog, f"{A}/redirect")
    hops = [hop for hop in netlog.transactions if hop.source == first.source]
    assert [(hop.url, hop.status, hop.status_text, hop.redirect_url) for hop in hops] == [
        (f"{A}/redirect", 302, "Found", f"{B}/hop"),
        (f"{B}/hop", 301, "Moved Permanently", f"{A}/final.png#part"),
        (f"{A}/final.png#part", 200, "OK", None)]
    assert all(earlier.end is not None and earlier.end <= later.start for earlier, later in pairwise(hops))


def test_heads_of_answers(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    document, style, script, none, missing = (by_url(netlog, f"{A}{path}")[0] for path in
                                              ("/", "/style.css", "/app.js", "/none", "/missing.png"))
    assert (document.main_frame, document.mime_type, document.charset) == (True, "text/html", "utf-8")
    assert ("Content-Length", "558") in document.response_headers
    assert ("Host", "a.test") in document.request_headers
    assert (style.mime_type, style.charset) == ("text/css", "")
    assert script.charset == "utf-8"
    assert (none.status, none.status_text, none.body_bytes) == (204, "No Content", 0)
    assert (missing.status, missing.status_text, missing.error) == (404, "Not Found", "")
    old, = by_url(netlog, f"{OLD}/1.png")
    assert (old.http_version, document.http_version) == ("HTTP/1.0", "HTTP/1.1")


def test_frames_and_workers_are_there(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    assert len(by_url(netlog, f"{A}/in-frame.png")) == 1
    assert [hop.initiator for hop in by_url(netlog, f"{B}/in-frame.png")] == [B]
    for path in ("/worker.js", "/from-worker.json", "/sw.js", "/from-service-worker.json", "/late.js"):
        assert [hop.status for hop in by_url(netlog, f"{A}{path}")] == [200], path


def test_cache_and_revalidation(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    fetched, cached = by_url(netlog, f"{A}/cached.json")
    assert (fetched.from_cache, cached.from_cache) == (False, True)
    assert (cached.status, cached.mime_type) == (200, "application/json")
    assert (cached.body_bytes, cached.content_bytes) == (0, 16)
    assert cached.connection is None
    _, checked = by_url(netlog, f"{A}/checked.json")
    assert (checked.status, checked.from_cache, checked.body_bytes, checked.content_bytes) == (304, False, 0, 11)


@pytest.mark.parametrize("error", [-105, 0])
def test_what_the_cache_had_but_no_server_confirmed_is_no_answer(error: int, tmp_path: Path) -> None:
    """It was too old, so the server was to be asked: that failed, or was under way still when the load ended."""
    log = MadeNetLog()
    log.request("http://a.test/poll", "200 OK", b"old", "Cache-Control: max-age=0")
    log.source += 1
    log.add("REQUEST_ALIVE", 1)
    log.add("URL_REQUEST_START_JOB", 1, url="http://a.test/poll", method="GET", initiator="http://a.test")
    log.add("HTTP_CACHE_READ_INFO", 2)
    log.add("HTTP_STREAM_REQUEST", 1)
    if error:
        log.end(error=error)
    netlog = read_netlog(log.write(tmp_path / "netlog.json"))
    again = netlog.transactions[1]
    assert (again.from_cache, again.status, again.error) == (False, 0, "net::ERR_NAME_NOT_RESOLVED" if error else "")
    entry = har(netlog, "http://a.test/", 0)["log"]["entries"][1]
    assert ("_fromCache" in entry, bool(entry["_error"])) == (False, True)


def test_compressed_bodies_count_as_sent_and_as_read(scene: str, tmp_path: Path) -> None:
    style, = by_url(load(scene, tmp_path), f"{A}/frame.css")
    assert (style.body_bytes, style.content_bytes) == (59, 4018)


def test_aborted_and_hung_requests(tmp_path: Path) -> None:
    settled = load("settled", tmp_path)
    assert [(hop.error, hop.status) for hop in by_url(settled, f"{A}/silent")] == [("net::ERR_ABORTED", 0)]
    assert [(hop.error, hop.status) for hop in by_url(settled, f"{A}/endless?cut")] == [("net::ERR_ABORTED", 200)]
    hanging = load("hanging", tmp_path)
    assert [hop.error for hop in by_url(hanging, f"{A}/silent?hang")] == ["net::ERR_ABORTED"]     # by quitting
    killed = load("killed", tmp_path)
    for url in (f"{A}/silent?hang", f"{A}/endless?hang"):
        assert [(hop.error, hop.end) for hop in by_url(killed, url)] == [("", None)]
    assert [problem for problem in killed.problems if "no proper end" in problem]
    assert not settled.problems


def test_phases_add_up_to_the_length(scene: str, tmp_path: Path) -> None:
    for hop in load(scene, tmp_path).transactions:
        phases = hop.phases
        parts = (phases.blocked, phases.dns, phases.connect, phases.send, phases.wait, phases.receive)
        assert all(part >= 0 or part == -1 for part in parts), hop.url
        assert min(phases.blocked, phases.send, phases.wait, phases.receive) >= 0, hop.url
        if hop.end is not None:
            assert sum(part for part in parts if part >= 0) == hop.end - hop.start, hop.url


def test_connect_counts_for_the_request_that_waited_for_it_only(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    waited = Counter(hop.connection for hop in netlog.transactions if hop.phases.connect >= 0)
    assert waited
    assert max(waited.values()) == 1
    assert all(hop.phases.connect >= 0 for path in ("1", "2") for hop in by_url(netlog, f"{OLD}/{path}.png"))


def test_look_ups_name_hosts_and_mapped_addresses(scene: str, tmp_path: Path) -> None:
    netlog, port = load(scene, tmp_path), served_of(scene)["port"]
    found = {look_up.name: (look_up.error, look_up.addresses) for look_up in netlog.look_ups}
    assert set(found) == {f"{host}.test:80" for host in ("a", "b", "old", "refused", "absent")}
    assert found["b.test:80"] == (0, (f"127.0.0.1:{port}",))
    assert found["absent.test:80"] == (-105, ())


def test_connections_without_a_request(tmp_path: Path) -> None:
    netlog = load("settled", tmp_path)
    unused = [connection for connection in netlog.connections if not connection.requests]
    refused, = (connection for connection in unused if connection.error)
    assert (refused.name, refused.error, refused.connect_ms) == ("refused.test:80", -102, None)
    summary = summarise(netlog, start_of(netlog, "settled"))
    assert summary.connections_unused == len(unused) - 1


def test_page_log_is_in_order_of_completion(scene: str, tmp_path: Path) -> None:
    netlog = load(scene, tmp_path)
    log = page_log(netlog, start_of(netlog, scene))
    ends = [row.end_ms for row in log.transactions]
    assert ends == sorted(ends)
    assert log.transactions_seen
    finished = [hop for hop in netlog.transactions if hop.end is not None]
    assert len(log.transactions) == len(finished)
    assert len(log.responses) == sum(hop.status > 0 for hop in finished)
    first = log.transactions[0]
    assert first.url.startswith(f"{A}/")
    assert 0 <= first.start_ms < 50
    assert [resolve.name for resolve in log.resolves].count("a.test:80") == 1
    assert {response.url: response.redirect_url for response in log.responses}[f"{A}/redirect"] == f"{B}/hop"


def test_page_log_survives_the_text_format(scene: str, tmp_path: Path) -> None:
    log = page_log(load(scene, tmp_path), 0)
    path = tmp_path / "page"
    path.write_text(format_log(log), encoding="utf-8")
    again = read_log(path)
    assert (again.resolves, again.transactions, again.problems) == (log.resolves, log.transactions, [])
    assert [(row.status, row.url, row.redirect_url) for row in again.responses] == [
        (row.status, row.url, row.redirect_url) for row in log.responses]


def test_what_is_not_over_at_the_end_of_the_load_is_unfinished(tmp_path: Path) -> None:
    netlog = load("hanging", tmp_path)
    start = start_of(netlog, "hanging")
    sent = by_url(netlog, f"{A}/endless?hang")[0].start
    whole, cut = summarise(netlog, start), summarise(netlog, start, sent + 100)
    assert whole.failed["net::ERR_ABORTED"] == cut.failed["net::ERR_ABORTED"] + 2
    assert cut.failed["unfinished"] == 2
    assert cut.requests == whole.requests
    assert cut.last_ms is not None
    assert whole.last_ms is not None
    assert cut.last_ms <= sent + 100 - start < whole.last_ms
    log = page_log(netlog, start, sent + 100)
    assert not [row for row in log.transactions if "hang" in row.url and "silent" in row.url]
    assert f"{A}/silent?hang: not over when the load ended" in log.problems
    silent = by_url(netlog, f"{A}/silent?hang")[0].start
    assert summarise(netlog, start, min(silent, sent) - 1).requests == whole.requests - 2


def test_ticks_become_unix_time_and_back(tmp_path: Path) -> None:
    netlog = load("settled", tmp_path)
    timing = served_of("settled")["timing"]
    document = by_url(netlog, f"{A}/")[0]
    assert abs(netlog.unix_ms(document.start) - timing["fetchStart"]) < 20
    assert document.end is not None
    assert abs(netlog.unix_ms(document.end) - timing["responseEnd"]) < 20
    assert netlog.tick(netlog.unix_ms(12345)) == 12345


FIRST_LINE = fixture_text("hanging").index(b"\n") + 20
WHOLE = fixture_text("hanging")


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
            assert {(hop.source, hop.hop, hop.url) for hop in netlog.transactions} <= full
        page_log(netlog, 0)
        summarise(netlog, 0)


@pytest.mark.parametrize("text", [
    "", "{", "[]", "3", "not json\n", '{"constants": 3, "events": []}', '{"constants": {}, "events": [1, null, {}]}',
    '{"constants": {"logEventTypes": [], "logSourceType": 1}, "events": []}', "\xff\xfe\x00"])
def test_what_is_no_netlog_is_a_problem_not_a_crash(text: str, tmp_path: Path) -> None:
    path = tmp_path / "netlog.json"
    path.write_text(text, encoding="latin-1")
    netlog = read_netlog(path)
    assert netlog.problems
    assert not netlog.transactions
    assert not page_log(netlog, 0).transactions_seen


@pytest.mark.parametrize("lost_bytes", [30, 5000])
def test_a_log_that_lacks_a_part_of_its_middle_is_refused(lost_bytes: int, tmp_path: Path) -> None:
    """As Chrome leaves it when the disk was full for a while: what came later is there, and must not look like all."""
    path, middle = tmp_path / "netlog.json", len(WHOLE) // 2
    begin = WHOLE.index(b'"source"', middle) + 12
    path.write_bytes(WHOLE[:begin] + WHOLE[WHOLE.index(b'\n{', begin + lost_bytes) + 1:])
    with pytest.raises(ExperimentError, match=r"netlog\.json:\d+: the net-log lacks a part of its middle \(was the"):
        read_netlog(path)


def test_a_missing_log_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"netlog\.json: no net-log"):
        read_netlog(tmp_path / "netlog.json")


@pytest.mark.timeout(10)
def test_a_link_or_a_fifo_is_no_log(tmp_path: Path) -> None:
    """Each time it is opened: root reads it in a folder of Chrome's user."""
    (tmp_path / "of-root.json").write_bytes(fixture_text("settled"))
    (tmp_path / "netlog.json").symlink_to("of-root.json")
    os.mkfifo(tmp_path / "fifo.json")
    for name, why in (("netlog", "it is a symbolic link"), ("fifo", "it is no regular file")):
        path = tmp_path / f"{name}.json"
        for read in (read_constants, lambda path: next(read_events(path, []))):
            with pytest.raises(ExperimentError, match=rf"{name}\.json: no net-log \({why}\)"):
                read(path)


def test_a_long_log_takes_time_in_proportion(tmp_path: Path) -> None:
    log = json.loads(fixture_text("settled"))

    def written(copies: int) -> Path:
        path = tmp_path / f"{copies}.json"
        events = []
        for shift in range(0, 1_000_000 * copies, 1_000_000):
            events += json.loads(json.dumps(log["events"]))
            for event in events[-len(log["events"]):]:
                event["source"]["id"] += shift
        path.write_text(json.dumps({"constants": log["constants"], "events": events}))
        return path

    logs = {copies: written(copies) for copies in (2, 8)}
    assert logs[8].stat().st_size > 4_000_000
    assert growth(lambda copies: read_netlog(logs[copies]), 2) < LINEAR
    assert len(read_netlog(logs[2]).transactions) == 2 * len(load("settled", tmp_path).transactions)


@pytest.mark.chrome
@pytest.mark.skipif(not Path(record.BROWSER).exists() or not shutil.which("chromedriver"), reason="no Chromium here")
def test_a_live_load_is_the_servers_access_log(tmp_path: Path) -> None:
    with Site() as site:
        with record.browser(site, tmp_path / "netlog.json", tmp_path / "profile") as driver:
            timing = record.load(driver)
        served = [vars(line) for line in site.served]
    netlog = read_netlog(tmp_path / "netlog.json")
    assert not netlog.problems
    assert seen(netlog) == asked(served)
    assert carried(netlog) == per_connection(served)
    assert {hop.url for hop in netlog.transactions if not hop.sends and not hop.from_cache} == NEVER_SENT
    summary = summarise(netlog, netlog.tick(timing["navigationStart"]))
    assert summary.requests == len(netlog.transactions)
    assert summary.last_ms is not None
    assert summary.last_ms >= timing["responseEnd"] - timing["navigationStart"]
