"""What HARs of other programs say in ways of their own, as seen in public ones."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.foreign_har import read_foreign_har
from harness.files.foreign_pages import page_urls
from harness.record.sources.archived import ArchivedRequest
from harness.record.sources.listing import list_pages
from harness.record.sources.opened import opened
from tests.support.foreign_hars import PAGE, entry, har

PORT = "http://b.test:8080/"
FONT = bytes(range(256)) * 20
SPOILT = FONT.decode("utf-8", "replace").encode()
"""The font as Chrome exports it whose server calls it text: each byte that is no UTF-8 has become U+FFFD."""


def test_requests_that_name_their_frame_belong_to_the_page_that_was_begun_last(tmp_path: Path) -> None:
    """As the Web Inspector of Chrome 16 wrote them: GitHub jvdmeiden/har-viewer, buienradar.nl.har."""
    path = har(tmp_path / "x.har", entry(PAGE, page=PAGE), entry("https://ads.test/1", page="https://ads.test/1"),
               entry("https://b.test/", page="https://b.test/", second=11, referer=PAGE),
               entry("https://ads.test/2", page="about:blank", second=12),
               entry("https://a.test/early", "image/png", page="?", second=0),
               pages=((PAGE, 1), ("https://b.test/", 10)))
    entries = read_foreign_har(path)
    assert [entry.page for entry in entries] == ["", PAGE, PAGE, "https://b.test/", "https://b.test/"]
    assert page_urls(entries) == {PAGE: PAGE, "https://b.test/": "https://b.test/"}


def test_what_a_page_before_waited_for_is_left_out(tmp_path: Path) -> None:
    """As PhantomJS writes, also into HARP: GitHub iiithyd-websec/CORP-Headers, www.addthis.com.har."""
    entries = [entry("https://before.test/hm.gif", "image/gif", b"x"), entry(PAGE), entry(f"{PAGE}x.gif", "image/gif")]
    path = har(tmp_path / "x.har", *({**made, "pageref": PAGE.rstrip("/")} for made in entries),
               pages=((PAGE.rstrip("/"), 0),))
    path.write_text(f"onInputData({path.read_text()});\n")
    assert [entry.page for entry in read_foreign_har(path)] == ["", PAGE.rstrip("/"), PAGE.rstrip("/")]
    of_unknown_type = har(tmp_path / "x.har", entry(PAGE, "", page=PAGE), entry(f"{PAGE}x.gif", "image/gif", page=PAGE),
                          pages=((PAGE, 0),))
    assert len(read_foreign_har(of_unknown_type)) == 2
    without_document = har(tmp_path / "y.har", *({**made, "pageref": PAGE} for made in (entries[0], entries[2])),
                           pages=((PAGE, 0),))
    assert len(read_foreign_har(without_document)) == 2
    assert page_urls(read_foreign_har(without_document)) == {}


@pytest.mark.parametrize("order", [(3, 1, 2, 0), (0, 1, 2, 3), (3, 2, 1, 0)])
def test_entries_are_read_in_the_order_of_asking(order: tuple[int, ...], tmp_path: Path) -> None:
    """Firefox and Safari export their table as it is sorted, here by size: the page was not found, polls went back."""
    asked = [entry(PAGE, body=b"page", second=1), entry(f"{PAGE}poll", "text/plain", b"1", second=2, referer=PAGE),
             entry(f"{PAGE}poll", "text/plain", b"2", second=3, referer=PAGE),
             entry(f"{PAGE}x.js", "text/javascript", b"1;" * 99, second=4, referer=PAGE)]
    with opened(har(tmp_path / "x.har", *(asked[place] for place in order), pages=(("page_1", 1),))) as source:
        assert list(source.pages) == [PAGE]
        polls = [source.find(ArchivedRequest("GET", f"{PAGE}poll", by_page=True)) for _ in range(2)]
    assert [poll and poll.body for poll in polls] == [b"1", b"2"]


def test_what_frames_of_other_sites_ask_for_belongs_to_their_page(tmp_path: Path) -> None:
    """Chrome names no page for it: GitHub mrichman/hargo, golang.org.har, 12 of 32 requests."""
    frame, other = "https://frame.test/", "https://b.test/"
    path = har(tmp_path / "x.har", entry(PAGE), entry(frame, referer=PAGE), entry(other, page="page_2", second=10),
               entry(f"{frame}late", "image/svg+xml", page=None, second=11, referer=frame),
               entry(f"{frame}later", "image/png", page=None, second=12, referer=f"{frame}late#x"),
               entry("https://nobody.test/", "image/png", page=None, second=12, referer="https://elsewhere.test/"),
               pages=(("page_1", 1), ("page_2", 10)))
    assert [entry.page for entry in read_foreign_har(path)] == ["page_1", "page_1", "page_2", "page_1", "page_1",
                                                                "page_2"]
    with opened(path) as source:
        assert list(source.pages) == [PAGE, other]
        assert source.find(ArchivedRequest("GET", f"{frame}late", by_page=True)) is not None


@pytest.mark.parametrize(("broken", "said"), [
    ([], "what it holds is a list, and must be an object"), ({}, "log is missing, and must be an object"),
    ({"log": {"entries": {}}}, "log.entries is an object, and must be a list"),
    ({"log": {"pages": ["x"], "entries": []}}, "log.pages[0] is a text, and must be an object"),
    ({"log": {"entries": [entry(PAGE), None]}}, "log.entries[1] is missing, and must be an object"),
    ({"log": {"entries": [entry(PAGE), {}]}}, "log.entries[1].request is missing, and must be an object"),
    ({"log": {"entries": [{"request": {}}]}}, "log.entries[0].request.url is missing"),
    ({"log": {"entries": [entry(PAGE) | {"response": {"content": 7}}]}},
     "log.entries[0].response.content is a number, and must be an object")])
def test_what_is_wrong_with_a_har_is_said_with_its_place(broken: object, said: str, tmp_path: Path) -> None:
    """It was "AttributeError: 'NoneType' object has no attribute 'get'"."""
    path = tmp_path / "x.har"
    path.write_text(json.dumps(broken))
    with pytest.raises(InputError, match=re.escape(f"x.har:1: not a HAR ({said}); give one")):
        read_foreign_har(path)


@pytest.mark.parametrize(("body", "kept"), [
    (SPOILT, False),                                            # GitHub PhilioS1996/web-project, eclass.upatras.gr.har
    (FONT, True),
    ("a few letters \ufffd in another charset".encode(), True),
    (b"e=t===\0?'" + "\ufffd':t;".encode() + b"x" * 900, True)])  # as scripts write what CSS.escape does
def test_what_a_browser_took_for_text_is_no_body(body: bytes, kept: bool, tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", entry(f"{PAGE}f.woff2", "application/octet-stream", body))
    assert [entry.body for entry in read_foreign_har(path)] == [body if kept else None]


@pytest.mark.parametrize(("kept_bytes", "size", "kept"), [
    (2**20 + 30_000, 1_500_000, False),     # what Firefox keeps of a larger script
    (2**20 + 30_000, 2**20 + 30_003, True), (700, 900, True), (300, 900, False)])
def test_a_body_that_is_cut_is_none(kept_bytes: int, size: int, kept: bool, tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", entry(PAGE), entry(f"{PAGE}x.js", "text/javascript", b"x" * kept_bytes, size=size))
    assert (read_foreign_har(path)[1].body is not None) is kept


LIMIT, KEPT = 2**20, 3 * 2**18


def of_firefox(path: Path, mime_type: str, body: bytes, *, size: int | None = None, **response: Any) -> Path:
    """Write a HAR as Firefox does, with one more answer than the page, whose `response` has this besides."""
    made = entry(f"{PAGE}large", mime_type, body, size=size)
    made["response"] |= response
    har(path, entry(PAGE), made)
    log = json.loads(path.read_text())
    log["log"]["creator"] = {"name": "Firefox", "version": "153.7.0"}
    path.write_text(json.dumps(log))
    return path


@pytest.mark.parametrize(("mime_type", "kept", "is_whole"), [
    ("image/png", 2 * LIMIT, True), ("image/png", KEPT, False), ("text/javascript", 2 * LIMIT, True),
    ("text/javascript", KEPT, None), ("video/mp4", KEPT, None), ("image/svg+xml", KEPT, None)])
def test_what_firefox_153_pads_is_a_picture_without_an_end_or_none(mime_type: str, kept: int, is_whole: bool | None,
                                                                   tmp_path: Path) -> None:
    """is_whole: None where the body is not taken."""
    body = (b"\xff" * kept).ljust(2 * LIMIT, b"\0")
    large = read_foreign_har(of_firefox(tmp_path / "x.har", mime_type, body))[1]
    assert (large.body, large.cut) == (None if is_whole is None else body, is_whole is False)
    assert large.wire_bytes == 2 * LIMIT


@pytest.mark.parametrize(("encoded_bytes", "kept"), [(LIMIT, True), (LIMIT + 1, False)])
def test_firefox_153_says_how_large_an_encoded_body_is_where_the_decoded_size_should_be(
        encoded_bytes: int, kept: bool, tmp_path: Path) -> None:
    """Above its limit it cuts that, and decodes what it then has: garbage of any length."""
    body = b"y" * 3 * LIMIT
    path = of_firefox(tmp_path / "x.har", "text/javascript", body, size=encoded_bytes, headersSize=151,
                      bodySize=encoded_bytes + 151, headers=[{"name": "content-encoding", "value": "gzip"}])
    large = read_foreign_har(path)[1]
    assert (large.body, large.wire_bytes) == (body if kept else None, encoded_bytes)


def test_a_source_knows_which_bodies_it_lacks(tmp_path: Path) -> None:
    cached = entry(f"{PAGE}x.png", "image/png", None, size=900)
    cached["response"]["status"] = 304
    path = har(tmp_path / "x.har", entry(PAGE), entry(f"{PAGE}f.woff2", "font/woff2", SPOILT), cached,
               entry(f"{PAGE}s.css#x", "text/css", None, size=10), entry(f"{PAGE}empty", "text/plain", None, size=0))
    with opened(path) as source:
        assert source.without_body == {f"{PAGE}f.woff2": len(SPOILT), f"{PAGE}x.png": 900, f"{PAGE}s.css": 10}


def test_where_nothing_can_be_a_document_there_is_no_page(tmp_path: Path) -> None:
    """Recording began after the page had: GitHub PhilioS1996/web-project, meteo.gr.har."""
    path = har(tmp_path / "x.har", entry(f"{PAGE}x.js", "application/javascript", b"1", page=None),
               entry("https://b.test/frame", page=None, referer=PAGE))
    with opened(path) as source:
        assert not source.pages
        with pytest.raises(InputError, match=r"one URL per line, such as https://b.test/frame$"):
            list_pages(tmp_path / "A.pages", source)


def test_what_no_file_can_be_named_after_is_in_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = f"{PAGE}?{'x' * 300}"
    path = har(tmp_path / "x.har", entry(long), entry(PAGE, page="page_2"), entry(f"{PAGE}?", page="page_3"),
               entry(PORT, page="page_4"))
    with opened(path) as source:
        list_pages(tmp_path / "A.pages", source)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith(f"left out: no file can be named after them ({PAGE}?xxx")
    assert said[1].endswith(f"…, {PAGE}?), and pages on other ports than 80 and 443 cannot be replayed ({PORT})")


@pytest.mark.parametrize(("url", "said"), [
    (f"{PAGE}?{'x' * 300}", "no page that x.har names can be recorded: no file can be named after them"),
    ("http://-/", "no page that x.har names can be recorded: no file can be named after them"),
    (PORT, "no page that x.har names can be recorded: pages on other ports than 80 and 443 cannot be replayed"),
    (f"{PAGE}x.png", "x.har does not say what its pages are; make it with one URL per line")])
def test_why_there_is_no_list_of_pages_is_said(url: str, said: str, tmp_path: Path) -> None:
    made = har(tmp_path / "x.har", entry(url, "image/png" if url.endswith(".png") else "text/html"))
    with opened(made) as source, pytest.raises(InputError, match=re.escape(said)):
        list_pages(tmp_path / "A.pages", source)
