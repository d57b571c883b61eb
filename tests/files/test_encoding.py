"""Content codings, and bodies that have only some of what they are said to have."""

import gzip

import zstandard

from harness.files.encoding import begins_as, decode
from tests.support.growth import LINEAR, growth


def zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(body)


def test_zstd_of_several_frames_and_of_one_that_is_cut_off() -> None:
    """RFC 8878, section 3.1: a body is one frame or more."""
    assert decode(zstd(b"one") + zstd(b"two" * 5000) + zstd(b""), "zstd") == (b"one" + b"two" * 5000, True)
    cut = zstd(bytes(range(256)) * 50)[:-5]
    assert decode(cut, "zstd") == (cut, False)
    rest = zstd(b"one") + b"something else"
    assert decode(rest, "zstd") == (rest, False)


def test_many_frames_are_read_one_after_the_other() -> None:
    assert growth(lambda size: decode(zstd(b"") * size, "zstd"), 2000) < LINEAR


def test_what_an_encoded_body_begins_with() -> None:
    assert begins_as(gzip.compress(b"x")[:-5], "GZip")
    assert begins_as(zstd(b"x"), "zstd")
    assert not begins_as(b"<p>", "gzip")
    assert not begins_as(b"", "gzip")
    assert not begins_as(b"<p>", "br")
