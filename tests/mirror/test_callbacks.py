"""Scripts that call the function which their URL names (JSONP)."""

import gzip

import pytest

from harness.mirror.callbacks import renamed
from tests.support.growth import LINEAR, growth

NAMES = [(b"jQuery1", b"jQuery2")]


def test_compressed_scripts_stay_compressed() -> None:
    script = b'jQuery1({"text": "jQuery1 is not renamed here"});'
    wanted = script.replace(b"jQuery1(", b"jQuery2(")
    assert gzip.decompress(renamed(gzip.compress(script), "gzip", NAMES) or b"") == wanted


@pytest.mark.parametrize("piece", [b" ", b";", b"/*", b"/**/", b"/* */ ", b" /*;"])
def test_a_body_of_anything_is_looked_at_once(piece: bytes) -> None:
    """20,000 spaces took 8 s, in which the server answered nobody."""
    assert growth(lambda size: renamed(piece * size + b"x", "", NAMES), 10_000) < LINEAR
