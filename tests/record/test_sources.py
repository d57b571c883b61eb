"""What others recorded, read into answers: WARC, WACZ, mahimahi's directories, HAR with bodies."""

import gzip
import os
import zipfile
import zlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest

from harness.errors import InputError
from harness.record.sources.answers import Entry
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.encoding import believed, without_chunks
from harness.record.sources.listing import list_pages
from harness.record.sources.mahimahi import message_type, read_mahimahi
from harness.record.sources.opened import opened
from harness.record.sources.source import IndexedSource
from harness.record.sources.warc import read_warcs
from tests.support.asked_sources import PAGE, entry, find
from tests.support.foreign_hars import entry as entry_of_har
from tests.support.foreign_hars import har
from tests.support.made_warc import write_warc

NAVIGATES, FETCHES = ("Upgrade-Insecure-Requests", "1"), ("HX-Request", "true")
CORS, EMPTY = ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")


def field(number: int, value: bytes) -> bytes:
    """Encode one field of bytes as protobuf puts it on the wire; lengths under 128."""
    return bytes([number << 3 | 2, len(value)]) + value


@pytest.mark.parametrize("kind", ["warc", "har"])
def test_each_origin_gets_what_it_may_read(tmp_path: Path, kind: str) -> None:
    """Whatever asks first: the site said to each of two frames that it, and nobody else, may read the answer."""
    origins = [f"https://{name}.test" for name in ("a", "b", "a")]
    api = "https://api.test/me"
    if kind == "warc":
        path = write_warc(tmp_path / "site.warc", *(record for number, origin in enumerate(origins) for record in (
            ("request", api, "GET /me HTTP/1.1", [("Host", "api.test"), ("Origin", origin)], b""),
            ("response", api, "HTTP/1.1 200 OK", [("Access-Control-Allow-Origin", origin)], b"%d" % number))))
    else:
        path = har(tmp_path / "page.har", *(entry(api, b"%d" % number, request={
            "method": "GET", "url": api, "headers": [{"name": "Origin", "value": origin}]})
            for number, origin in enumerate(origins)))
    with opened(path) as source:
        got = [source.find(ArchivedRequest("GET", api, origin=origin))
               for origin in (origins[1], origins[0], origins[0], "https://c.test")]
        assert [answer.body for answer in got if answer] == [b"1", b"0", b"2", b"0"]


def test_a_warc_answers_as_the_servers_did(tmp_path: Path) -> None:
    zipped = gzip.compress(b"body {}")
    path = write_warc(tmp_path / "x.warc.gz",
                ("response", PAGE, "HTTP/1.1 200 OK", [("Content-Type", "text/html")], b"page"),
                ("response", "http://a.test/s.css", "HTTP/1.1 200 OK",
                 [("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")],
                 b"%x\r\n%s\r\n0\r\n\r\n" % (len(zipped), zipped)),
                ("response", "http://a.test/old", "HTTP/1.0 302 Found", [("Location", "/new")], b""))
    with opened(path) as source:
        assert isinstance(source, IndexedSource)
        assert find(source, "http://a.test").body == b"page"
        style = find(source, "http://a.test/s.css")
        assert (style.body, style.header("content-encoding")) == (zipped, "gzip")
        old = find(source, "http://a.test/old")
        assert (old.status, old.reason, old.protocol, old.header("location")) == (302, "Found", "HTTP/1.0", "/new")
        assert old.captured == datetime(2013, 3, 12, 10, tzinfo=timezone.utc)
        assert source.find(ArchivedRequest("GET", "http://b.test/")) is None


def test_posts_are_told_apart_by_their_bodies(tmp_path: Path) -> None:
    records = [record for text in (b"one", b"two") for record in (
        ("request", "http://a.test/api", "POST /api HTTP/1.1", [("Host", "a.test")], text),
        ("response", "http://a.test/api", "HTTP/1.1 200 OK", [], b"answer to " + text))]
    index = read_warcs([write_warc(tmp_path / "x.warc", *records)], tmp_path, tmp_path)
    source = IndexedSource("x", index)
    assert find(source, "http://a.test/api", "POST", b"two").body == b"answer to two"
    assert find(source, "http://a.test/api", "POST", b"one").body == b"answer to one"
    assert source.find(ArchivedRequest("GET", "http://a.test/api")) is None


def test_one_url_with_several_answers_gives_them_in_order_and_then_the_last(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "x.warc", *(("response", PAGE, "HTTP/1.1 200 OK", [], body) for body in (b"1", b"2")))
    source = IndexedSource("x", read_warcs([path], path, tmp_path))
    assert [find(source, PAGE).body for _ in range(3)] == [b"1", b"2", b"2"]


