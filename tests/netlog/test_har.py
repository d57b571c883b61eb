"""HAR 1.2 from real net-logs: by its schema, by Chrome DevTools' importer, and by sums that agree with the net-log."""

import gzip
import json
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.netlog.file import read_constants, read_events
from harness.netlog.har import har
from harness.netlog.load import NetLog, read_netlog
from tests.corpus.netlogs.small_site import REFUSED, A, B
from tests.support.devtools import import_hars
from tests.support.har_schema import har_problems

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"
SCENES = ("settled", "hanging", "killed")


def read(scene: str, folder: Path) -> tuple[NetLog, float, dict[str, Any]]:
    """Return the net-log of `scene`, the tick of its navigation's start and its HAR, as read back from JSON."""
    path = folder / "netlog.json"
    path.write_bytes(gzip.decompress((DATA / f"{scene}.json.gz").read_bytes()))
    timing = json.loads((DATA / f"{scene}.served.json").read_text())["timing"]
    netlog = read_netlog(path)
    start = netlog.tick(timing["navigationStart"])
    archive = har(netlog, f"{A}/", start, on_load_ms=timing["loadEventEnd"] - timing["navigationStart"])
    return netlog, start, json.loads(json.dumps(archive))


@pytest.fixture(params=SCENES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[NetLog, float, dict[str, Any]]:
    return read(str(request.param), tmp_path)


def test_it_is_har_by_its_schema(archive: tuple[NetLog, float, dict[str, Any]]) -> None:
    assert har_problems(archive[2]) == []
    log = archive[2]["log"]
    assert log["version"] == "1.2"
    assert log["browser"]["version"].split(".")[0].isdigit()
    assert [page["id"] for page in log["pages"]] == ["page_1"]
    assert {entry["pageref"] for entry in log["entries"]} == {"page_1"}
    assert set(log["pages"][0]["pageTimings"]) == {"onContentLoad", "onLoad"}


@pytest.mark.parametrize(("way", "wrong"), [
    (("pages", 0, "startedDateTime"), "2013-03-15T12:00:00.000"), (("entries", 0, "startedDateTime"), "yesterday"),
    (("entries", 0, "time"), -1), (("entries", 0, "timings", "wait"), "12"), (("entries", 0, "size"), 12),
    (("entries", 0, "request", "url"), "/index.html"), (("entries", 0, "serverIPAddress"), ""),
    (("entries", 0, "response", "status"), None), (("entries", 0, "response", "redirectURL"), None),
    (("entries", 0, "request", "headers"), {"Host": "a.test"}), (("pages", 0, "pageTimings", "onLoad"), -2)])
def test_the_schema_sees_what_is_not_har(way: tuple[Any, ...], wrong: Any, tmp_path: Path) -> None:
    place = read("settled", tmp_path)[2]["log"]
    document = {"log": place}
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = wrong
    problems = har_problems(document)
    assert len(problems) in (1, 2), "the schema holds dates against two rules"
    assert "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in way[:2]) in problems[0]


@pytest.mark.chrome
def test_devtools_imports_it(tmp_path: Path) -> None:
    """Answered, redirected, cached, failed and unfinished requests; and it refuses what is no HAR, so it can fail."""
    scenes = [read(scene, tmp_path) for scene in SCENES]
    *imported, refused = import_hars(*(document for *_, document in scenes), {"log": {"version": "1.2"}})
    assert isinstance(refused, str), refused
    for (netlog, _, document), shown in zip(scenes, imported, strict=True):
        assert not isinstance(shown, str), shown
        entries = sorted(document["log"]["entries"], key=lambda entry: str(entry["startedDateTime"]))
        assert [(row["url"], row["method"], row["status"], row["mime_type"] or "") for row in shown] == [
            (entry["request"]["url"], entry["request"]["method"], entry["response"]["status"],
             entry["response"]["content"]["mimeType"]) for entry in entries]
        assert [row["duration_ms"] for row in shown] == pytest.approx([entry["time"] for entry in entries], abs=0.01)
        assert [row["cached"] for row in shown] == [entry.get("_fromCache") == "disk" for entry in entries]
        assert {row["connection"] for row in shown if row["connection"]} == {
            str(connection.id) for connection in netlog.connections if connection.requests}
        assert shown[0]["kind"] == "document"


def test_times_agree_with_the_transactions(archive: tuple[NetLog, float, dict[str, Any]]) -> None:
    netlog, start, document = archive
    entries = document["log"]["entries"]
    assert len(entries) == len(netlog.transactions)
    page_start = datetime.fromisoformat(document["log"]["pages"][0]["startedDateTime"])
    for entry, hop in zip(entries, netlog.transactions, strict=True):
        timings = entry["timings"]
        parts = [timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
        assert entry["time"] == sum(part for part in parts if part >= 0)
        assert min(timings["send"], timings["wait"], timings["receive"]) >= 0
        if hop.end is not None:
            assert abs(entry["time"] - (hop.end - hop.start)) <= 1
        began = datetime.fromisoformat(entry["startedDateTime"])
        assert began.utcoffset() == timedelta(0)
        assert abs((began - page_start) / timedelta(milliseconds=1) - (hop.start - start)) <= 1


def test_head_and_body_sizes_are_the_bytes_on_the_wire(
        archive: tuple[NetLog, float, dict[str, Any]], tmp_path: Path) -> None:
    """Chrome strips cookies from the log and says how long they were, so the sizes are exact."""
    netlog, _, document = archive
    sent: defaultdict[str, int] = defaultdict(int)
    for entry in document["log"]["entries"]:
        if "connection" in entry:
            sent[entry["connection"]] += entry["request"]["headersSize"] + entry["request"]["bodySize"]
    kind = read_constants(tmp_path / "netlog.json")["logEventTypes"]["SOCKET_BYTES_SENT"]
    passed: Counter[str] = Counter()
    for event in read_events(tmp_path / "netlog.json", []):
        if event["type"] == kind:
            passed[str(event["source"]["id"])] += event["params"]["byte_count"]
    assert sent == {str(used.id): passed[str(used.id)] for used in netlog.connections if used.requests}


def by_url(document: dict[str, Any], url: str) -> dict[str, Any]:
    entry: dict[str, Any] = next(entry for entry in document["log"]["entries"] if entry["request"]["url"] == url)
    return entry


def test_what_an_entry_says(tmp_path: Path) -> None:
    netlog, _, document = read("settled", tmp_path)
    image = by_url(document, f"{A}/one.png?a=1&b=two%20words")
    assert image["request"]["queryString"] == [{"name": "a", "value": "1"}, {"name": "b", "value": "two words"}]
    assert image["request"]["httpVersion"] == image["response"]["httpVersion"] == "HTTP/1.1"
    assert (image["response"]["status"], image["response"]["statusText"]) == (200, "OK")
    assert image["response"]["content"]["mimeType"] == "image/png"
    assert image["response"]["bodySize"] == image["response"]["content"]["size"] == 99997
    assert image["serverIPAddress"] == "127.0.0.1"
    assert int(image["connection"]) in {connection.id for connection in netlog.connections}
    style = by_url(document, f"{A}/frame.css")["response"]
    assert (style["bodySize"], style["content"]["size"], style["content"]["compression"]) == (59, 4018, 3959)
    assert by_url(document, f"{A}/redirect")["response"]["redirectURL"] == f"{B}/hop"
    assert by_url(document, f"{A}/form")["request"]["bodySize"] == 3
    cached = [entry for entry in document["log"]["entries"] if entry.get("_fromCache")]
    assert [entry["request"]["url"] for entry in cached] == [f"{A}/cached.json"]


def test_failed_requests_have_status_0_and_say_why(tmp_path: Path) -> None:
    _, _, document = read("killed", tmp_path)
    refused = by_url(document, f"{REFUSED}/x.png")
    assert (refused["response"]["status"], refused["_error"]) == (0, "net::ERR_CONNECTION_REFUSED")
    assert "connection" not in refused
    assert (refused["response"]["headersSize"], refused["response"]["bodySize"]) == (-1, -1)
    hung = by_url(document, f"{A}/silent?hang")
    assert (hung["response"]["status"], hung["_error"]) == (0, "unfinished")
    assert hung["time"] > 100                       # until the log's end
    assert "_error" not in by_url(document, f"{A}/app.js")


def test_page_timings_dates_and_the_end_of_the_load(tmp_path: Path) -> None:
    netlog, start, document = read("hanging", tmp_path)
    timings = document["log"]["pages"][0]["pageTimings"]
    assert timings["onContentLoad"] == -1
    assert timings["onLoad"] > 0
    day = 86_400_000.0
    shifted = har(netlog, f"{A}/", start, clock_shift_ms=100 * day, comment="synthetic")["log"]
    dates = [datetime.fromisoformat(log["pages"][0]["startedDateTime"]) for log in (document["log"], shifted)]
    assert dates[0] - dates[1] == timedelta(days=100)
    assert shifted["comment"] == "synthetic"
    sent = next(hop.start for hop in netlog.transactions if hop.url == f"{A}/silent?hang")
    cut = har(netlog, f"{A}/", start, end_tick=sent + 50)
    assert by_url(cut, f"{A}/silent?hang")["_error"] == "unfinished"
    assert by_url(document, f"{A}/silent?hang")["_error"] == "net::ERR_ABORTED"
    assert len(har(netlog, f"{A}/", start, end_tick=start + 30)["log"]["entries"]) < 10
