"""What others recorded, read into exchanges, and which of them a request gets: WARC, WACZ, HAR with bodies."""

import gzip
import io
import zipfile
import zlib
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest

from harness.errors import InputError
from harness.files.looks import Role
from harness.record.sources.body import Body, as_sent, over_http
from harness.record.sources.brought import same_name
from harness.record.sources.source import list_pages
from tests.support.foreign_hars import entry, har
from tests.support.made_warc import write_warc
from tests.support.read_source import FETCHES, NAVIGATES, read_source

PAGE, SECURE, OK = "http://a.test/", "https://a.test/", "HTTP/1.1 200 OK"
CORS, EMPTY = ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")
OLD, NEW = "jQuery1710897272563772276_1363139394945", "jQuery1710123456789012345_1363348800000"


@pytest.mark.parametrize("kind", ["warc", "har"])
def test_each_origin_gets_what_it_may_read(tmp_path: Path, kind: str) -> None:
    """Whatever asks first: the site said to each of two frames that it, and nobody else, may read the answer."""
    origins = [f"https://{name}.test" for name in ("a", "b", "a")]
    api = "https://api.test/me"
    if kind == "warc":
        path = write_warc(tmp_path / "site.warc", *(record for number, origin in enumerate(origins) for record in (
            ("request", api, "GET /me HTTP/1.1", [("Host", "api.test"), ("Origin", origin)], b""),
            ("response", api, OK, [("Access-Control-Allow-Origin", origin)], b"%d" % number))))
    else:
        made = [entry(api, "text/plain", b"%d" % number) for number in range(3)]
        for each, origin in zip(made, origins, strict=True):
            each["request"]["headers"] = [{"name": "Origin", "value": origin}]
        path = har(tmp_path / "page.har", *made)
    source = read_source(path)
    assert [source.answer_body(api, headers={**FETCHES, "origin": origin})
            for origin in (origins[1], origins[0], origins[0])] == [b"1", b"0", b"2"]


def test_posts_are_told_apart_by_their_bodies(tmp_path: Path) -> None:
    records = [record for text in (b"one", b"two") for record in (
        ("request", f"{PAGE}api", "POST /api HTTP/1.1", [("Host", "a.test")], text),
        ("response", f"{PAGE}api", OK, [], b"answer to " + text))]
    source = read_source(write_warc(tmp_path / "x.warc", *records))
    for sent in (b"two", b"one"):
        assert source.answer_body(f"{PAGE}api", "POST", sent) == b"answer to " + sent


def test_each_page_gets_its_own_answers(tmp_path: Path) -> None:
    """Two pages count their visits under one URL; the second one is loaded twice, and asks once more than the first."""
    other, count = f"{PAGE}other", f"{PAGE}count"
    path = write_warc(tmp_path / "x.warc", *(("response", url, OK, [], body) for url, body in (
        (PAGE, b"page"), (count, b"1"), (f"{PAGE}shared", b"both"), (other, b"other"), (count, b"2"), (count, b"3"))))
    source = read_source(path, wanted=[PAGE, other])
    for url, answers in ((PAGE, [b"1", b"1"]), (other, [b"2", b"3", b"3"]), (other, [b"2", b"3"]), (PAGE, [b"1"])):
        source.begin_page(url)
        assert [source.answer_body(count) for _ in answers] == answers
        assert source.answer_body(f"{PAGE}shared") == b"both"


@pytest.mark.parametrize(("asked", "got"), [
    ("http://a.test/b?t=1400000000000&r=0.5", b"beacon"), ("https://a.test/b?t=1400000000000&r=0.5", b"beacon"),
    ("http://a.test/c?a=1&b=2&x=9", b"near"), ("https://a.test/c?a=1&b=2", b"near"),
    ("http://a.test/sans.woff2?v=4", b"sans"), ("http://a.test/other.woff2", None), ("http://b.test/", None)])
def test_what_is_most_alike_stands_in(asked: str, got: bytes | None, tmp_path: Path) -> None:
    """By the rules of the replay (tests/corpus/replay), and https for http."""
    answers = {"b?t=1363082400123&r=0.123": b"beacon", "c?a=1&b=2": b"near", "c?a=1&b=3&d=4": b"far",
               "sans.woff?v=4": b"sans"}
    source = read_source(write_warc(tmp_path / "x.warc", *(("response", f"{PAGE}{target}", OK, [], body)
                                                           for target, body in answers.items())))
    assert source.answer_body(asked) == got