def test_each_page_gets_its_own_answers_from_the_first_one_on(tmp_path: Path) -> None:
    """Two pages count their visits under one URL; the second one is loaded twice, and asks once more than the first."""
    ok, other, count = "HTTP/1.1 200 OK", "http://a.test/other", "http://a.test/count"
    path = write_warc(tmp_path / "x.warc", *(("response", url, ok, [], body) for url, body in (
        (PAGE, b"page"), (count, b"1"), ("http://a.test/shared", b"both"),
        (other, b"other"), (count, b"2"), (count, b"3"))))
    source = IndexedSource("x", read_warcs([path], path, tmp_path))
    for url, answers in ((PAGE, [b"1", b"2"]), (other, [b"2", b"3", b"3"]), (other, [b"2", b"3"]), (PAGE, [b"1"])):
        source.begin_page(f"{url}#top")
        assert [find(source, count).body for _ in answers] == answers
        assert find(source, "http://a.test/shared").body == b"both"


def test_stand_ins_differ_in_volatile_values_or_parameters_and_are_no_documents(tmp_path: Path) -> None:
    ok = "HTTP/1.1 200 OK"
    path = write_warc(tmp_path / "x.warc", ("response", "http://a.test/b?t=1363082400123&r=0.123", ok, [], b"beacon"),
                ("response", "http://a.test/c?a=1&b=2", ok, [], b"near"),
                ("response", "http://a.test/c?a=1&b=3&d=4", ok, [], b"far"),
                ("response", "http://a.test/r?t=1363082400123", "HTTP/1.1 302 Found", [("Location", "/r")], b""))
    source = IndexedSource("x", read_warcs([path], path, tmp_path))
    stand_in = find(source, "https://a.test/b?t=1400000000000&r=0.5")
    assert (stand_in.body, stand_in.stand_in, stand_in.url) == (b"beacon", True, "http://a.test/b?t=1363082400123&r=0.123")
    assert find(source, "http://a.test/c?a=1&b=2&x=9").body == b"near"
    assert not find(source, "https://a.test/c?a=1&b=2").stand_in         # http for https is the same page
    assert source.find(ArchivedRequest("GET", "http://a.test/c?a=7", navigation=True)) is None
    assert source.find(ArchivedRequest("GET", "http://a.test/r?t=1400000000000")) is None


def test_a_beacon_that_posts_other_times_is_a_stand_in_and_a_question_is_not(tmp_path: Path) -> None:
    # As google.com's in mahimahi's recording at GitHub usama6naseer/mm-drop-objs: rt=wsrt.826,aft.497 in its query.
    records = [("request", url, "POST / HTTP/1.1", [("Host", "a.test")], b"") for url in (
        "http://a.test/gen_204?s=webaft&rt=wsrt.826", "http://a.test/empty?rt=1", "http://a.test/ask?about=1")]
    answers = [("HTTP/1.1 204 No Content", b""), ("HTTP/1.1 200 OK", b""), ("HTTP/1.1 200 OK", b"an answer")]
    source = IndexedSource("x", read_warcs([write_warc(tmp_path / "x.warc", *(
        record for asked, (status, body) in zip(records, answers, strict=True)
        for record in (asked, ("response", asked[1], status, [], body))))], tmp_path, tmp_path))
    for path, status in (("gen_204?s=webaft&rt=wsrt.74", 204), ("empty?rt=2", 200)):
        answer = source.find(ArchivedRequest("POST", f"http://a.test/{path}", b"other times"))
        assert answer is not None
        assert (answer.status, answer.body, answer.stand_in) == (status, b"", True)
    assert source.find(ArchivedRequest("POST", "http://a.test/ask?about=2")) is None
    assert source.find(ArchivedRequest("POST", "http://a.test/empty?rt=2", navigation=True)) is None


def test_a_font_in_another_format_is_a_stand_in(tmp_path: Path) -> None:
    ok = "HTTP/1.1 200 OK"
    path = tmp_path / "x.warc"
    source = IndexedSource("x", read_warcs([write_warc(
        path, ("response", "http://a.test/sans.woff?v=4", ok, [], b"sans"),
        ("response", "http://a.test/serif.woff", "HTTP/1.1 404 Not Found", [], b"none"))], path, tmp_path))
    stand_in = find(source, "https://a.test/sans.woff2?v=4")
    assert (stand_in.body, stand_in.stand_in) == (b"sans", True)
    for font in ("serif.woff2", "other.woff2", "sans.svg"):
        assert source.find(ArchivedRequest("GET", f"http://a.test/{font}")) is None


