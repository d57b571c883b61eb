"""What others recorded: which of it a request gets, and what is refused, in a line: files that were made to fill
memory, to never end, or to confuse their reader.

What is read of single files: tests/corpus/sources; files that are nonsense: tests/corpus/texts.jsonl.
"""

import gzip
import os
import threading
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files import encoding
from harness.files.encoding import CODINGS
from harness.files.exchange import Answer, Exchange, Request
from harness.files.load_mark import mark_load
from harness.files.pages import sanitise
from harness.record.sources import har, reader
from harness.record.sources.body import NOISE, with_body
from harness.record.sources.reader import bring
from harness.record.sources.served import ServedSource
from harness.system.background import call_forked
from tests.support.read_source import read_source

PAGE = "http://a.test/"


def record(body: bytes = b"page", url: str = PAGE, head: str = "HTTP/1.1 200 OK", more: str = "") -> bytes:
    """Return a record of a WARC; `more` are lines of its own head."""
    content, kind = f"{head}\r\n\r\n".encode() + body, "response" if head.startswith("HTTP") else "request"
    return (f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{more}Content-Length: {len(content)}\r\n\r\n"
            ).encode() + content + b"\r\n\r\n"


def test_chunks_of_a_crawl_are_joined(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(record(b"8\r\nbody { }\r\n0\r\n\r\n",
                                             head="HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"))
    assert read_source(tmp_path / "x.warc").answer_body(PAGE) == b"body { }"


def test_each_page_gets_its_own_answers(tmp_path: Path) -> None:
    """Two pages count their visits under one URL; the second one is loaded twice, and asks once more than the first."""
    other, count, path = f"{PAGE}other", f"{PAGE}count", tmp_path / "x.warc"
    path.write_bytes(b"".join(record(body, url) for url, body in (
        (PAGE, b"page"), (count, b"1"), (f"{PAGE}shared", b"both"), (other, b"other"), (count, b"2"), (count, b"3"))))
    source = read_source(path, wanted=[PAGE, other])
    for url, answers in ((PAGE, [b"1", b"1"]), (other, [b"2", b"3", b"3"]), (other, [b"2", b"3"]), (PAGE, [b"1"])):
        mark_load(source.directory / "load-mark", sanitise(url))
        assert [source.answer_body(count) for _ in answers] == answers
        assert source.answer_body(f"{PAGE}shared") == b"both"


def test_another_query_gets_no_answer_to_this_one(tmp_path: Path) -> None:
    queries = (b'{"query": "names"}', b'{"query": "at", "t": 1363139394945}')
    (tmp_path / "x.warc").write_bytes(b"".join(
        record(query, head="POST / HTTP/1.1", more=f"WARC-Record-ID: {number}\r\n")
        + record(b"%d" % number, more=f"WARC-Concurrent-To: {number}\r\n") for number, query in enumerate(queries)))
    source = read_source(tmp_path / "x.warc")
    asked = (queries[0], b'{"query": "at", "t": 1785000000000}', b'{"query": "other"}')
    assert [source.answer_body(PAGE, "POST", query) for query in asked] == [b"0", b"1", None]


def test_no_thread_answers_before_it_is_told_to_nor_afterwards(tmp_path: Path) -> None:
    """Chrome's visit is forked in between: a fork beside threads can take a lock along that nobody opens."""
    (tmp_path / "x.warc").write_bytes(record())
    source = read_source(tmp_path / "x.warc")

    def answer() -> int:
        served = ServedSource(source.brought, source.directory)
        for page in "xy":
            with served.listening(page) as (rules, serve):
                assert threading.active_count() == 1
                serve()
                address = rules.split(",")[0].rpartition(" ")[2]
                got = requests.get(f"http://{address}/", headers={"Host": "a.test", "Connection": "close"}, timeout=600)
                assert got.content == b"page"
            assert threading.active_count() == 1
        return 0

    with TemporaryFile() as errors:
        status = call_forked(answer, "answers", errors, 600)
        errors.seek(0)
        assert (status, errors.read()) == (0, b"")


@given(st.binary(max_size=200), st.sampled_from(["text/css", "image/png", ""]), st.integers(-1, 400),
       st.integers(0, 400), st.booleans())
def test_any_body_is_read_or_is_noise(body: bytes, kind: str, sent: int, size: int, is_decoded: bool) -> None:
    exchange = Exchange(request=Request("GET", PAGE), answer=Answer(200, mime_type=kind))
    found = with_body(exchange, body, "gzip, br", sent, size=size, is_decoded=is_decoded)
    assert (found.error == NOISE) != isinstance(found.answer.content, bytes)


def refusal(path: Path, read: Callable[[Path], object] = read_source) -> None:
    """Fail unless the file is refused in one line."""
    with pytest.raises(InputError) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{path}:1: ")


def in_wacz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pages/pages.jsonl", f'{{"url": "{PAGE}"}}\n')
        for name, content in members.items():
            archive.writestr(f"archive/{name}.warc", content)
    return path


HOSTILE: dict[str, Callable[[], bytes]] = {
    "line.warc": lambda: b"WARC/1.0\r\nX: ", "head.warc.gz": lambda: gzip.compress(
        b"WARC/1.0\r\n" + b"X: y\r\n" * 5_000_000, 1),
    "lists.har": lambda: b'{"log": {"entries": [' + b"[]," * 10_000_000 + b"[]]}}"}
"""What was made to fill memory, or to take for ever; the line has no end."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_a_child_with_limits_and_is_refused_in_a_line(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_MEMORY", 2**28)
    monkeypatch.setattr(reader, "MOST_CPU_S", 2)
    path = tmp_path / name
    path.write_bytes(HOSTILE[name]())
    if name == "line.warc":
        os.truncate(path, 15 * 10**9)
    refusal(path, lambda path: bring(path, None, tmp_path))


def test_what_is_too_large_together_or_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bodies of a source have one limit together, and so has a HAR."""
    (tmp_path / "x.har").write_bytes(bytes(5000))
    in_wacz(tmp_path / "x.wacz", a=record(b"x" * 3000), b=record(b"x" * 3000))
    (tmp_path / "link.wacz").symlink_to(tmp_path / "x.wacz")
    assert len(read_source(tmp_path / "x.wacz").exchanges) == 2
    for name in ("missing.har", "link.wacz", ""):
        refusal(tmp_path / name, lambda path: bring(path, None, tmp_path))
    for module in (reader, har):
        monkeypatch.setattr(module, "MOST_BYTES", 4000)
    for name in ("x.har", "x.wacz"):
        refusal(tmp_path / name)


@pytest.mark.parametrize("coding", [*CODINGS, "bare"])
def test_a_body_that_grows_too_large_stays_as_it_is_and_is_left_early(
        coding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deflate comes bare, too. Of zstd a piece of ZSTD_PIECE bytes may become 32 MB."""
    monkeypatch.setattr(encoding, "LARGEST_BODY", 100_000)

    def encoded(size: int) -> bytes:
        return zlib.compress(bytes(size))[2:-4] if coding == "bare" else encoding.encode(bytes(size), coding, -1)[0]

    named, bomb = "deflate" if coding == "bare" else coding, encoded(2**26)
    assert encoding.decode(encoded(100_000), named) == (bytes(100_000), True)
    assert encoding.decode(encoded(100_001), named)[1] is False
    assert encoding.decode(bomb, named) == (bomb, False)
    assert len(CODINGS[named].decode(bomb)) < 2**25 + 100_001


WHOLE: dict[str, Callable[[Path], bytes]] = {
    "x.warc": lambda _: record(), "x.warc.gz": lambda _: gzip.compress(record()),
    "x.wacz": lambda path: in_wacz(path, a=record()).read_bytes(),
    "x.har": lambda _: b'{"log": {"entries": [{"request": {"url": "http://a.test/"}}]}}'}


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_is_damaged_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    """One byte is changed, at every place, and the file is cut off at some."""
    whole = WHOLE[name](tmp_path / name)
    changed = [whole[:at] + bytes([byte ^ 0x55]) + whole[at + 1:] for at, byte in enumerate(whole)]
    for content in (*changed, *(whole[:at] for at in range(0, len(whole), 7))):
        (tmp_path / name).write_bytes(content)
        said = ""
        try:
            read_source(tmp_path / name)
        except InputError as error:
            said = str(error)
        assert "\n" not in said
