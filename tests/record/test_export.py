"""fetch.py --to: others' tools, DevTools' importer among them, find what was recorded, byte for byte."""

import base64
import gzip
import hashlib
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
from surt import surt  # type: ignore[import-untyped]
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.encoding import decode
from harness.files.pages import Page, read_pages
from harness.record.export import export
from harness.synthetic.build import make_pages
from tests.support.devtools import import_hars
from tests.support.har_schema import assert_har
from tests.support.read_source import FETCHES, NAVIGATES, read_source
from tests.support.recording import MadeRecording

URL = "https://www.made.test/"
PICTURE = "http://img.made.test/p.png?x=1"
TYPED: dict[str, tuple[bytes, dict[str, str]]] = {
    URL: (b"<!DOCTYPE html><title>made</title>", {"content-type": "text/html", "set-cookie": "a=1\nb=2"}),
    f"{URL}style.css": (gzip.compress(b"body { color: red }" * 50, mtime=0), {
        "content-type": "text/css", "content-encoding": "gzip", "transfer-encoding": "chunked"}),
    PICTURE: (bytes(range(256)) * 4, {"content-type": "image/png", "content-length": "1024"})}
ODD: dict[str, tuple[bytes, dict[str, str]]] = {
    f"{URL}1": ("<p>caf\u00e9".encode(), {"content-type": "text/html; charset=iso-8859-1"}),
    f"{URL}2": ("<p>caf\u00e9".encode(), {"content-type": "text/html; charset=gbk"}),
    f"{URL}3": ('<meta charset="shift_jis"><p>\u00e9'.encode(), {"content-type": "text/html"}),
    f"{URL}4": ("\ufeff<p>caf\u00e9".encode(), {"content-type": "text/html"}),
    f"{URL}5": ("<p>caf\u00e9".encode("cp1252"), {"content-type": "text/html"}),
    f"{URL}6": (gzip.compress(b"page" * 500, mtime=0)[:-9], {"content-type": "text/html", "content-encoding": "gzip"}),
    f"{URL}7": (brotli.compress(bytes(range(256)))[:-9], {"content-type": "text/html", "content-encoding": "br"}),
    f"{URL}8": (b"not gzip", {"content-type": "text/html", "content-encoding": "gzip"})}
"""Servers say a wrong charset, and what broke off cannot be unzipped: a HAR brings back what it cannot decode."""
FOREIGN = {"location": "http://a.test/Zürich", "set-cookie": "town=東京; path=/"}
SENT = bytes(range(256))
LOAD = ROOT / "tests" / "corpus" / "clients" / "h2-modern" / "client.tar.gz"


@pytest.fixture
def pages(tmp_path: Path) -> list[Page]:
    """Record a page, "made", whose answer has foreign words: among its requests are a redirect, a failure, a POST of
    bytes, and a HEAD of what nobody got.
    """
    made = MadeRecording(tmp_path, "made")
    for url, (body, headers) in (TYPED | ODD).items():
        made.add(url, body, [*headers.items(), *(FOREIGN.items() if url == URL else ())],
                 version="HTTP/1.1" if url == PICTURE else "h2")
    made.entries[0]["response"]["statusText"] = "Trouv\u00e9"
    made.add(f"{URL}old", status=301, to="/style.css")
    made.add(f"{URL}gone", status=0, _error="net::ERR_FAILED", _partial=True)
    made.add(f"{URL}map", headers={"content-length": "12345"}.items(), method="HEAD")
    made.add(f"{URL}api", b'{"answer": 1}', "application/json", method="POST", request={
        "postData": {"mimeType": "", "text": base64.b64encode(SENT).decode(), "_encoding": "base64"}})
    made.finish(URL)
    return read_pages(tmp_path / "made.pages")


def read_by_warcio(warc: bytes) -> dict[str, bytes]:
    """Return bodies by URL."""
    bodies = {}
    for record in ArchiveIterator(io.BytesIO(warc), check_digests="raise"):
        if record.rec_type == "response":
            headers = dict(record.http_headers.headers)
            assert ("Content-Length" in headers, "transfer-encoding" in headers) == (True, False)
            bodies[record.rec_headers.get_header("WARC-Target-URI")] = record.raw_stream.read()
            assert record.rec_headers.get_header("WARC-Date").startswith("2026-11-21T09:00:00")
    return bodies


