"""Shapes of pages from HAR files that hold no bodies."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.exchange import Exchange
from harness.files.pages import PageFiles
from harness.mirror.recording import read_recording
from harness.mirror.rtts import read_rtts, recorded_rtts, write_rtts
from harness.record.sources.har import HarSource, has_bodies
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.from_har import shapes_of_har
from harness.synthetic.shape import PageShape, format_shapes, read_shapes
from tests.support.growth import LINEAR, growth

PAGE = "https://a.test/"


def entry(second: float, url: str, mime_type: str, size: int, referer: str = "", *, status: int = 200,
          redirect: str = "", page: str = "p1") -> dict[str, Any]:
    asked = [{"name": "Referer", "value": referer}] if referer else []
    headers = [{"name": "Content-Length", "value": str(size)}]
    return {"pageref": page, "startedDateTime": f"2016-01-19T06:46:{second:06.3f}Z", "time": 100,
            "timings": {"connect": 30 + second if size > 4000 else -1, "ssl": -1},
            "request": {"method": "GET", "url": url, "headers": asked},
            "response": {"status": status, "statusText": "", "headers": headers, "redirectURL": redirect,
                         "content": {"mimeType": mime_type, "size": -1}, "bodySize": -1}}


def har(path: Path) -> Path:
    """Write a page whose address redirects, and its repeat view, of which only a picture was not in the cache."""
    entries = [
        entry(0, "http://a.test/", "text/html", 0, status=301, redirect=PAGE),
        entry(0.1, PAGE, "text/html; charset=utf-8", 20_000),
        entry(0.4, "https://b.test/s.css?v=1", "text/css", 3000, PAGE),
        entry(0.5, "https://b.test/font.woff2", "font/woff2", 9000, "https://b.test/s.css?v=1"),
        entry(0.6, "https://b.test/x.js", "application/javascript", 5000, "https://a.test/unknown"),
        entry(0.7, "https://b.test/pixel.jpg", "image/jpeg", 61, PAGE),
        entry(0.8, "https://c.test/", "text/html", 0, PAGE, status=0),
        entry(5, "https://b.test/again.png", "image/png", 100, page="p2")]
    path.write_text(json.dumps({"log": {"version": "1.1", "entries": entries}}))
    return path


def shapes(path: Path) -> list[PageShape]:
    """Return the shapes of a HAR's pages."""
    source = HarSource(path)
    return shapes_of_har(list(source), source.pages)


def test_a_shape_has_the_figures_of_the_har(tmp_path: Path) -> None:
    source = HarSource(har(tmp_path / "x.har"))
    assert not has_bodies(list(source), source.pages)
    shape, = shapes(tmp_path / "x.har")
    assert (shape.url, shape.month) == ("http://a.test/", "2016-01")
    rows = [(found.host, found.kind, found.size_bytes, found.parent, found.redirect_to, found.start_ms,
             found.path_chars) for found in shape.resources]
    assert rows == [("a.test", "document", 20_000, None, 1, 0, 1), ("a.test", "document", 20_000, 0, None, 100, 1),
                    ("b.test", "style", 3000, 1, None, 400, 10), ("b.test", "font", 9000, 2, None, 500, 11),
                    ("b.test", "script", 5000, 0, None, 600, 5), ("b.test", "image", 61, 1, None, 700, 10)]
    assert shape.resources[1].charset == "utf-8"
    (tmp_path / "x.shape").write_text(format_shapes([shape]))
    assert read_shapes(tmp_path / "x.shape") == [shape]
    made, = make_page_set([shape], 1)
    assert sum(map(len, made.bodies.values())) == 37_061


def test_each_of_two_redirects_to_one_url_leads_to_an_answer_of_its_own(tmp_path: Path) -> None:
    """A pixel that is asked for twice. Both led to the first answer; the second was asked for once more behind it."""
    pixel, target = "https://b.test/pixel", "https://c.test/pixel"
    entries = [entry(0, PAGE, "text/html", 5000),
               *(entry(second, pixel, "image/gif", 0, PAGE, status=302, redirect=target) for second in (1, 1.1)),
               *(entry(second, target, "image/gif", 43, PAGE) for second in (1.2, 1.3))]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    shape, = shapes(tmp_path / "x.har")
    assert [found.redirect_to for found in shape.resources] == [None, 3, 4, None, None]
    made, = make_page_set([shape], 1)
    assert [node.hops for node in made.plan.nodes] == [[0], [1, 3], [2, 4]]