def test_a_frame_may_get_a_stand_in_and_the_page_itself_not(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "x.warc", ("response", "http://a.test/ad/13630824", "HTTP/1.1 200 OK", [], b"frame"))
    source = IndexedSource("x", read_warcs([path], path, tmp_path))
    url = "http://a.test/ad/99999999"
    assert source.find(ArchivedRequest("GET", url, navigation=True)) is None
    framed = source.find(ArchivedRequest("GET", url, navigation=True, by_page=True))
    assert framed is not None
    assert (framed.body, framed.stand_in) == (b"frame", True)


def test_a_fragment_of_a_page_is_never_the_page(tmp_path: Path) -> None:
    """htmx and others fetch parts of a page under the page's own URL (`HX-Request`)."""
    asked = ((FETCHES, b"fragment"), (NAVIGATES, b"page"), (FETCHES, b"last"))
    records = [record for header, text in asked for record in (
        ("request", PAGE, "GET / HTTP/1.1", [("Host", "a.test"), header], b""),
        ("response", PAGE, "HTTP/1.1 200 OK", [("Vary", "HX-Request")], text))]
    source = IndexedSource("x", read_warcs([write_warc(tmp_path / "x.warc", *records)], tmp_path, tmp_path))

    def body(*, navigation: bool) -> bytes:
        answer = source.find(ArchivedRequest("GET", PAGE, navigation=navigation))
        assert answer is not None
        return answer.body

    assert [body(navigation=True) for _ in range(2)] == [b"page", b"page"]
    assert [body(navigation=False) for _ in range(3)] == [b"fragment", b"last", b"last"]


@pytest.mark.parametrize(("headers", "found"), [((CORS, EMPTY), False), ((FETCHES,), True), ((CORS,), True)])
def test_where_no_page_was_archived_a_fragment_is_none(headers: tuple[tuple[str, str], ...], found: bool,
                                                       tmp_path: Path) -> None:
    """As warcprox wrote htmx.theta.test, without the page itself. Crawlers do not say what they ask for, or call all of
    it "cors" (Node 18's fetch).
    """
    path = write_warc(tmp_path / "x.warc", ("request", PAGE, "GET / HTTP/1.1", [("Host", "a.test"), *headers], b""),
                      ("response", PAGE, "HTTP/1.1 200 OK", [("Content-Type", "text/html")], b"<p>a fragment"))
    source = IndexedSource("x", read_warcs([path], tmp_path, tmp_path))
    assert (source.find(ArchivedRequest("GET", PAGE, navigation=True)) is not None) == found
    assert source.find(ArchivedRequest("GET", PAGE)) is not None
    assert source.documents() == [PAGE] * found


def test_a_wacz_names_its_pages(tmp_path: Path) -> None:
    inner = write_warc(tmp_path / "data.warc.gz", ("response", PAGE, "HTTP/1.1 200 OK", [], b"page"))
    path = tmp_path / "site.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(inner, "archive/data.warc.gz")
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n{"url": "http://a.test/"}\nnonsense\n')
    with opened(path) as source:
        assert list(source.pages) == [PAGE]
        assert isinstance(source, IndexedSource)
        assert find(source, PAGE).body == b"page"
        list_pages(tmp_path / "A.pages", source)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"


def test_a_recording_of_mahimahi(tmp_path: Path) -> None:
    """Written byte by byte from the format's field numbers, not by the reader's own schema."""
    host = field(1, b"Host") + field(2, b"a.test")
    request = field(1, b"GET /x?y HTTP/1.1") + field(2, host)
    response = (field(1, b"HTTP/1.1 200 OK") + field(2, field(1, b"Transfer-Encoding") + field(2, b"chunked"))
                + field(3, b"4\r\npage\r\n0\r\n\r\n"))
    (tmp_path / "save.1").write_bytes(field(1, b"10.0.0.1") + bytes([2 << 3, 80, 3 << 3, 2])
                                      + field(4, request) + field(5, response))
    (tmp_path / "save.2").write_bytes(b"\xff\xff not a message")
    source = IndexedSource("x", read_mahimahi(tmp_path))
    answer = find(source, "https://a.test/x?y")
    assert (answer.status, answer.reason, answer.body, answer.protocol) == (200, "OK", b"page", "HTTP/1.1")
    message: Any = message_type()()
    message.ParseFromString((tmp_path / "save.1").read_bytes())
    assert (message.ip, message.port, message.scheme) == ("10.0.0.1", 80, 2)


