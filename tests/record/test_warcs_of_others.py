"""WARC files of programs that write records in ways of their own, and records that are not whole."""

import gzip
import io
from pathlib import Path
from random import randbytes

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.files.encoding import decode
from tests.support.made_warc import write_warc
from tests.support.read_source import FETCHES, NAVIGATES, ReadSource, read_source

PAGE = "https://a.test/"
OK = "HTTP/1.1 200 OK"


def record(kind: str, url: str, head: str, body: bytes = b"", more: str = "") -> bytes:
    http = head.encode() + b"\r\n\r\n" + body if head.startswith(("GET", "POST", "HTTP/1.1 ")) else head.encode()
    names = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{more}"
    return f"{names}Content-Type: application/http\r\nContent-Length: {len(http)}\r\n\r\n".encode() + http + b"\r\n\r\n"


def missing(source: ReadSource) -> dict[str, int]:
    return {url: each.bytes for url, each in source.brought.missing.items()}


@pytest.mark.parametrize("is_request_first", [True, False])
def test_scoops_requests_stand_beside_their_answers(is_request_first: bool, tmp_path: Path) -> None:
    """It names neither in the other: a script's request for the page's URL got the page, which nested in itself."""
    exchanges = [("GET / HTTP/1.1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate", b"", b"<title>a"),
                 ("GET / HTTP/1.1\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors", b"", b"<p>part</p>"),
                 ("POST / HTTP/1.1", b"names", b"answer")]
    path = tmp_path / "x.warc"
    for head, sent, body in exchanges:
        pair = [record("request", PAGE, head, sent), record("response", PAGE, OK, body)]
        with path.open("ab") as file:
            file.write(b"".join(pair if is_request_first else reversed(pair)))
    source = read_source(path)
    got = [source.answer_body(PAGE, headers=NAVIGATES), source.answer_body(PAGE, headers=FETCHES),
           source.answer_body(PAGE, "POST", b"names")]
    assert got == [body for _, _, body in exchanges]


@pytest.mark.parametrize(("head", "body", "more", "lost_bytes"), [
    (f"{OK}\r\nContent-Length: 61577", b"x" * 6000, "WARC-Truncated: disconnect\r\n", 61577),
    (f"{OK}\r\nContent-Length: 61577", b"x" * 6000, "", 61577),
    (OK, b"x" * 6000, "WARC-Truncated: length\r\n", 0),
    (f"{OK}\r\nTransfer-Encoding: chunked", b"5\r\nhello\r\n5\r\nwor", "", 0),
    (f"{OK}\r\nTransfer-Encoding: chunked", b"5\r\nhello\r\n", "", None),
    ("HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\nContent-Range: bytes 100-199/200", b"", "", 100),
    (f"{OK}\r\nContent-Length: 789", b"x" * 788, "", None),
    (OK, b"x", "WARC-Truncated: unspecified\r\n", None),       # as our own: the browser gave it up
    ("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 100-199/200", b"x", "", None),
    (f"{OK}\r\nContent-Length: 30\r\nContent-Encoding: gzip", b"decoded", "", None)])
def test_what_a_record_does_not_have_whole_is_missing(head: str, body: bytes, more: str, lost_bytes: int | None,
                                                      tmp_path: Path) -> None:
    """node-warc writes parts without a byte; crawlers cut what is too long for them."""
    path = tmp_path / "x.warc"
    path.write_bytes(record("response", PAGE, OK, b"page") + record("response", f"{PAGE}x", head, body, more))
    assert missing(read_source(path)) == ({} if lost_bytes is None else {f"{PAGE}x": lost_bytes})


@pytest.mark.parametrize("packed", [False, True])
def test_the_answer_inside_of_which_a_file_ends_is_missing(packed: bool, tmp_path: Path) -> None:
    """GitHub netarchivesuite/solrwayback, compressions_warc: 59 of a page's 246 bytes were the page."""
    answers = [record("response", PAGE, OK, b"page"), record("response", f"{PAGE}x", f"{OK}\r\nX: y", randbytes(5000))]
    path = tmp_path / ("x.warc.gz" if packed else "x.warc")
    path.write_bytes(b"".join(gzip.compress(answer) if packed else answer for answer in answers)[:-3000])
    source = read_source(path)
    assert source.answered(f"{PAGE}x") is None
    assert f"{PAGE}x" in missing(source) or packed, "of what is packed not even the head may be there"
    assert len(source.brought.remarks) == 1


@pytest.mark.parametrize(("sent", "answer"), [
    (b'{"query": "names"}', b"all"), (b'{"query": "at", "t": 1785000000000}', b"one"), (b'{"query": "other"}', None)])
def test_another_query_gets_no_answer_to_this_one(sent: bytes, answer: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join((
        record("request", PAGE, "POST / HTTP/1.1", b'{"query": "names"}'), record("response", PAGE, OK, b"all"),
        record("request", PAGE, "POST / HTTP/1.1", b'{"query": "at", "t": 1363139394945}'),
        record("response", PAGE, OK, b"one"))))
    assert read_source(path).answer_body(PAGE, "POST", sent) == answer


