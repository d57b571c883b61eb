"""Content codings, and bodies that have only some of what they are said to have."""

import gzip

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harness.files.encoding import CODINGS, NOT_MADE, SUBSTITUTES, begins_as, decode, encode
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


CASES = st.lists(st.sampled_from([*CODINGS, *map(str.upper, CODINGS), "identity", "", " "]), max_size=5)


@given(st.binary(min_size=1, max_size=2000), CASES, st.integers(-1, 3000))
def test_a_list_of_codings_is_made_and_undone(body: bytes, names: list[str], wanted_bytes: int) -> None:
    """RFC 9110, section 8.4: in any case, with items that are none."""
    named = ",".join(names)
    encoded, made = encode(body, named, wanted_bytes)
    assert decode(encoded, named) == decode(encoded, made) == (body, True)
    assert encode(decode(encoded, named)[0], made, len(encoded))[1] == made


@given(st.binary(min_size=1, max_size=500), st.lists(st.sampled_from([*CODINGS, *NOT_MADE, "utf-8"]), max_size=4),
       st.integers(-1, 600))
def test_what_cannot_be_made_becomes_what_can(body: bytes, names: list[str], wanted_bytes: int) -> None:
    encoded, made = encode(body, ",".join(names), wanted_bytes)
    assert decode(encoded, made) == (body, True)
    assert made in SUBSTITUTES or NOT_MADE.isdisjoint(names)


@given(st.binary(max_size=300))
def test_an_undoing_of_anything_ends(body: bytes) -> None:
    for name in CODINGS:
        assert decode(body, name)[1] or decode(body, name)[0] == body
