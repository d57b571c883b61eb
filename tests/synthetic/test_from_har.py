"""Shapes of pages from HAR files that hold no bodies."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.exchange import Exchange
from harness.files.pages import PageFiles
from harness.mirror.recording import read_recording
from harness.mirror.servers import read_rtts, recorded_rtts, write_rtts
from harness.record.sources.har import HarSource
from harness.synthetic.from_har import shapes_of_har
from harness.synthetic.shape import PageShape
from tests.support.growth import LINEAR, growth
from tests.support.ran import ran

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


def test_fetch_makes_pages_of_a_har_without_bodies(tmp_path: Path) -> None:
    har(tmp_path / "x.har")
    done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "A", "--from", tmp_path / "x.har")
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
    done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "A", "--from", tmp_path / "x.har")
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
