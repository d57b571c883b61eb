"""What fetch.py --from brings from HARs: bodies, charsets, WebSockets, what their browsers had in their caches."""

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest

from harness.files.encoding import decode
from harness.record.sources.archived import ArchivedRequest
from harness.record.sources.opened import is_figures_only, opened
from harness.record.sources.source import IndexedSource
from tests.support.asked_sources import PAGE, entry, find
from tests.support.foreign_hars import har
from tests.support.made_warc import DAY


def test_bodies_of_a_har_are_compressed_again(tmp_path: Path) -> None:
    script = b"const answer = 42;\n" * 500
    sent = gzip.compress(script, 9, mtime=0)
    headers = {"Content-Encoding": "gzip", "Content-Length": str(len(sent)), "Content-Type": "text/javascript"}
    path = har(tmp_path / "page.har", entry(PAGE, b"<title>x</title>"),
               entry("https://b.test/x.js", script, headers=headers),
               entry("https://b.test/y.js", script, headers=headers | {"Content-Encoding": "zstd"}),
               entry("https://b.test/lost.js", None))
    assert not is_figures_only(path)
    with opened(path) as source:
        assert isinstance(source, IndexedSource)
        assert list(source.pages) == [PAGE]
        answer = find(source, "https://b.test/x.js")
        assert (len(answer.body), gzip.decompress(answer.body)) == (len(sent), script)
        assert (answer.protocol, answer.header("content-type")) == ("h2", "text/javascript")
        other = find(source, "https://b.test/y.js")
        assert decode(other.body, "zstd") == (script, True)
        assert source.find(ArchivedRequest("GET", "https://b.test/lost.js")) is None


@pytest.mark.parametrize(("content_type", "text", "body"), [
    ("text/html; charset=gbk", "中文€", "中文€".encode("gb18030")),
    ('text/javascript;charset="GB2312"', "var a = '镕'", "var a = '镕'".encode("gbk")),
    ("text/css; charset=ISO-8859-1", "ä € “", "ä € “".encode("cp1252")),
    ("text/html; charset=Shift_JIS", "①日本", "①日本".encode("cp932")),
    ("text/html; charset=euc-kr", "똠방각하", "똠방각하".encode("cp949")),
    ("text/html", "<meta charset='koi8-r'>да", "<meta charset='koi8-r'>да".encode("koi8-r")),
    ("text/plain", "<meta charset='koi8-r'>да", "<meta charset='koi8-r'>да".encode()),
    ("text/html; charset=utf-8", "<meta charset=gbk>中", "<meta charset=gbk>中".encode()),
    ("text/html; charset=sjis", "\ufffd中", "\ufffd中".encode()),
    ("text/html; charset=ISO-8859-1", "中", "中".encode()), ("text/html; charset=idna", "ü", "ü".encode()),
    ("text/html; charset=x-none", "ü", "ü".encode()), ("text/html; charset=\0", "ü", "ü".encode()),
    ("text/html; charset=zip", "ü", "ü".encode())])
def test_texts_of_a_har_are_in_the_charset_that_they_are_sent_with(tmp_path: Path, content_type: str, text: str,
                                                                  body: bytes) -> None:
    told = entry(PAGE, b"", headers={"Content-Type": content_type})
    told["response"]["content"] = {"size": len(body), "mimeType": content_type.partition(";")[0], "text": text}
    with opened(har(tmp_path / "page.har", told)) as source:
        assert isinstance(source, IndexedSource)
        answer = find(source, PAGE)
    assert (answer.body, answer.header("content-type")) == (body, content_type)


def test_what_a_har_without_headers_holds_any_origin_may_read(tmp_path: Path) -> None:
    """Else no page gets the fonts of another host."""
    for headers, allowed in (({}, "*"), ({"Content-Type": "text/html"}, "")):
        with opened(har(tmp_path / "page.har", entry(PAGE, b"page", headers=headers))) as source:
            assert isinstance(source, IndexedSource)
            assert find(source, PAGE).header("access-control-allow-origin") == allowed


def test_a_word_in_the_place_of_bodies_is_no_body(tmp_path: Path) -> None:
    """As in a HAR of PerfCascade's test data, whose bodies were removed by hand."""
    removed = [entry(url, b"MANUALLY REMOVED") for url in (PAGE, "https://b.test/x.js")]
    for each in removed:
        each["response"]["content"]["size"] = 63930
    assert is_figures_only(har(tmp_path / "page.har", *removed))


def test_what_a_browser_had_in_its_cache_is_an_answer(tmp_path: Path) -> None:
    """As Chrome and Firefox write it when a page is loaded again: a 304 with the body of before."""
    body = b"<p>often the same " * 100
    known = entry(PAGE, body)
    known["response"] |= {"status": 304, "statusText": "Not Modified", "bodySize": 99}
    unknown = entry("http://a.test/x.png", None, "image/png")
    unknown["response"] |= {"status": 304, "statusText": "Not Modified"}
    with opened(har(tmp_path / "page.har", known, unknown)) as source:
        assert isinstance(source, IndexedSource)
        page = find(source, PAGE)
        assert (page.status, page.reason, decode(page.body, "gzip")) == (200, "OK", (body, True))
        assert ("Content-Encoding", "gzip") in page.headers, "the size in the cache shows it"
        assert source.find(ArchivedRequest("GET", "http://a.test/x.png", b"")) is None


def test_a_har_tells_what_its_page_asked_for_up_to_the_load_event(tmp_path: Path) -> None:
    later = entry("https://b.test/later.js", b"1", startedDateTime=DAY.replace(":00Z", ":02Z"))
    path = har(tmp_path / "page.har", entry(PAGE, b"<title>x</title>"), entry("https://b.test/x.js?_=1", b"1"), later)
    log = json.loads(path.read_text())
    log["log"]["pages"] = [{"id": "p", "startedDateTime": DAY, "pageTimings": {"onLoad": 1500}}]
    path.write_text(json.dumps(log))
    with opened(path) as source:
        assert source.urls_asked_for(PAGE) == {"a.test/", "b.test/x.js?_=*"}
        assert source.urls_asked_for(f"{PAGE.rstrip('/')}#top") == source.urls_asked_for(PAGE)
        assert source.urls_asked_for("http://other.test/") == frozenset()


@pytest.mark.parametrize(("on_load_ms", "said"), [(1_500, 1), (2_500, 2), (-1, 2), (None, 2)])
def test_websockets_of_a_har_end_with_its_load_event(tmp_path: Path, on_load_ms: float | None, said: int) -> None:
    """As in our own recordings (harness.mirror.live), or a load could wait for what the recorded one did not."""
    began_s = datetime.fromisoformat(DAY.replace("Z", "+00:00")).timestamp()
    messages = [{"type": "receive", "time": began_s + after_s, "opcode": 1, "data": "news"} for after_s in (1, 2)]
    talk = {"pageref": "p", "startedDateTime": DAY, "time": 5, "request": {"method": "GET", "url": "wss://a.test/s"},
            "response": {"status": 101, "headers": []}, "_webSocketMessages": messages}
    path = har(tmp_path / "page.har", entry(PAGE, b"page"), talk)
    log = json.loads(path.read_text())
    log["log"]["pages"] = [{"id": "p", "startedDateTime": DAY, "pageTimings": {"onLoad": on_load_ms}}]
    path.write_text(json.dumps(log))
    with opened(path) as source:
        live = source.find_live("https://a.test/s")
    assert live is not None
    assert len(live.messages) == said