@pytest.mark.parametrize(("name", "value", "body", "lost_bytes"), [
    (b"Transfer-Encoding", b"chunked", b"4\r\npage\r\n9\r\ncut", 0), (b"Content-Length", b"900", b"page", 900)])
def test_what_mahimahi_recorded_of_a_body_is_missing_when_it_broke_off(name: bytes, value: bytes, body: bytes,
                                                                       lost_bytes: int, tmp_path: Path) -> None:
    request = field(1, b"GET / HTTP/1.1") + field(2, field(1, b"Host") + field(2, b"A.test:80"))
    response = field(1, b"HTTP/1.1 200 OK") + field(2, field(1, name) + field(2, value)) + field(3, body)
    (tmp_path / "save").write_bytes(bytes([3 << 3, 1]) + field(4, request) + field(5, response))
    source = IndexedSource("x", read_mahimahi(tmp_path))
    assert source.find(ArchivedRequest("GET", PAGE)) is None
    assert source.without_body == {PAGE: lost_bytes}


def test_what_mahimahi_recorded_is_in_the_order_of_its_dates_and_files(tmp_path: Path) -> None:
    second, first = "Tue, 12 Mar 2013 10:00:02 GMT", "Tue, 12 Mar 2013 10:00:01 GMT"
    for name, mtime_ns, date, body in (("a", 4, second, b"4"), ("b", 3, second, b"3"), ("c", 9, first, b"1"),
                                       ("d", 10**9 * 1363082401 + 999, "", b"2"), ("e", 4, second, b"5")):
        headers = field(2, field(1, b"Date") + field(2, date.encode())) if date else b""
        response = field(1, b"HTTP/1.1 200 OK") + headers + field(3, body)
        request = field(1, b"GET / HTTP/1.1") + field(2, field(1, b"Host") + field(2, b"a.test"))
        (tmp_path / name).write_bytes(bytes([3 << 3, 1]) + field(4, request) + field(5, response))
        os.utime(tmp_path / name, ns=(0, mtime_ns))
    source = IndexedSource("x", read_mahimahi(tmp_path))
    assert b"".join(find(source, PAGE).body for _ in range(5)) == b"12345"


@pytest.mark.parametrize(("date", "captured"), [
    ("Tue, 12 Mar 2013 10:00:02 GMT", "2013-03-12T10:00:02+00:00"),
    ("Tue, 12 Mar 2013 10:00:02", "2013-03-12T10:00:02+00:00"),
    ("", "2026-11-26T00:00:00+00:00"), ("yesterday", "2026-11-26T00:00:00+00:00")])
def test_what_mahimahi_recorded_is_as_old_as_it_says_and_not_as_its_copy(date: str, captured: str, tmp_path: Path
                                                                        ) -> None:
    headers = field(2, field(1, b"Date") + field(2, date.encode())) if date else b""
    request = field(1, b"GET / HTTP/1.1") + field(2, field(1, b"Host") + field(2, b"a.test"))
    response = field(1, b"HTTP/1.1 200 OK") + headers + field(3, b"page")
    (tmp_path / "save").write_bytes(bytes([3 << 3, 1]) + field(4, request) + field(5, response))
    os.utime(tmp_path / "save", (0, datetime.fromisoformat("2026-11-26T00:00:00+00:00").timestamp()))
    assert find(IndexedSource("x", read_mahimahi(tmp_path)), PAGE).captured == datetime.fromisoformat(captured)


def test_an_archive_that_does_not_say_its_pages_names_documents(tmp_path: Path) -> None:
    answers = [("response", f"http://a.test/{name}", "HTTP/1.1 200 OK", [("Content-Type", kind)], b"x")
               for name, kind in (("x.css", "text/css"), ("1", "text/html"), ("2", "text/html; charset=x"))]
    with opened(write_warc(tmp_path / "x.warc.gz", *answers)) as source:
        with pytest.raises(InputError, match=r"one URL per line, such as http://a.test/1, http://a.test/2$"):
            list_pages(tmp_path / "A.pages", source)

        def damaged() -> ArchivedAnswer:
            raise EOFError

        assert isinstance(source, IndexedSource)
        source._index.entries[:] = [Entry("GET", PAGE, 200, damaged)]
        assert source.documents() == []


