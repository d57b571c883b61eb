"""Parts of bodies: what a player of videos asks for, and what it gets."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.exchange import Answer
from harness.replay.body import Body, NotSatisfiableError, OnDisk, wanted_span

VIDEO = bytes(range(256)) * 8
SIZE = len(VIDEO)
RANGES = [("Accept-Ranges", "bytes"), ("Content-Type", "video/mp4"), ("ETag", '"1"'), ("Last-Modified", "then")]
ANSWER = Answer(200, headers=tuple((name.lower(), value) for name, value in RANGES))


@pytest.mark.parametrize(("text", "wanted"), [
    ("bytes=0-", (0, SIZE)), ("bytes=100-", (100, SIZE)), ("bytes=100-199", (100, 200)),
    ("bytes=0-99999", (0, SIZE)), ("bytes=-10", (SIZE - 10, SIZE)), ("bytes=-99999", (0, SIZE)),
    ("BYTES=5-5", (5, 6)), ("bytes=9-5", None), ("lines=1-2", None), ("bytes=x", None), ("", None)])
def test_which_bytes(text: str, wanted: tuple[int, int] | None) -> None:
    span = wanted_span(ANSWER, {"range": text}, SIZE)
    assert span == (range(*wanted) if wanted else None)


@pytest.mark.parametrize("text", [f"bytes={SIZE}-", "bytes=-0", "bytes=0-1,5-6", "bytes=0-0,-1"])
def test_what_cannot_be_sent(text: str) -> None:
    with pytest.raises(NotSatisfiableError):
        wanted_span(ANSWER, {"range": text}, SIZE)


@pytest.mark.parametrize(("validator", "part"), [
    ('"1"', True), ('"2"', False), ('W/"1"', False), ("then", True), ("now", False)])
def test_if_range(validator: str, part: bool) -> None:
    assert (wanted_span(ANSWER, {"range": "bytes=1-2", "if-range": validator}, SIZE) is not None) == part


@given(st.text(max_size=40) | st.from_regex(r"\Abytes=[0-9]{0,25}-[0-9]{0,25}\Z"), st.integers(0, 10**6))
def test_no_text_leads_out_of_the_body(text: str, size: int) -> None:
    try:
        span = wanted_span(ANSWER, {"range": text}, size)
    except NotSatisfiableError:
        return
    assert span is None or 0 <= span.start < span.stop <= size


@given(st.lists(st.tuples(st.integers(0, 30), st.binary(min_size=1, max_size=10)), min_size=1, max_size=6),
       st.integers(0, 40), st.integers(1, 40))
def test_a_body_of_pieces_is_what_lies_side_by_side(pieces: list[tuple[int, bytes]], start: int, length: int) -> None:
    content: dict[int, set[int]] = {}
    for at, data in pieces:
        for place, byte in enumerate(data, start=at):
            content.setdefault(place, set()).add(byte)
    body = Body([(at, on_disk(data) if at % 2 else data) for at, data in pieces])
    body.select(range(start, start + length))
    read = b""
    while chunk := body.read(3):
        read += chunk
    assert all(byte in content[start + place] for place, byte in enumerate(read))
    assert len(read) == length or start + len(read) not in content


def on_disk(data: bytes) -> OnDisk:
    file = os.memfd_create("piece")
    os.write(file, data)
    return OnDisk(file, len(data))
