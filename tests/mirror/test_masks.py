"""Volatile values of URLs and bodies."""

from random import Random
from string import ascii_letters, ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.mirror.alike import mask_body, mask_target, without_format
from tests.support.growth import LINEAR, growth


@pytest.mark.parametrize(("target", "masked"), [
    ("/a?t=1363139399019&x=12", "/a?t=*&x=12"), ("/a?r=0.5", "/a?r=*"), ("/a/0.5", "/a/0.5"), ("/a/0.53125", "/a/*"),
    ("/deadbeef01", "/*"), ("/defaced/facade", "/defaced/facade"),
    ("/a?_=1&cb=x&ord=1.2.3&b_=1", "/a?_=*&cb=*&ord=*&b_=1"),
    ("/a?rnd=5&random=x&rand=1&cachebuster=y&brand=z", "/a?rnd=*&random=*&rand=*&cachebuster=*&brand=z"),
    ("/x;ord=12?", "/x;ord=*?"), ("/j?callback=f&jsoncallback=g&JSONP=h", "/j?callback=*&jsoncallback=*&JSONP=*"),
    ("/j?a-callback.b_c=f&callback&call=1", "/j?a-callback.b_c=*&callback&call=1"),
    ("/3fa85f64-5717-4562-b3fc-2c963f66afa6/x", "/*/x"), ("/WPi3WwXM1363139394945/y", "/*/y"),
    ("/v1.2.3.4/", "/v1.2.3.4/"), ("/s/V1StGXR8_Z5jdHi6B-myT/x.json", "/s/*/x.json"), ("/k3x9q2m7w5p1z8r4", "/*"),
    ("/BJx3kQ2mZp9vT7yLw4HsNdRfAeUoIcGt8bX6uYqVnMj5rKzP1lWgDaSiEhFtOxC0", "/*"), ("/a?t=V1StGXR8_Z5jdHi6B-myT",
                                                                               "/a?t=V1StGXR8_Z5jdHi6B-myT"),
    *((name, name) for name in ("/top-10-things-to-do-in-2024", "/iPhone-15-Pro-Max-Review", "/getUserByEmailAddress",
                                "/hero-image-1920x1080-v2.jpg", "/jquery-ui-1-13-2-custom-min", "/V1StGXR8Z5jdHi6",
                                "/Transmission_Control_Protocol")),
    ("/", "/")])
def test_targets(target: str, masked: str) -> None:
    assert mask_target(target) == masked


@given(st.text("abcdef0123456789.-/?&=_;", max_size=60))
def test_masking_twice_is_masking_once(target: str) -> None:
    masked = mask_target(target)
    assert mask_target(masked) == masked


@pytest.mark.parametrize("letters", [ascii_lowercase, ascii_letters])
@pytest.mark.parametrize(("length", "least"), [(16, 0.9), (21, 0.95), (87, 1.0)])
def test_ids_in_paths_are_volatile(letters: str, length: int, least: float) -> None:
    ids = ["".join(Random(seed).choices(letters + digits, k=length)) for seed in range(500)]
    assert sum(mask_target(f"/s/{drawn}/x") == "/s/*/x" for drawn in ids) >= least * len(ids)


@pytest.mark.parametrize("letter", [b"a", b"1", b"z", b"1.", b"ab-", b"&_="])
def test_long_bodies_take_time_in_proportion(letter: bytes) -> None:
    """No text makes the expressions look at it again and again."""
    assert growth(lambda size: mask_body(letter * (size // len(letter))), 16_384) < LINEAR
    assert growth(lambda size: mask_target("/?" + letter.decode() * (size // len(letter))), 16_384) < LINEAR
    assert growth(lambda size: mask_target("/" + letter.decode() * (size // len(letter))), 16_384) < LINEAR


@pytest.mark.parametrize("word", ["callback", "jsonp", "a.-"])
def test_a_parameters_name_is_looked_at_once(word: str) -> None:
    assert growth(lambda size: mask_target("/?" + word * size), 2000) < LINEAR


def test_a_path_of_endings_is_looked_at_once() -> None:
    assert growth(lambda size: without_format("a.test", "/a" + ".jpg" * size + "x"), 2000) < LINEAR
    assert without_format("a.test", "/photo.jpg.webp") == "/photo (image)"


def test_forms() -> None:
    forms = [b"------WebKitFormBoundary" + name + b"\r\nx" for name in (b"7MA4YWxkTrZu0gWx", b"aaaaBBBBccccDDDD")]
    assert mask_body(forms[0]) == mask_body(forms[1])
