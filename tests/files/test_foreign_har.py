"""What HARs of other programs say in ways of their own, as seen in public ones."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.foreign_har import read_foreign_har
from harness.files.foreign_pages import page_urls
from harness.record.sources.listing import list_pages
from harness.record.sources.opened import opened

PAGE = "https://a.test/"
FONT = bytes(range(256)) * 20
SPOILT = FONT.decode("utf-8", "replace").encode()
"""The font as Chrome exports it whose server calls it text: each byte that is no UTF-8 has become U+FFFD."""


def entry(url: str, mime_type: str = "text/html", body: bytes | None = b"<p>page", *, size: int | None = None,
          page: str | None = "page_1", second: int = 1, referer: str = "") -> dict[str, Any]:
    content: dict[str, Any] = {"mimeType": mime_type, "size": len(body or b"") if size is None else size}
    if body is not None:
        content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    made = {"startedDateTime": f"2012-01-08T13:25:{second:02}.000Z", "time": 5, "request": {
        "method": "GET", "url": url, "headers": [{"name": "Referer", "value": referer}] if referer else []},
        "response": {"status": 200, "statusText": "OK", "headers": [], "content": content}}
    return made if page is None else made | {"pageref": page}


def har(path: Path, *entries: dict[str, Any], pages: tuple[tuple[str, int], ...] = ()) -> Path:
    """Write a HAR with `pages`, of which each is an id and the second it was begun at."""
    named = [{"id": name, "startedDateTime": f"2012-01-08T13:25:{second:02}.000Z"} for name, second in pages]
    path.write_text(json.dumps({"log": {"pages": named, "entries": entries}}))
    return path


def test_requests_that_name_their_frame_belong_to_the_page_that_was_begun_last(tmp_path: Path) -> None:
    """As the Web Inspector of Chrome 16 wrote them: GitHub jvdmeiden/har-viewer, buienradar.nl.har."""
    path = har(tmp_path / "x.har", entry(PAGE, page=PAGE), entry("https://ads.test/1", page="https://ads.test/1"),
               entry("https://b.test/", page="https://b.test/", second=11, referer=PAGE),
               entry("https://ads.test/2", page="about:blank", second=12),
               entry("https://a.test/early", page="?", second=0), pages=((PAGE, 1), ("https://b.test/", 10)))
    entries = read_foreign_har(path)
    assert [entry.page for entry in entries] == [PAGE, PAGE, "https://b.test/", "https://b.test/", PAGE]
    assert page_urls(entries) == {PAGE: PAGE, "https://b.test/": "https://b.test/"}


def test_what_a_page_before_waited_for_is_left_out(tmp_path: Path) -> None:
    """As PhantomJS writes, also into HARP: GitHub iiithyd-websec/CORP-Headers, www.addthis.com.har."""
    entries = [entry("https://before.test/hm.gif", "image/gif", b"x"), entry(PAGE), entry(f"{PAGE}x.gif", "image/gif")]
    path = har(tmp_path / "x.har", *({**made, "pageref": PAGE.rstrip("/")} for made in entries),
               pages=((PAGE.rstrip("/"), 0),))
    path.write_text(f"onInputData({path.read_text()});\n")
    assert [entry.url for entry in read_foreign_har(path)] == [PAGE, f"{PAGE}x.gif"]
    of_unknown_type = har(tmp_path / "x.har", entry(PAGE, "", page=PAGE), entry(f"{PAGE}x.gif", "image/gif", page=PAGE),
                          pages=((PAGE, 0),))
    assert len(read_foreign_har(of_unknown_type)) == 2
    without_document = har(tmp_path / "y.har", *({**made, "pageref": PAGE} for made in (entries[0], entries[2])),
                           pages=((PAGE, 0),))
    assert len(read_foreign_har(without_document)) == 2
    assert page_urls(read_foreign_har(without_document)) == {}


def test_requests_that_name_no_page_belong_to_none(tmp_path: Path) -> None:
    """A browser that was asked to keep its log lists what the page before asked for, without a page."""
    path = har(tmp_path / "x.har", entry("https://before.test/", page=None), entry(PAGE), pages=(("page_1", 1),))
    assert [entry.page for entry in read_foreign_har(path)] == ["", "page_1"]


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


def test_a_source_knows_which_bodies_it_lacks(tmp_path: Path) -> None:
    cached = entry(f"{PAGE}x.png", "image/png", None, size=900)
    cached["response"]["status"] = 304
    path = har(tmp_path / "x.har", entry(PAGE), entry(f"{PAGE}f.woff2", "font/woff2", SPOILT), cached,
               entry(f"{PAGE}s.css#x", "text/css", None, size=10), entry(f"{PAGE}empty", "text/plain", None, size=0))
    with opened(path) as source:
        assert source.without_body == {f"{PAGE}f.woff2", f"{PAGE}x.png", f"{PAGE}s.css"}


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
    path = har(tmp_path / "x.har", entry(long), entry(PAGE, page="page_2"), entry(f"{PAGE}?", page="page_3"))
    with opened(path) as source:
        list_pages(tmp_path / "A.pages", source)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith(f"left out, because no file can be named after them: {PAGE}?xxx")
    assert said[1].endswith(f"…, {PAGE}?")
    (tmp_path / "A.pages").unlink()
    with opened(har(tmp_path / "x.har", entry(long))) as source, pytest.raises(InputError, match=r"one URL per line$"):
        list_pages(tmp_path / "A.pages", source)
