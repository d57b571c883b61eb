"""What travels between machines: whole, and never out of its folder."""

import gzip
import io
import random
import tarfile
import zlib
from pathlib import Path

import pytest

from harness.sweep import parcel
from harness.sweep.parcel import pack, unpack


def made(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member, body in members:
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return content.getvalue()


NO_BLOCK = b"\x07"
"""Begins a block of deflate's fourth kind, and there are three (RFC 1951, section 3.2.3)."""


def named(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_a_folder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    for path, body in {"site.pages": b"http://x.test/\n", "site/x.test/a/b": b"\0\xff", "site/x.test/c": b""}.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(body)
    (source / "site" / "link").symlink_to("/etc/passwd")
    target.mkdir()
    unpack(pack(source, ("site.pages", "site", "not there")), target, ("site.pages", "site"), to_disk=True)
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()) == [
        "site.pages", "site/x.test/a/b", "site/x.test/c"]
    assert (target / "site" / "x.test" / "a" / "b").read_bytes() == b"\0\xff"
    assert not (target / "site" / "link").exists()


@pytest.mark.parametrize("member", [
    named("/etc/x"), named("client/../../x"), named("../x"), named("client//x"), named("other/x"),
    named("client/x", tarfile.SYMTYPE, "/etc/passwd"), named("client/x", tarfile.LNKTYPE, "/etc/passwd"),
    named("client/x", tarfile.FIFOTYPE), named("client/x", tarfile.CHRTYPE), named("client", tarfile.DIRTYPE)])
def test_what_leads_out_or_is_no_file_is_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(ValueError, match="does not belong there"):
        unpack(made((member, b"")), inside, ("client",))
    assert [path.name for path in tmp_path.rglob("*")] == ["inside"]


@pytest.mark.parametrize("names", [("client/x", "client/x"), ("client/x", "client/x/y"), ("client/x/y", "client/x"),
                                   ("client/" + "x" * 300,)])
def test_a_name_that_cannot_be_a_file_is_the_parcels_fault(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Not the disk's, for which a driver ends."""
    with pytest.raises(ValueError, match="no parcel"):
        unpack(made(*((named(name), b"") for name in names)), tmp_path, ("client",))


def test_what_zlib_cannot_read_is_refused(tmp_path: Path) -> None:
    """Deep in a file, where tarfile lets the error of zlib pass."""
    tar = gzip.decompress(made((named("client/x"), random.Random(1).randbytes(10**6))))
    half = zlib.compressobj(wbits=31)
    begun = half.compress(tar[:len(tar) // 2]) + half.flush(zlib.Z_FULL_FLUSH)
    with pytest.raises(ValueError, match="no parcel"):
        unpack(begun + NO_BLOCK, tmp_path, ("client",))


def test_a_link_made_first_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.write_text("as it was")
    inside.mkdir()
    (inside / "client").symlink_to(outside)
    with pytest.raises(ValueError, match="File exists"):
        unpack(made((named("client"), b"other")), inside, ("client",))
    assert outside.read_text() == "as it was"


@pytest.mark.parametrize("content", [b"", b"no tar", b"\x1f\x8b\x08\0\0"])
def test_what_is_no_parcel_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"no parcel"):
        unpack(content, tmp_path, ("client",))


def test_what_is_cut_short_is_refused(tmp_path: Path) -> None:
    whole = made((named("client/x"), b"x" * 100_000))
    with pytest.raises(ValueError, match=r"no parcel"):
        unpack(whole[:len(whole) // 2], tmp_path, ("client",))


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of nothing is a small parcel."""
    content = made((named("client/x"), b"\0" * 10_000))
    monkeypatch.setattr(parcel, "LARGEST", 9_000)
    with pytest.raises(ValueError, match="more than"):
        unpack(content, tmp_path, ("client",))
    (tmp_path / "y").write_bytes(b"\0" * 10_000)
    with pytest.raises(ValueError, match="more than"):
        pack(tmp_path, ("y",))
