"""One answer, and what archives and crawlers make of its name, its encoding, and of the same answer a second time."""

import gzip
import io
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.record.sources.answers import same_name
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.encoding import as_accepted
from harness.record.sources.opened import opened
from tests.support.made_warc import write_warc

ASKED = "http://a.test/Mona_Lisa%2C_by_%C3%BC.jpg?modules=a%2Cb%7Cc&only=x"
PAGE = b"<p>page</p>" * 20


@pytest.mark.parametrize("filed", [
    ASKED,
    "https://a.test/Mona_Lisa%2C_by_%C3%BC.jpg?modules=a%2Cb%7Cc&only=x",
    "http://a.test/Mona_Lisa,_by_%c3%bc.jpg?modules=a,b%7cc&only=x",    # GitHub ukwa/webarchive-discovery, Mona Lisa
    "http://a.test/Mona_Lisa,_by_ü.jpg?modules=a,b|c&only=x"])
def test_an_answer_is_found_however_its_url_is_written(filed: str, tmp_path: Path) -> None:
    answer = ("response", filed, "HTTP/1.1 200 OK", [("Content-Type", "image/jpeg")], b"\xff")
    with opened(write_warc(tmp_path / "x.warc.gz", answer)) as source:
        found = source.find(ArchivedRequest("GET", ASKED))
    assert found is not None
    assert (found.body, found.stand_in) == (b"\xff", False)


@pytest.mark.parametrize(("filed", "asked"), [
    ("http://a.test:80/x", "http://a.test/x"), ("https://a.test:443/x", "https://a.test/x"),
    ("HTTP://A.test/x", "http://a.test/x"), ("http://a.test?x=1", "http://a.test/?x=1"),
    ("http://a.test/b/../x", "http://a.test/x"), ("http://a.test/b\\x", "http://a.test/b/x"),
    ("http://müller.test/", "http://xn--mller-kva.test/")])
def test_the_page_is_found_however_its_url_is_written(filed: str, asked: str, tmp_path: Path) -> None:
    """GitHub netarchivesuite/jwat, small_BNF.arc: a page on port 80 was not there."""
    path = tmp_path / "x.warc"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\npage"
    path.write_bytes(f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {filed}\r\nContent-Type: application/http"
                     f"\r\nContent-Length: {len(http)}\r\n\r\n".encode() + http + b"\r\n\r\n")
    with opened(path) as source:
        found = source.find(ArchivedRequest("GET", asked, navigation=True))
        assert source.documents() == [asked]
    assert found is not None
    assert (found.url, found.body) == (asked, b"page")


@pytest.mark.parametrize("other", ["/a%2Fb?x=1", "/a/b%3Fx=1", "/a/b?x%3D1", "/a/b?x=1%262", "/a/b?x=1%252C",
                                   "/a/b?x=1%2B"])
def test_what_means_something_else_is_another_url(other: str) -> None:
    as_written = same_name(f"http://a.test{other}")
    assert as_written == f"a.test{other}"
    meanings = ("/a/b?x=1", "/a/b?x=1&2", "/a/b?x=1,", "/a/b?x=1+")
    assert as_written not in {same_name(f"http://a.test{url}") for url in meanings}


@pytest.mark.parametrize(("accepted", "encoding"), [
    ("gzip, deflate", "gzip"), ("gzip, deflate, br, zstd", "br"), ("gzip;q=1.0, BR;q=0.9", "br"), ("identity", "br")])
def test_over_http_a_browser_gets_what_it_takes(accepted: str, encoding: str) -> None:
    """GitHub ukwa/webarchive-discovery has an http page in br: Chrome asks for br over https alone."""
    answer = ArchivedAnswer("http://a.test/", 200, "OK", (("Content-Encoding", "br"), ("Content-Length", "9")),
                            brotli.compress(PAGE))
    got = as_accepted(answer, accepted)
    assert got.header("content-encoding") == encoding
    assert (gzip.decompress(got.body) if encoding == "gzip" else brotli.decompress(got.body)) == PAGE
    assert got.header("content-length") == ("" if encoding == "gzip" else "9")


@pytest.mark.parametrize(("encoding", "body"), [("br", b"no brotli"), ("unheard-of", b"x"), ("identity", PAGE),
                                                ("", PAGE)])
def test_what_nobody_can_decode_stays_as_it_is(encoding: str, body: bytes) -> None:
    answer = ArchivedAnswer("http://a.test/", 200, "OK", (("Content-Encoding", encoding),) if encoding else (), body)
    assert as_accepted(answer, "gzip, deflate") == answer


def test_an_answer_that_came_before_is_that_one_unless_its_file_is_not_there(tmp_path: Path) -> None:
    """Crawlers write a "revisit" then. GitHub ukwa/webarchive-discovery has such a WARC of data.gov.uk."""
    path = write_warc(tmp_path / "x.warc", ("response", "http://a.test/", "HTTP/1.1 200 OK", [], b"page"))
    original = next(iter(ArchiveIterator(io.BytesIO(path.read_bytes()))))
    with path.open("ab") as file:
        writer = WARCWriter(file, gzip=False)
        for url, digest in (("http://a.test/again#x", original.rec_headers.get_header("WARC-Payload-Digest")),
                            ("http://a.test/lost#x", "sha1:OTHER")):
            writer.write_record(writer.create_revisit_record(url, digest, "http://a.test/", "2014-03-25T12:00:00Z"))
    with opened(path) as source:
        assert source.without_body == {"http://a.test/lost": 0}
        again, lost = (source.find(ArchivedRequest("GET", f"http://a.test/{name}")) for name in ("again", "lost"))
    assert again is not None
    assert (again.body, again.stand_in, lost) == (b"page", False, None)
