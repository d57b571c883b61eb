"""What others recorded, read into answers: WARC, WACZ, HAR with bodies."""

import gzip
import zipfile
import zlib
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest

from harness.errors import InputError
from harness.record.sources.answers import Entry
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.encoding import believed
from harness.record.sources.listing import list_pages
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


def test_posts_are_told_apart_by_their_bodies(tmp_path: Path) -> None:
    records = [record for text in (b"one", b"two") for record in (
        ("request", "http://a.test/api", "POST /api HTTP/1.1", [("Host", "a.test")], text),
        ("response", "http://a.test/api", "HTTP/1.1 200 OK", [], b"answer to " + text))]
    index = read_warcs([write_warc(tmp_path / "x.warc", *records)], tmp_path, tmp_path)
    source = IndexedSource("x", index)
    assert find(source, "http://a.test/api", "POST", b"two").body == b"answer to two"
    assert find(source, "http://a.test/api", "POST", b"one").body == b"answer to one"
    assert source.find(ArchivedRequest("GET", "http://a.test/api")) is None


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


def test_a_har_body_is_compressed_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    """A large br body takes seconds: all requests of a page waited for each of them, three levels each time."""
    made = entry_of_har(PAGE, body=b"x" * (2**20 + 1))
    made["response"] |= {"headers": [{"name": "Content-Encoding", "value": "br"}], "bodySize": 9}
    with opened(har(tmp_path / "x.har", made)) as source:
        assert isinstance(source, IndexedSource)
        first, second = (find(source, PAGE) for _ in range(2))
    assert first.body is second.body