def test_a_fragment_of_a_page_is_never_the_page(tmp_path: Path) -> None:
    """htmx and others fetch parts of a page under the page's own URL (`HX-Request`)."""
    asked = ((("HX-Request", "true"), b"fragment"), (("Upgrade-Insecure-Requests", "1"), b"page"),
             (("HX-Request", "true"), b"last"))
    source = read_source(write_warc(tmp_path / "x.warc", *(record for header, text in asked for record in (
        ("request", PAGE, "GET / HTTP/1.1", [("Host", "a.test"), header], b""),
        ("response", PAGE, OK, [("Vary", "HX-Request")], text)))))
    assert [source.answer_body(PAGE, headers=NAVIGATES) for _ in range(2)] == [b"page", b"page"]
    htmx = {**FETCHES, "hx-request": "true"}
    assert [source.answer_body(PAGE, headers=htmx) for _ in range(3)] == [b"fragment", b"last", b"last"]


@pytest.mark.parametrize(("headers", "found"), [
    ((CORS, EMPTY), False), ((("HX-Request", "true"),), True), ((CORS,), True)])
def test_where_no_page_was_archived_a_fragment_is_none(headers: tuple[tuple[str, str], ...], found: bool,
                                                       tmp_path: Path) -> None:
    """As warcprox wrote htmx.theta.test, without the page itself. Crawlers do not say what they ask for, or call all of
    it "cors" (Node 18's fetch).
    """
    source = read_source(write_warc(
        tmp_path / "x.warc", ("request", PAGE, "GET / HTTP/1.1", [("Host", "a.test"), *headers], b""),
        ("response", PAGE, OK, [("Content-Type", "text/html")], b"<p>a fragment")))
    assert (source.answered(PAGE, headers=NAVIGATES) is not None) == found
    assert source.answered(PAGE) is not None
    assert source.brought.documents == [PAGE] * found


@pytest.mark.parametrize("location", ["https://a.test/x", "HTTPS://A.test:443/x#top", "http://a.test/x"])
def test_a_redirect_to_another_scheme_does_not_answer_there(location: str, tmp_path: Path) -> None:
    """Where an archive lacks the end (its body lies in another file, say), Chrome was led to it 20 times, in vain."""
    there = "https" if location.lower().startswith("https") else "http"
    here = "http" if there == "https" else "https"
    source = read_source(write_warc(tmp_path / "x.warc", (
        "response", f"{here}://a.test/x", "HTTP/1.1 301 Moved", [("Location", location)], b"")))
    found = [source.answered(f"{scheme}://a.test/x") for scheme in (here, there)]
    assert [each and each.answer.status for each in found] == [301, None]


def test_a_wacz_names_its_pages(tmp_path: Path) -> None:
    inner = write_warc(tmp_path / "data.warc.gz", ("response", PAGE, OK, [], b"page"))
    path = tmp_path / "site.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(inner, "archive/data.warc.gz")
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n{"url": "http://a.test/"}\nnonsense\n')
    brought = read_source(path).brought
    assert brought.pages == [PAGE]
    list_pages(tmp_path / "A.pages", brought)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"


def test_an_archive_that_does_not_say_its_pages_names_documents(tmp_path: Path) -> None:
    answers = [("response", f"{PAGE}{name}", OK, [("Content-Type", kind)], b"x")
               for name, kind in (("x.css", "text/css"), ("1", "text/html"), ("2", "text/html; charset=x"))]
    brought = read_source(write_warc(tmp_path / "x.warc.gz", *answers)).brought
    assert brought.documents == [f"{PAGE}1", f"{PAGE}2"]
    with pytest.raises(InputError, match="one URL per line"):
        list_pages(tmp_path / "A.pages", brought)


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a ZIP file of these members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in files.items():
            archive.writestr(name, member)
    return content.getvalue()