def warc_in_wacz(file: Path) -> bytes:
    """Return the WARC in a WACZ, whose other files are what its format wants: hashes, an index, the list of pages."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
    warc = members["archive/data.warc.gz"]
    for resource in json.loads(members["datapackage.json"])["resources"]:
        content = members[resource["path"]]
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    lines = members["indexes/index.cdx"].decode().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        found = json.loads(line.split(" ", 2)[2])
        at, size = int(found["offset"]), int(found["length"])
        record = next(iter(ArchiveIterator(io.BytesIO(warc[at:at + size]))))
        assert record.rec_headers.get_header("WARC-Target-URI") == found["url"]
        posted = f"?__wb_method={found['method']}" if "method" in found else ""
        assert line.split(" ")[0] == surt(found["url"] + posted)
    listed = [json.loads(line) for line in members["pages/pages.jsonl"].splitlines()]
    assert (listed[0]["format"], [page["url"] for page in listed[1:]]) == ("json-pages-1.0", [URL])
    return warc


@pytest.mark.parametrize("ending", ["warc", "warc.gz", "wacz", "har"])
def test_others_and_we_read_what_is_written_byte_for_byte(tmp_path: Path, pages: list[Page], ending: str) -> None:
    file = tmp_path / f"made.{ending}"
    assert export(tmp_path, "made", pages, file).endswith(f"{file}: 1 pages with 14 answers")
    if ending == "har":
        assert_har(file)
    else:
        bodies = read_by_warcio(warc_in_wacz(file) if ending == "wacz" else file.read_bytes())
        sent = {url: body for url, (body, _) in (TYPED | ODD).items()}
        assert bodies == {**sent, f"{URL}api": b'{"answer": 1}', f"{URL}map": b"", f"{URL}old": b""}
    source = read_source(file)
    for url, (body, headers) in (TYPED | (ODD if ending == "har" else {})).items():
        found = source.answered(url, headers=NAVIGATES if url == URL else FETCHES)
        assert found is not None
        assert found.answer.protocol == ("h2" if url.startswith("https:") else "HTTP/1.1")
        coding, got = headers.get("content-encoding", ""), source.body_of(found)
        assert found.answer.header("content-encoding") == coding
        # A HAR's bodies are compressed again, which need not give the same bytes.
        assert (decode(got, coding) == decode(body, coding)) if ending == "har" else (got == body)
        if url == URL:
            assert found.answer.reason == "Trouv\u00e9"
            assert FOREIGN.items() <= {(name.lower(), value) for name, value in found.answer.headers or ()}
    assert [source.answer_body(f"{URL}api", "POST", sent) for sent in (SENT, b"x")] == [b'{"answer": 1}', None]
    head = source.answered(f"{URL}map", "HEAD")
    assert head is not None
    assert head.answer.header("content-length") == "12345"
    assert [source.answered(f"{URL}{name}") for name in ("gone", "map")] == [None, None]


def test_a_recording_of_somebody_elses_leads_to_no_other_file(tmp_path: Path, pages: list[Page]) -> None:
    """Nor does what is no HAR."""
    (tmp_path / "secret").write_text("mine")
    host = tmp_path / "made" / "www.made.test"
    (host / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(host / "fifo")
    [har] = (tmp_path / "made.fetchlog").glob("*.har")
    archive = json.loads(har.read_text())
    for file in ("../secret", "/etc/passwd", "www.made.test/link", "www.made.test/fifo", 7):
        for entry in archive["log"]["entries"]:
            entry["_file"] = file
        har.write_text(json.dumps(archive))
        with pytest.raises(InputError, match=r"made/|\.har:1: "):
            export(tmp_path, "made", pages, tmp_path / "made.har")
    har.write_text("{}")
    with pytest.raises(InputError, match=rf"{har.name}:1: "):
        export(tmp_path, "made", pages, tmp_path / "made.har")


def test_what_cannot_be_written_is_said_in_one_line(tmp_path: Path, pages: list[Page]) -> None:
    (tmp_path / "there.har").write_text("mine")
    other = [Page("http://other.test", "httpother.test")]
    files = ("x.zip", "there.har", "nowhere/x.har", "nowhere/x.warc.gz", "there.har/x.har", "nowhere/x.wacz")
    for wanted, name, file, words in ((other, "made", "x.har", r"http://other\.test"), (pages, "none", "x.har", "none"),
                                      *((pages, "made", file, f"/{file}:1: ") for file in files)):
        with pytest.raises(InputError, match=words):
            export(tmp_path, name, wanted, tmp_path / file)
    assert (tmp_path / "there.har").read_text() == "mine"
    assert not (tmp_path / "x.har").exists()


def test_the_files_to_try_hold_the_pages_of_demo(tmp_path: Path) -> None:
    make_pages(tmp_path, "demo", 1, ROOT / "demo/demo.shape")
    export(tmp_path, "demo", read_pages(tmp_path / "demo.pages"), tmp_path / "demo.har")
    assert (tmp_path / "demo.har").read_bytes() == (ROOT / "demo/demo.har").read_bytes()
    har, wacz = (read_source(ROOT / f"demo/demo.{ending}", tmp_path / ending).brought for ending in ("har", "wacz"))
    assert wacz.pages == har.pages
    names = ("content-type", "location", "access-control-allow-origin")
    answers = [[(each.request.url, each.answer.status, each.answer.body, *map(each.answer.header, names))
                for each in source.exchanges] for source in (wacz, har)]
    assert answers[0] == answers[1]


@pytest.mark.chrome
def test_devtools_shows_every_request_with_its_status_and_sizes(tmp_path: Path, pages: list[Page]) -> None:
    """What was sent is head and body (a head of unknown size counts as -1), and stands for a body of 0 bytes, too."""
    export(tmp_path, "made", pages, tmp_path / "made.har")
    with tarfile.open(LOAD) as packed:
        har = packed.extractfile(next(each for each in packed if each.name.endswith(".har")))
        assert har is not None
        archives = [json.loads((tmp_path / "made.har").read_text()), json.load(har)]
    for archive, shown in zip(archives, import_hars(*archives), strict=True):
        assert not isinstance(shown, str), shown
        entries = sorted(archive["log"]["entries"], key=lambda entry: str(entry["startedDateTime"]))
        assert len(entries) > 3
        for entry, row in zip(entries, shown, strict=True):
            asked, answer = entry["request"], entry["response"]
            sent = max(0, answer["headersSize"] + answer["bodySize"])
            assert [row[name] for name in ("url", "method", "status", "transfer_size", "size")] == [
                asked["url"], asked["method"], answer["status"], sent, answer["content"]["size"] or sent]
