"""Scripts that call the function which their URL names (JSONP)."""

import gzip

import pytest

from harness.mirror.callbacks import new_names, renamed
from tests.support.growth import LINEAR, growth

NAMES = [(b"jQuery1", b"jQuery2")]


@pytest.mark.parametrize("before", [
    b"", b" \n", b";", b"/**/", b"/**/ ;", b" /* a\n b */ ", b"/**/ typeof jQuery1 === 'function' && ",
    b'typeof jQuery1=="function"&&'])
def test_a_call_is_found_behind_what_may_stand_before_it(before: bytes) -> None:
    assert renamed(before + b"jQuery1 ({})", "", NAMES) == before.replace(b"jQuery1", b"jQuery2") + b"jQuery2 ({})"


@pytest.mark.parametrize("script", [b"x", b"var a = 1; jQuery1()", b"/* jQuery1()", b"jQuery12()"])
def test_a_script_that_does_something_else_is_left_alone(script: bytes) -> None:
    assert renamed(script, "", NAMES) is None


def test_compressed_scripts_stay_compressed() -> None:
    script = b'jQuery1({"text": "jQuery1 is not renamed here"});'
    wanted = script.replace(b"jQuery1(", b"jQuery2(")
    assert gzip.decompress(renamed(gzip.compress(script), "gzip", NAMES) or b"") == wanted
    assert renamed(b"cut short", "gzip", NAMES) is None
    assert renamed(script, "zstd", NAMES) is None


def test_names_are_values_that_differ() -> None:
    assert new_names("/?cb=cb11&t=1", "/?cb=cb22&t=2") == [(b"cb11", b"cb22")]
    assert new_names("/?cb=cb11", "/?cb=alert(1);f") == []
    assert new_names("/d?callback=cb11&a=1", "/d?callback=cb22&a=1") == [(b"cb11", b"cb22")]


@pytest.mark.parametrize("piece", [b" ", b";", b"/*", b"/**/", b"/* */ ", b" /*;"])
def test_a_body_of_anything_is_looked_at_once(piece: bytes) -> None:
    """20,000 spaces took 8 s, in which the server answered nobody."""
    assert growth(lambda size: renamed(piece * size + b"x", "", NAMES), 10_000) < LINEAR