def test_nonsense_is_refused_in_one_line(tmp_path: Path) -> None:
    nonsense = {"x.har": b"{}", "y.har": b'{"log": {"entries": []}}', "x.warc.gz": gzip.compress(b"no warc at all"),
                "x.warc": b"", "y.warc": b"WARC/1.0\r\n", "x.wacz": b"PK no zip", "x.txt": b"?", "z.har": b'{"log": 1}',
                "w.har": b'{"log": {"entries": [{"request": {"url": 1}}]}}', "v.har": b"[" * 5000,
                "u.har": b'{"log": {"entries": [{"request": {"url": "http://a.test/"}, "time": 1e999}]}}',
                "s.har": b"\x1f\x8bcut", "r.har": b"[]", "q.har": b"{}", "p.har": b'{"log": {"entries": {}}}',
                "o.har": b'{"log": {"pages": ["x"], "entries": []}}',
                "n.har": b'{"log": {"entries": [{"request": {}}]}}',
                "two.zip": zipped({"a.har": b"{}", "b.har": b"{}"}), "none.zip": zipped({"a.json": b"{}"}),
                "bad.zip": zipped({"a.har": b"no json"})}
    for name, content in nonsense.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.har").symlink_to(tmp_path / "y.har")
    for name in (*nonsense, "empty", "missing.har", "link.har"):
        with pytest.raises(InputError, match=r":1: .*give ") as error:
            read_source(tmp_path / name)
        assert "\n" not in str(error.value)


def record(kind: str, url: str, head: str, body: bytes = b"", more: str = "") -> bytes:
    """Return a record of a WARC."""
    http = head.encode() + b"\r\n\r\n" + body if head.startswith(("GET", "POST", "HTTP/1.1 ")) else head.encode()
    names = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{more}"
    return f"{names}Content-Type: application/http\r\nContent-Length: {len(http)}\r\n\r\n".encode() + http + b"\r\n\r\n"


@pytest.mark.parametrize("is_request_first", [True, False])
def test_scoops_requests_stand_beside_their_answers(is_request_first: bool, tmp_path: Path) -> None:
    """It names neither in the other: a script's request for the page's URL got the page, which nested in itself."""
    exchanges = [("GET / HTTP/1.1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate", b"", b"<title>a"),
                 ("GET / HTTP/1.1\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors", b"", b"<p>part</p>"),
                 ("POST / HTTP/1.1", b"names", b"answer")]
    path = tmp_path / "x.warc"
    for head, sent, body in exchanges:
        pair = [record("request", SECURE, head, sent), record("response", SECURE, OK, body)]
        with path.open("ab") as file:
            file.write(b"".join(pair if is_request_first else reversed(pair)))
    source = read_source(path)
    got = [source.answer_body(SECURE, headers=NAVIGATES), source.answer_body(SECURE, headers=FETCHES),
           source.answer_body(SECURE, "POST", b"names")]
    assert got == [body for _, _, body in exchanges]


@pytest.mark.parametrize(("sent", "answer"), [
    (b'{"query": "names"}', b"all"), (b'{"query": "at", "t": 1785000000000}', b"one"), (b'{"query": "other"}', None)])
def test_another_query_gets_no_answer_to_this_one(sent: bytes, answer: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join((
        record("request", SECURE, "POST / HTTP/1.1", b'{"query": "names"}'), record("response", SECURE, OK, b"all"),
        record("request", SECURE, "POST / HTTP/1.1", b'{"query": "at", "t": 1363139394945}'),
        record("response", SECURE, OK, b"one"))))
    assert read_source(path).answer_body(SECURE, "POST", sent) == answer


def as_gzip(data: bytes) -> bytes:
    """Return data as gzip has it, without the time: it is part of the tests' names, which all workers must agree on."""
    return gzip.compress(data, mtime=0)


STYLE, ZIPPED = b"body { color: red }" * 9, as_gzip(b"body { color: red }" * 9)