def test_its_hosts_speak_the_protocol_that_they_spoke(tmp_path: Path) -> None:
    entries = [entry(0, "http://a.test/", "text/html", 0, status=301, redirect=PAGE), entry(1, PAGE, "text/html", 9000),
               *(entry(2, f"https://{host}/x.js", "text/javascript", 500, PAGE) for host in ("b.test", "c.test")),
               entry(2, "http://d.test/x.js", "text/javascript", 500, PAGE)]
    for made, protocol in zip(entries, ("HTTP/1.1", "h2", "h3", "http/1.1", "h2"), strict=True):
        made["response"]["httpVersion"] = protocol
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    shape, = shapes(tmp_path / "x.har")
    assert shape.http2_hosts == {"a.test", "b.test"}
    (tmp_path / "x.shape").write_text(format_shapes([shape]))
    make_pages(tmp_path, "A", 1, tmp_path / "x.shape")
    assert read_recording(tmp_path / "A", tmp_path / "A.fetchlog").http2_hosts == {"a.test", "b.test"}


@pytest.mark.parametrize(("said", "protocol", "http2"), [
    ("us:", "HTTP/2", True), ("ori", "HTTP/2", True), ("", "h3", True), ("1.1", "HTTP/1.1", False),
    ("http/2+quic/46", None, True)])
def test_webpagetest_says_elsewhere_that_a_host_spoke_http2(said: str, protocol: str | None, http2: bool,
                                                            tmp_path: Path) -> None:
    """GitHub micmro/PerfCascade, wpt_h2_www.nghttp2.org.har: made for HTTP/1.1, with a handshake for each request. So
    was what Chrome of 2019 had of Google's hosts.
    """
    made = entry(0, PAGE, "text/html", 2000) | {"_protocol": protocol}
    made["response"]["httpVersion"] = said
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": [made]}}))
    shape, = shapes(tmp_path / "x.har")
    assert shape.http2_hosts == ({"a.test"} if http2 else set())


@pytest.mark.parametrize("date", ["soon", "", None])
def test_a_har_whose_dates_cannot_be_read_makes_pages_of_no_month(date: str | None, tmp_path: Path) -> None:
    """In words, or without dates at all."""
    entries = [entry(0, PAGE, "text/html", 2000), entry(0, f"{PAGE}a.png", "image/png", 3000, PAGE)]
    for made in entries:
        made["startedDateTime"] = date
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    found = shapes(tmp_path / "x.har")
    assert [shape.month for shape in found] == ["-"]
    (tmp_path / "x.shape").write_text(format_shapes(found))
    page, = make_page_set(read_shapes(tmp_path / "x.shape"), 1)
    assert f"stands in for {PAGE} as it was at a time that is not known: as many".encode() in page.bodies[0]
    assert len(page.bodies[0]) == 2000


def test_a_page_of_which_no_size_is_known_has_a_document(tmp_path: Path) -> None:
    """Not an answer without content, as other resources of 0 bytes: that would be no page."""
    entries = [entry(0, "http://a.test/", "text/html", 0, status=301, redirect=PAGE), entry(1, PAGE, "text/html", 0)]
    for begin, url in enumerate(("http://a.test/", PAGE)):
        (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries[begin:]}}))
        (tmp_path / "x.shape").write_text(format_shapes(shapes(tmp_path / "x.har")))
        make_pages(tmp_path, f"A{begin}", 1, tmp_path / "x.shape")
        recording = read_recording(tmp_path / f"A{begin}", tmp_path / f"A{begin}.fetchlog")
        assert (recording.document(url) or "").startswith(PAGE)


