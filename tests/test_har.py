"""HAR 1.2 from real net-logs: every field the specification requires, and sums that agree with the net-log."""

import gzip
import json
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.har import har
from harness.netlog import NetLog, read_netlog
from tests.data.netlog.small_site import REFUSED, A, B

DATA = Path(__file__).parent / "data" / "netlog"
SCENES = ("settled", "hanging", "killed")
NUMBER = (int, float)
TEXT = (str,)
# The fields of http://www.softwareishard.com/blog/har-12-spec/ that are not marked optional, and their types.
REQUIRED: dict[str, dict[str, tuple[type, ...]]] = {
    "log": {"version": TEXT, "creator": (dict,), "entries": (list,)},
    "creator": {"name": TEXT, "version": TEXT},
    "page": {"startedDateTime": TEXT, "id": TEXT, "title": TEXT, "pageTimings": (dict,)},
    "entry": {"startedDateTime": TEXT, "time": NUMBER, "request": (dict,), "response": (dict,), "cache": (dict,),
              "timings": (dict,)},
    "request": {"method": TEXT, "url": TEXT, "httpVersion": TEXT, "cookies": (list,), "headers": (list,),
                "queryString": (list,), "headersSize": NUMBER, "bodySize": NUMBER},
    "response": {"status": (int,), "statusText": TEXT, "httpVersion": TEXT, "cookies": (list,), "headers": (list,),
                 "content": (dict,), "redirectURL": TEXT, "headersSize": NUMBER, "bodySize": NUMBER},
    "content": {"size": NUMBER, "mimeType": TEXT},
    "timings": {"send": NUMBER, "wait": NUMBER, "receive": NUMBER},
    "pair": {"name": TEXT, "value": TEXT},
}
OPTIONAL = {
    "log": {"browser", "pages", "comment"}, "entry": {"pageref", "serverIPAddress", "connection"},
    "content": {"compression"}, "timings": {"blocked", "dns", "connect", "ssl"},
}


def check(kind: str, thing: dict[str, Any]) -> None:
    for name, types in REQUIRED[kind].items():
        assert name in thing, f"{kind} lacks {name}"
        assert isinstance(thing[name], types), f"{kind}.{name} is {thing[name]!r}"
    unknown = {name for name in thing if not name.startswith("_")} - set(REQUIRED[kind]) - OPTIONAL.get(kind, set())
    assert not unknown, f"{kind} has {unknown}, which HAR 1.2 does not know"


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


def test_every_required_field_is_there(archive: tuple[NetLog, float, dict[str, Any]]) -> None:
    log = archive[2]["log"]
    check("log", log)
    assert log["version"] == "1.2"
    check("creator", log["creator"])
    check("creator", log["browser"])
    assert log["browser"]["version"].split(".")[0].isdigit()
    for page in log["pages"]:
        check("page", page)
        assert set(page["pageTimings"]) == {"onContentLoad", "onLoad"}
    for entry in log["entries"]:
        check("entry", entry)
        for part in ("request", "response", "timings"):
            check(part, entry[part])
        check("content", entry["response"]["content"])
        for pair in entry["request"]["headers"] + entry["response"]["headers"] + entry["request"]["queryString"]:
            check("pair", pair)
        assert entry["pageref"] in {page["id"] for page in log["pages"]}


def test_times_agree_with_the_transactions(archive: tuple[NetLog, float, dict[str, Any]]) -> None:
    netlog, start, document = archive
    entries = document["log"]["entries"]
    assert len(entries) == len(netlog.transactions)
    page_start = datetime.fromisoformat(document["log"]["pages"][0]["startedDateTime"])
    for entry, one in zip(entries, netlog.transactions, strict=True):
        timings = entry["timings"]
        parts = [timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
        assert entry["time"] == sum(part for part in parts if part >= 0)
        assert min(timings["send"], timings["wait"], timings["receive"]) >= 0
        if one.end is not None:
            assert abs(entry["time"] - (one.end - one.start)) <= 1
        began = datetime.fromisoformat(entry["startedDateTime"])
        assert began.utcoffset() == timedelta(0)
        assert abs((began - page_start) / timedelta(milliseconds=1) - (one.start - start)) <= 1


def test_head_and_body_sizes_are_the_bytes_on_the_wire(archive: tuple[NetLog, float, dict[str, Any]]) -> None:
    """Chrome strips cookies from the log and says how long they were, so the sizes are exact."""
    netlog, _, document = archive
    sent: defaultdict[str, int] = defaultdict(int)
    for entry in document["log"]["entries"]:
        if "connection" in entry:
            sent[entry["connection"]] += entry["request"]["headersSize"] + entry["request"]["bodySize"]
    assert sent == {str(one.id): one.bytes_sent for one in netlog.connections if one.requests}


def by_url(document: dict[str, Any], url: str) -> dict[str, Any]:
    entry: dict[str, Any] = next(one for one in document["log"]["entries"] if one["request"]["url"] == url)
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
    cached = [one for one in document["log"]["entries"] if one.get("_fromCache")]
    assert [one["request"]["url"] for one in cached] == [f"{A}/cached.json"]


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
    sent = next(one.start for one in netlog.transactions if one.url == f"{A}/silent?hang")
    cut = har(netlog, f"{A}/", start, end_tick=sent + 50)
    assert by_url(cut, f"{A}/silent?hang")["_error"] == "unfinished"
    assert by_url(document, f"{A}/silent?hang")["_error"] == "net::ERR_ABORTED"
    assert len(har(netlog, f"{A}/", start, end_tick=start + 30)["log"]["entries"]) < 10