def test_nonsense_is_refused_in_one_line(tmp_path: Path) -> None:
    nonsense = {"x.har": b"{}", "y.har": b'{"log": {"entries": []}}', "x.warc.gz": gzip.compress(b"no warc at all"),
                "x.warc": b"", "y.warc": b"WARC/1.0\r\n", "x.wacz": b"PK no zip", "x.txt": b"?", "z.har": b'{"log": 1}',
                "w.har": b'{"log": {"entries": [{"request": {"url": 1}}]}}', "v.har": b"[" * 5000,
                "u.har": b'{"log": {"entries": [{"request": {"url": "http://a.test/"}, "time": 1e999}]}}',
                "t.har": b'{"log": {"entries": []}, "x": ' + b"[" * 300 + b"]" * 300 + b"}", "s.har": b"\x1f\x8bcut"}
    for name, content in nonsense.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.har").symlink_to(tmp_path / "y.har")
    for name in (*nonsense, "empty", "missing.har", "link.har"):
        with pytest.raises(InputError, match=r":1: .*give ") as error, opened(tmp_path / name):
            pass
        assert "\n" not in str(error.value)


def test_a_list_is_needed_where_the_source_has_none(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "x.warc", ("response", PAGE, "HTTP/1.1 200 OK", [], b"page"))
    index = read_warcs([path], path, tmp_path)
    with pytest.raises(InputError, match=r"A\.pages:1: .*one URL per line"):
        list_pages(tmp_path / "A.pages", IndexedSource("x.warc", index))


def test_chunks_and_encodings_that_are_only_said() -> None:
    assert without_chunks(b"4\r\npage\r\n0\r\n\r\n") == (b"page", True)
    assert without_chunks(b"4;x=y\r\npage\r\n1\r\n!\r\n0\r\n\r\n") == (b"page!", True)
    for body in (b"", b"page", b"zz\r\n", b"\r\n", b"-1\r\n"):
        assert without_chunks(body) == (body, True)


STYLE, ZIPPED = b"body { color: red }" * 9, gzip.compress(b"body { color: red }" * 9)


@pytest.mark.parametrize(("coding", "body", "kept"), [
    ("gzip", STYLE, ""), ("gzip", gzip.compress(b""), "gzip"), ("br", brotli.compress(b"x"), "br"),
    ("br", b"plain", ""),
    ("gzip", ZIPPED[:-9], "gzip"), ("gzip", ZIPPED + b"\n", "gzip"),        # browsers show what is there
    ("GZip, , Identity, gzip", gzip.compress(ZIPPED), "GZip, , Identity, gzip"), ("gzip, gzip", ZIPPED, "gzip"),
    ("gzip, br", STYLE, ""), ("gzip, gzip", gzip.compress(ZIPPED)[:-9], "gzip, gzip"), ("", ZIPPED, "gzip"),
    ("gzip", gzip.compress(ZIPPED), "gzip, gzip"), ("gzip", brotli.compress(STYLE), "br"), ("utf-8", STYLE, ""),
    ("x-gzip", ZIPPED, "x-gzip"), ("deflate", zlib.compress(STYLE)[2:-4], "deflate"), ("dcb", STYLE, "br"),
    ("sdch, gzip", ZIPPED, "gzip"), ("dcb", b"\xffDCB" + bytes(range(256)), None), ("", bytes(range(256)), None)],
    ids=lambda value: value if isinstance(value, str) else "body")
def test_a_style_sheet_keeps_the_codings_that_it_has(coding: str, body: bytes, kept: str | None) -> None:
    said = (("Content-Type", "text/css"), *((("Content-Encoding", coding),) if coding else ()))
    found = believed(ArchivedAnswer("https://a.test/x", 200, "OK", said, body))
    assert (found.header("content-encoding") if found else None) == kept


def test_60_gb_of_nothing_are_no_warc(tmp_path: Path) -> None:
    for name in ("x.warc", "x.warc.gz", "x.arc"):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, 60 * 10**9)
        with pytest.raises(InputError, match=rf"{name}:1: not a WARC \(it begins with "):
            read_warcs([tmp_path / name], tmp_path / name, tmp_path)


def test_a_har_body_is_compressed_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    """A large br body takes seconds: all requests of a page waited for each of them, three levels each time."""
    made = entry_of_har(PAGE, body=b"x" * (2**20 + 1))
    made["response"] |= {"headers": [{"name": "Content-Encoding", "value": "br"}], "bodySize": 9}
    with opened(har(tmp_path / "x.har", made)) as source:
        first, second = (find(source, PAGE) for _ in range(2))
    assert first.body is second.body