CUT, NEW = "WARC-Payload-Digest: sha1:CUT\r\n", "WARC-Payload-Digest: sha1:NEW\r\n"


def test_what_stands_for_a_record_that_is_not_whole_is_missing_as_well(tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join((
        record("response", f"{PAGE}a", f"{OK}\r\nContent-Length: 900", b"begin", CUT),
        record("revisit", f"{PAGE}b", OK, b"", CUT), record("response", f"{PAGE}c", OK, b"whole", NEW),
        record("revisit", f"{PAGE}d", OK, b"", NEW))))
    source = read_source(path)
    assert missing(source) == {f"{PAGE}a": 900, f"{PAGE}b": 900}
    assert source.answer_body(f"{PAGE}d") == b"whole"
    path.write_bytes(path.read_bytes() + record("response", f"{PAGE}e", OK, b"all of it", CUT))
    assert missing(read_source(path)) == {f"{PAGE}a": 900}, "another record with that digest is whole"


def test_what_was_not_modified_is_the_page_that_the_crawler_had(tmp_path: Path) -> None:
    """A browser that did not ask whether something was modified can make nothing of a 304."""
    unmodified = "HTTP/1.1 304 Not Modified\r\nETag: x"
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join((
        record("response", PAGE, f"{OK}\r\nContent-Type: text/html", b"page", NEW),
        record("response", f"{PAGE}moved", "HTTP/1.1 302 Found\r\nLocation: /", b"", CUT),
        record("revisit", f"{PAGE}b", unmodified, b"", NEW), record("revisit", f"{PAGE}c", unmodified, b"", CUT),
        record("response", f"{PAGE}d", unmodified))))
    source = read_source(path)
    found = source.answered(f"{PAGE}b")
    assert found is not None
    assert (found.request.url, found.answer.status, found.answer.reason, source.body_of(found),
            found.answer.header("content-type")) == (f"{PAGE}b", 200, "OK", b"page", "text/html")
    assert missing(source) == {f"{PAGE}c": 0, f"{PAGE}d": 0}


@pytest.mark.parametrize("names", [
    "WARC-Payload-Digest: sha1:NEW\r\n", "WARC-Refers-To: <urn:uuid:1>\r\n",
    f"WARC-Refers-To-Target-URI: {PAGE}a\r\nWARC-Refers-To-Date: 2020-01-01T00:00:00Z\r\n"])
def test_what_stands_for_a_record_without_a_head_is_answered_as_that_was(names: str, tmp_path: Path) -> None:
    """A gzip body came without its Content-Encoding, and a 404 as a 200."""
    path = tmp_path / "x.warc"
    head = "HTTP/1.1 404 Not Found\r\nContent-Type: text/css\r\nContent-Encoding: gzip"
    of_original = "WARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
    path.write_bytes(record("response", f"{PAGE}a", head, gzip.compress(b"body"), f"{of_original}{NEW}")
                     + record("revisit", f"{PAGE}b", "", b"", names))
    source = read_source(path)
    found = source.answered(f"{PAGE}b")
    assert found is not None
    answer = found.answer
    assert (found.request.url, answer.status, answer.reason, gzip.decompress(source.body_of(found)),
            answer.header("content-encoding"), answer.header("content-type")) == (
                f"{PAGE}b", 404, "Not Found", b"body", "gzip", "text/css")


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_what_a_browser_decoded_for_its_archive_is_encoded_again(encoding: str, tmp_path: Path) -> None:
    """As Browsertrix and ArchiveWeb.page write: three times the bytes crossed the network, under a header of theirs."""
    page = b"<p>a page, and again a page</p>" * 500
    path = tmp_path / "x.warc"
    path.write_bytes(record("response", PAGE, f"{OK}\r\ncontent-length: {len(page)}\r\n"
                            f"x-orig-content-encoding: {encoding}\r\nx-orig-transfer-encoding: chunked", page))
    source = read_source(path)
    found = source.answered(PAGE, headers=NAVIGATES)
    assert found is not None
    assert found.answer.headers == (("Content-Encoding", encoding),)
    assert decode(source.body_of(found), encoding) == (page, True)
    assert len(source.body_of(found)) < len(page) / 3


def test_an_answer_that_came_before_is_that_one_unless_its_file_is_not_there(tmp_path: Path) -> None:
    """Crawlers write a "revisit" then. GitHub ukwa/webarchive-discovery has such a WARC of data.gov.uk."""
    path = write_warc(tmp_path / "x.warc", ("response", "http://a.test/", OK, [], b"page"))
    original = next(iter(ArchiveIterator(io.BytesIO(path.read_bytes()))))
    with path.open("ab") as file:
        writer = WARCWriter(file, gzip=False)
        for url, digest in (("http://a.test/again#x", original.rec_headers.get_header("WARC-Payload-Digest")),
                            ("http://a.test/lost#x", "sha1:OTHER")):
            writer.write_record(writer.create_revisit_record(url, digest, "http://a.test/", "2014-03-25T12:00:00Z"))
    source = read_source(path)
    assert missing(source) == {"http://a.test/lost": 0}
    assert source.answer_body("http://a.test/again") == b"page"
    assert source.answered("http://a.test/lost") is None
