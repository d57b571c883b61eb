"""Sources that somebody made to fill memory, to never end, or to confuse their reader: one line for each."""

import gzip
import logging
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from harness.errors import InputError
from harness.files import encoding, har_file
from harness.files.encoding import decode
from harness.record.sources import records, wacz
from harness.record.sources.opened import opened
from harness.record.sources.source import IndexedSource
from tests.support.made_warc import write_warc

HTTP, END = b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n"
GET = ("request", "http://a.test/", "GET / HTTP/1.1", [("Host", "a.test")], b"x" * 5000)


def record(body: bytes = b"page", url: str = "http://a.test/", length: int | None = None) -> bytes:
    return (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
            f"Content-Length: {len(HTTP + body) if length is None else length}\r\n\r\n").encode() + HTTP + body + END


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused, opened(path):
        pass
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{path}:1: ")
    return str(refused.value).removeprefix(f"{path}:1: ")


def entries(path: Path) -> list[str]:
    with opened(path) as source:
        assert isinstance(source, IndexedSource)
        return [entry.url for entry in source._index.entries]


def packed(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"archive/{name}.warc", content)
        archive.writestr("pages/pages.jsonl", '{"url": "http://a.test/"}\n')
    return path


def test_lines_and_heads_end_somewhere(tmp_path: Path) -> None:
    (tmp_path / "line.warc").write_bytes(b"WARC/1.0\r\nX: ")
    os.truncate(tmp_path / "line.warc", 60 * 10**9)
    assert refusal(tmp_path / "line.warc").startswith("cannot be read (a line of more than 65536 bytes)")
    (tmp_path / "head.warc.gz").write_bytes(gzip.compress(b"WARC/1.0\r\n" + b"X: y\r\n" * 300_000))
    assert refusal(tmp_path / "head.warc.gz").startswith("cannot be read (a head of more than 1048576 bytes)")


@pytest.mark.parametrize(("limit", "most", "said"), [
    ("LARGEST_BODY", 4000, "a body of more than 4000 bytes"), ("MOST_BYTES", 4000, "over 4e-06 GB when unpacked"),
    ("MOST_RECORDS", 2, "over 2 records")])
def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str) -> None:
    path = write_warc(tmp_path / "x.warc.gz", *[GET] * 3)
    monkeypatch.setattr(records, limit, most)
    assert refusal(path).startswith(f"cannot be read ({said})")


def test_all_files_of_a_wacz_have_one_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "x.wacz", a=record(b"x" * 3000), b=record(b"x" * 3000))
    assert len(entries(path)) == 2
    monkeypatch.setattr(records, "MOST_BYTES", 5000)
    assert refusal(path).startswith("cannot be read (over 5e-06 GB when unpacked)")
    monkeypatch.undo()
    monkeypatch.setattr(wacz, "MOST_BYTES", 5000)
    assert refusal(path).startswith("cannot be read (over 5e-06 GB when unpacked)")
    monkeypatch.undo()
    monkeypatch.setattr(wacz, "LARGEST_LIST", 20)
    assert refusal(path).startswith("cannot be read (a list of pages of 26 bytes)")


def test_a_har_that_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.har.gz").write_bytes(gzip.compress(bytes(5000)))
    monkeypatch.setattr(har_file, "MOST_BYTES", 4000)
    assert "over 0.004 MB when unpacked" in refusal(tmp_path / "x.har.gz")


def test_what_warcio_says_of_broken_records_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])       # pytest's
    (tmp_path / "length.warc").write_bytes(record(length=len(HTTP) + 2) + record())
    (tmp_path / "space.warc").write_bytes(record(url="http://a.test/a b"))
    broken = gzip.compress(record(b"z" * 999))[:60] + bytes(99)
    (tmp_path / "broken.warc.gz").write_bytes(gzip.compress(record()) + broken)
    assert len(entries(tmp_path / "length.warc")) == 2
    assert entries(tmp_path / "space.warc") == ["http://a.test/a%20b"]
    assert entries(tmp_path / "broken.warc.gz") == ["http://a.test/"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "encode"), [
    ("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", lambda body: zlib.compress(body)[2:-4]),
    ("br", brotli.compress), ("zstd", zstandard.ZstdCompressor().compress)])
def test_a_body_that_grows_too_large_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, name: str, encode: Any) -> None:
    monkeypatch.setattr(encoding, "LARGEST_BODY", 100_000)
    most, bomb = encode(b"a" * 100_000), encode(b"a" * 100_001)
    assert decode(most, name) == (b"a" * 100_000, True)
    assert decode(bomb, name) == (bomb, False)
    assert decode(b"\xff" + most, name) == (b"\xff" + most, False)


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield `content` with one byte changed, at every place, and cut off at some."""
    for at in range(len(content)):
        yield content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1:]
    for at in range(0, len(content), 7):
        yield content[:at]


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "x.wacz", "x.har.gz", "mm/save"])
def test_whatever_is_damaged_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    whole = {"x.warc": record, "x.warc.gz": lambda: gzip.compress(record()),
             "x.wacz": lambda: packed(tmp_path / "whole", a=record()).read_bytes(),
             "x.har.gz": lambda: gzip.compress(b'{"log": {"entries": [{"request": {"url": "http://a.test/"}}]}}'),
             "mm/save": lambda: b"\x22\x11\x0a\x0fGET /x HTTP/1.1\x2a\x11\x0a\x0fHTTP/1.1 200 OK"}
    (tmp_path / name).parent.mkdir(exist_ok=True)
    for content in damaged(whole[name]()):
        (tmp_path / name).write_bytes(content)
        said = ""
        try:
            with opened(tmp_path / name if "/" not in name else tmp_path / "mm") as source:
                assert isinstance(source, IndexedSource)
        except InputError as error:
            said = str(error)
        assert "\n" not in said
