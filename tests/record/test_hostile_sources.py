"""What fetch.py refuses in a line: sources that were made to fill memory, to never end, or to confuse their reader."""

import gzip
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
from zstandard import ZstdCompressor

from harness.errors import InputError
from harness.files import encoding
from harness.files.encoding import decode
from harness.record.sources import har, reader
from harness.record.sources.reader import bring
from tests.support.read_source import read_source

HTTP, END = b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n"


def record(body: bytes = b"page", url: str = "http://a.test/", length: int | None = None) -> bytes:
    return (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
            f"Content-Length: {len(HTTP + body) if length is None else length}\r\n\r\n").encode() + HTTP + body + END


def refusal(path: Path, read: Callable[[Path], object] = read_source) -> None:
    """Fail unless the file is refused in one line."""
    with pytest.raises(InputError) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{path}:1: ")


def in_wacz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pages/pages.jsonl", '{"url": "http://a.test/"}\n')
        for name, content in members.items():
            archive.writestr(f"archive/{name}.warc", content)
    return path


def entries(path: Path) -> list[str]:
    return [exchange.request.url for exchange in read_source(path).exchanges]


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


def test_what_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bodies of a source have one limit together, and so has a HAR."""
    (tmp_path / "x.har").write_bytes(bytes(5000))
    in_wacz(tmp_path / "x.wacz", a=record(b"x" * 3000), b=record(b"x" * 3000))
    assert len(entries(tmp_path / "x.wacz")) == 2
    for module in (reader, har):
        monkeypatch.setattr(module, "MOST_BYTES", 4000)
    for name in ("x.har", "x.wacz"):
        refusal(tmp_path / name)


def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path) -> None:
    """Files that are nonsense: tests/corpus/texts.jsonl."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.warc").symlink_to(tmp_path / "whole.warc")
    (tmp_path / "whole.warc").write_bytes(record())
    assert entries(tmp_path / "whole.warc")
    for name in ("empty", "missing.har", "link.warc"):
        refusal(tmp_path / name, lambda path: bring(path, None, tmp_path))


def test_a_body_that_grows_too_large_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "LARGEST_BODY", 100_000)
    for name, encode in (("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress),
                         ("deflate", lambda body: zlib.compress(body)[2:-4]), ("zstd", ZstdCompressor().compress)):
        most, bomb = encode(b"a" * 100_000), encode(b"a" * 100_001)
        assert decode(most, name) == (b"a" * 100_000, True)
        assert decode(bomb, name) == (bomb, False)
        assert decode(b"\xff" + most, name) == (b"\xff" + most, False)


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