@pytest.mark.parametrize(("coding", "body", "kept"), [
    ("gzip", STYLE, ""), ("gzip", as_gzip(b""), "gzip"), ("br", brotli.compress(b"x"), "br"),
    ("br", b"plain", ""),
    ("gzip", ZIPPED[:-9], "gzip"), ("gzip", ZIPPED + b"\n", "gzip"),        # browsers show what is there
    ("GZip, , Identity, gzip", as_gzip(ZIPPED), "GZip, , Identity, gzip"), ("gzip, gzip", ZIPPED, "gzip"),
    ("gzip, br", STYLE, ""), ("gzip, gzip", as_gzip(ZIPPED)[:-9], "gzip, gzip"), ("", ZIPPED, "gzip"),
    ("gzip", as_gzip(ZIPPED), "gzip, gzip"), ("gzip", brotli.compress(STYLE), "br"), ("utf-8", STYLE, ""),
    ("x-gzip", ZIPPED, "x-gzip"), ("deflate", zlib.compress(STYLE)[2:-4], "deflate"), ("dcb", STYLE, "br"),
    ("sdch, gzip", ZIPPED, "gzip"), ("dcb", b"\xffDCB" + bytes(range(256)), None), ("", bytes(range(256)), None)],
    ids=lambda value: value if isinstance(value, str) else "body")
def test_a_style_sheet_keeps_the_codings_that_it_has(coding: str, body: bytes, kept: str | None) -> None:
    found = as_sent([body], coding, Role.TEXT, -1)
    assert (found.coding if found else None) == kept


@pytest.mark.parametrize(("url", "coding", "body", "taken"), [
    ("http://a.test/", "br", brotli.compress(STYLE), "gzip"), ("https://a.test/", "br", brotli.compress(STYLE), "br"),
    ("http://a.test/", "br", b"no brotli", "br"), ("http://a.test/", "unheard-of", b"x", "unheard-of"),
    ("http://a.test/", "", STYLE, ""), ("http://a.test/", "gzip", ZIPPED, "gzip")])
def test_over_http_a_browser_gets_what_it_takes(url: str, coding: str, body: bytes, taken: str) -> None:
    """GitHub ukwa/webarchive-discovery has an http page in br: Chrome asks for br over https alone."""
    found = over_http(Body(body, coding), url)
    assert found.coding == taken
    assert (found.content == body) == (coding == taken)


ASKED = "http://a.test/Mona_Lisa%2C_by_%C3%BC.jpg?modules=a%2Cb%7Cc&only=x"


@pytest.mark.parametrize(("filed", "asked"), [
    (ASKED, ASKED), (ASKED.replace("http:", "https:"), ASKED),
    ("http://a.test/Mona_Lisa,_by_%c3%bc.jpg?modules=a,b%7cc&only=x", ASKED),   # GitHub ukwa/webarchive-discovery
    ("http://a.test/Mona_Lisa,_by_\u00fc.jpg?modules=a,b|c&only=x", ASKED),
    ("http://a.test:80/x", "http://a.test/x"), ("https://a.test:443/x", "https://a.test/x"),
    ("http://a.test?x=1", "http://a.test/?x=1"), ("http://a.test/b/../x", "http://a.test/x"),
    ("http://a.test/b\\x", "http://a.test/b/x"), ("http://m\u00fcller.test/", "http://xn--mller-kva.test/")])
def test_an_answer_is_found_however_its_url_is_written(filed: str, asked: str, tmp_path: Path) -> None:
    """GitHub netarchivesuite/jwat, small_BNF.arc: a page on port 80 was not there."""
    path = tmp_path / "x.warc"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\npage"
    path.write_bytes(f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {filed}\r\nContent-Type: application/http"
                     f"\r\nContent-Length: {len(http)}\r\n\r\n".encode() + http + b"\r\n\r\n")
    source = read_source(path)
    assert source.answer_body(asked, headers=NAVIGATES) == b"page"
    found = source.answered(asked)
    assert found is not None
    assert same_name(found.request.url) == same_name(asked)


@pytest.mark.parametrize("other", ["/a%2Fb?x=1", "/a/b%3Fx=1", "/a/b?x%3D1", "/a/b?x=1%262", "/a/b?x=1%252C",
                                   "/a/b?x=1%2B"])
def test_what_means_something_else_is_another_url(other: str) -> None:
    as_written = same_name(f"http://a.test{other}")
    assert as_written == f"a.test{other}"
    assert as_written not in {same_name(f"http://a.test{url}") for url in ("/a/b?x=1", "/a/b?x=1&2", "/a/b?x=1,",
                                                                           "/a/b?x=1+")}
