"""Content codings: what holds for any body. Single ones: tests/corpus/functions.json."""

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harness.files.encoding import CODINGS, NOT_MADE, SUBSTITUTES, decode, encode
from tests.support.growth import LINEAR, growth

CASES = st.lists(st.sampled_from([*CODINGS, *map(str.upper, CODINGS), "identity", "", " "]), max_size=5)


def test_many_frames_are_read_one_after_the_other() -> None:
    assert growth(lambda size: decode(zstandard.ZstdCompressor().compress(b"") * size, "zstd"), 2000) < LINEAR


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
