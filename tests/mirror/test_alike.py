"""Volatile values of URLs and bodies, and scripts that call the function which their URL names (JSONP)."""

import gzip
from random import Random
from string import ascii_letters, ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.mirror.alike import mask_body, mask_target, renamed, without_format
from tests.support.growth import assert_linear


@given(st.text("abcdef0123456789.-/?&=_;", max_size=60))
def test_masking_twice_is_masking_once(target: str) -> None:
    masked = mask_target(target)
    assert mask_target(masked) == masked


@pytest.mark.parametrize("letters", [ascii_lowercase, ascii_letters])
@pytest.mark.parametrize(("length", "least"), [(16, 0.9), (21, 0.95), (87, 1.0)])
def test_ids_in_paths_are_volatile(letters: str, length: int, least: float) -> None:
    ids = ["".join(Random(seed).choices(letters + digits, k=length)) for seed in range(500)]
    assert sum(mask_target(f"/s/{drawn}/x") == "/s/*/x" for drawn in ids) >= least * len(ids)


NAMES = [(b"jQuery1", b"jQuery2")]


@pytest.mark.parametrize("text", ["a", "1", "z", "1.", "ab-", "&_=", "callback", "jsonp", "a.-", ".jpg",
                                  " ", ";", "/*", "/**/", "/* */ ", " /*;"])
def test_long_texts_take_time_in_proportion(text: str) -> None:
    """No text makes the expressions look at it again and again: 20,000 spaces took 8 s, in which the server answered
    nobody.
    """
    def masked(times: int) -> None:
        repeated = text * (times // len(text))
        mask_body(repeated.encode())
        mask_target(f"/?{repeated}")
        mask_target(f"/{repeated}")
        without_format("a.test", f"/a{repeated}x")
        renamed(repeated.encode() + b"x", "", NAMES)

    assert_linear(masked, 16_384)


def test_compressed_scripts_stay_compressed() -> None:
    script = b'jQuery1({"text": "jQuery1 is not renamed here"});'
    wanted = script.replace(b"jQuery1(", b"jQuery2(")
    assert gzip.decompress(renamed(gzip.compress(script), "gzip", NAMES) or b"") == wanted