def test_fetch_makes_pages_of_a_har_without_bodies(tmp_path: Path) -> None:
    har(tmp_path / "x.har")
    done = subprocess.run([sys.executable, str(ROOT / "fetch.py"), "--dir", str(tmp_path), "--name", "A", "--from",
                           str(tmp_path / "x.har")], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "x.har lacks the bodies" in done.stdout
    assert "does not say which page" not in done.stdout
    assert "1 synthetic page of 6 resources" in done.stdout
    recording = read_recording(tmp_path / "A", tmp_path / "A.fetchlog")
    assert recording.manifest.synthetic
    assert (recording.document("http://a.test/") or "").startswith("https://a.test/")
    assert "A.rtts: how far away 2 of its servers were" in done.stdout
    found = recorded_rtts(PageFiles(tmp_path, "A"), recording)
    assert (found.rtts_ms, found.assumed) == ({"a.test": 30.1, "b.test": 30.5}, ())


@pytest.mark.parametrize("sizes", [[999_999_999_999], [2**29] * 3])
def test_figures_that_would_fill_the_memory_are_refused_in_one_line(sizes: list[int], tmp_path: Path) -> None:
    entries = [entry(0, PAGE, "text/html", 2000), *(entry(1, f"{PAGE}{size}.js", "text/javascript", size, PAGE)
                                                    for size in sizes)]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    done = subprocess.run([sys.executable, str(ROOT / "fetch.py"), "--dir", str(tmp_path), "--name", "A", "--from",
                           str(tmp_path / "x.har")], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r".*/x\.har:1: too large to be made: .* leave out what is so large\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["x.har"]


def test_many_requests_are_looked_at_once(tmp_path: Path) -> None:
    """Each was compared with all before it: 4000 took a minute."""
    def read(size: int) -> None:
        entries = [entry(0, PAGE, "text/html", 2000), *(
            entry(1, f"{PAGE}{number}", "image/gif", 9, "http://b.test/") for number in range(size))]
        (tmp_path / f"{size}.har").write_text(json.dumps({"log": {"entries": entries}}))
        source = HarSource(tmp_path / f"{size}.har")
        found[size] = (list(source), source.pages)

    found: dict[int, tuple[list[Exchange], dict[str, str]]] = {}
    read(300)
    read(1200)
    assert growth(lambda size: shapes_of_har(*found[size]), 300) < LINEAR


def test_distances_that_somebody_wrote_down_stay(tmp_path: Path) -> None:
    path = tmp_path / "A.rtts"
    assert write_rtts(path, {"a.test": 30.0, "b.test": 1e9}, "x.har")
    assert read_rtts(path) == {"a.test": (2, 30.0)}
    assert not write_rtts(path, {"a.test": 40.0}, "y.har")
    assert not write_rtts(tmp_path / "B.rtts", {}, "x.har")
    assert [*tmp_path.iterdir()] == [path]


def test_what_came_after_the_load_event_is_left_out(tmp_path: Path) -> None:
    entries = [entry(0, PAGE, "text/html", 20_000), entry(1, f"{PAGE}a.png", "image/png", 9000, PAGE),
               entry(3, f"{PAGE}beacon.png", "image/png", 9000, PAGE)]
    for on_load_ms, images, zone in ((2500, 1, "Z"), (-1, 2, "Z"), (2500, 1, "")):     # "": the HTTP Archive's
        pages = [{"id": "p1", "startedDateTime": f"2016-01-19T06:46:00.000{zone}",
                  "pageTimings": {"onLoad": on_load_ms}}]
        for made in entries:
            made["startedDateTime"] = f"{made['startedDateTime'].rstrip('Z')}{zone}"
        (tmp_path / "x.har").write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
        shape, = shapes(tmp_path / "x.har")
        assert len(shape.resources) == 1 + images


def test_a_har_that_names_no_pages_begins_with_the_first_document_that_nothing_referred_to(tmp_path: Path) -> None:
    """Fiddler's hold what the browser asked for before, too."""
    entries = [entry(0, "http://other.test/x.js", "text/javascript", 438, "http://other.test/", page=""),
               entry(1, "http://other.test/ad", "text/html", 500, "http://other.test/", page=""),
               entry(2, PAGE, "text/html", 20_000, page=""), entry(3, f"{PAGE}a.png", "image/png", 3000, PAGE, page="")]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    shape, = shapes(tmp_path / "x.har")
    assert (shape.url, len(shape.resources)) == (PAGE, 2)


def test_a_har_whose_redirects_lead_nowhere_makes_no_page(tmp_path: Path) -> None:
    entries = [entry(0, PAGE, "text/html", 0, status=302, redirect=f"{PAGE}2"),
               entry(1, f"{PAGE}2", "text/html", 0, status=302, redirect=f"{PAGE}3")]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    assert shapes(tmp_path / "x.har") == []
    done = subprocess.run([sys.executable, str(ROOT / "fetch.py"), "--dir", str(tmp_path), "--name", "A", "--from",
                           str(tmp_path / "x.har")], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        2, f"{tmp_path}/x.har:1: no page in it whose document was answered, whose URL can be a file name, and which is "
        "on port 80 or 443; give the HAR of a page load\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.har"]


@pytest.mark.parametrize("more", [{"method": "HEAD"}, {"method": "POST"}, {"mime_type": "text/event-stream"},
                                  {"status": 101}, {"status": 404}])
def test_what_is_no_document_is_no_page(tmp_path: Path, more: dict[str, Any]) -> None:
    """As in mitmproxy's test data: WebSockets, streams of events, queries of an API, a HEAD of an archive."""
    first = entry(0, PAGE, more.get("mime_type", "text/html"), 2000, status=more.get("status", 200))
    first["request"]["method"] = more.get("method", "GET")
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": [first]}}))
    assert shapes(tmp_path / "x.har") == []


@pytest.mark.parametrize("target", ["HTTPS://A.test/", "https://a.test", "https://a.test/b/../#top"])
def test_a_redirect_leads_to_the_page_however_it_is_written(tmp_path: Path, target: str) -> None:
    entries = [entry(0, "http://a.test/", "", 0, status=301, redirect=target),
               entry(1, PAGE, "text/html", 2000)]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    shape, = shapes(tmp_path / "x.har")
    assert [resource.redirect_to for resource in shape.resources] == [1, None]
