"""Parts of bodies: what a player of videos asks for, and what it gets."""

from hypothesis import given
from hypothesis import strategies as st

from harness.files.exchange import Answer
from harness.replay.body import stretch, wanted_span

ANSWER = Answer(200, headers=(("accept-ranges", "bytes"),))


@given(st.text(max_size=40) | st.from_regex(r"\Abytes=[0-9]{0,25}-[0-9]{0,25}\Z"), st.integers(0, 10**6))
def test_no_text_leads_out_of_the_body(text: str, size: int) -> None:
    span = wanted_span(ANSWER, {"range": text}, size)
    assert not span or 0 <= span.start < span.stop <= size


@given(st.lists(st.tuples(st.integers(0, 30), st.binary(min_size=1, max_size=10)), min_size=1, max_size=6),
       st.integers(0, 40), st.integers(1, 40))
def test_a_body_of_pieces_is_what_lies_side_by_side(pieces: list[tuple[int, bytes]], start: int, length: int) -> None:
    content: dict[int, set[int]] = {}
    for at, data in pieces:
        for place, byte in enumerate(data, start=at):
            content.setdefault(place, set()).add(byte)
    read = stretch(tuple(pieces), range(start, start + length))
    assert all(byte in content[start + place] for place, byte in enumerate(read))
    assert len(read) == length or start + len(read) not in content
