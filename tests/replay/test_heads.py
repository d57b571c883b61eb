"""Heads over HTTP/2: what is written here hpack reads, and what hpack writes is read here, whatever the tables hold."""

import pytest
from hpack import Decoder, Encoder, HPACKError
from hyperframe.frame import ContinuationFrame, Frame, HeadersFrame
from hypothesis import given
from hypothesis import strategies as st

from harness.replay.heads import (
    FRAME_LIMIT,
    MOST_PADDING,
    STATIC,
    HeadDecoder,
    HeadEncoder,
    head_frames,
    literals,
)

FEW = st.sampled_from([b"x", b"cache-control", b"date", b"a" * 130, b"\xff\x00", b"", b"x" * 4100, b"z" * 1000])
FIELDS = st.tuples(FEW | st.binary(max_size=40), FEW | st.binary(max_size=300)) | st.sampled_from(STATIC)
HEADS = st.lists(FIELDS, max_size=12)
TABLES = st.sampled_from([None, 0, 100, 300, 4096, 65_536])
"""How large the client says its table is before the next head; None: it says nothing."""
SESSIONS = st.lists(st.tuples(TABLES, HEADS, st.sampled_from([0, 30, 300, 5000])), max_size=6)


@given(SESSIONS)
def test_hpack_reads_what_is_written(session: list[tuple[int | None, list[tuple[bytes, bytes]], int]]) -> None:
    encoder, decoder = HeadEncoder(), Decoder(max_header_list_size=10**6)
    for table, fields, size in session:
        if table is not None:
            encoder.header_table_size = decoder.max_allowed_table_size = table
        assert [tuple(field) for field in decoder.decode(encoder.encode(fields, size), raw=True)] == fields


@given(SESSIONS)
def test_what_hpack_writes_is_read(session: list[tuple[int | None, list[tuple[bytes, bytes]], int]]) -> None:
    encoder, decoder = Encoder(), HeadDecoder()
    decoder.max_header_list_size = 10**6
    for table, fields, size in session:
        if table is not None:
            encoder.header_table_size = decoder.max_allowed_table_size = table
        written = [(name, value, place == 1) for place, (name, value) in enumerate(fields)]     # one is never indexed
        assert decoder.decode(encoder.encode(written, huffman=size > 0)) == fields


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_noise_is_refused_as_hpack_refuses_it(blocks: list[bytes]) -> None:
    ours, theirs = HeadDecoder(), Decoder()
    for block in blocks:
        try:
            wanted = [tuple(field) for field in theirs.decode(block, raw=True)]
        except (HPACKError, IndexError):
            with pytest.raises((HPACKError, IndexError)):
                ours.decode(block)
            return
        assert ours.decode(block) == wanted


def test_a_head_that_grows_too_large_is_refused() -> None:
    decoder = HeadDecoder()
    decoder.decode(Encoder().encode([(b"x", b"y" * 1000)]))
    with pytest.raises(HPACKError):
        decoder.decode(b"\xbe" * 100)


@given(HEADS)
def test_no_head_is_larger_than_hpack_writes_it(fields: list[tuple[bytes, bytes]]) -> None:
    ours, theirs = HeadEncoder(), Encoder()
    for _ in range(2):
        assert len(ours.encode(fields)) <= len(theirs.encode(fields))


@given(HEADS.filter(bool), st.integers(0, 20_000))
def test_a_head_in_full_has_the_size_that_is_asked_for(fields: list[tuple[bytes, bytes]], size: int) -> None:
    """Or it is as short, or as long, as it can be."""
    longest = literals(tuple(fields), 2**30)
    assert longest is not None
    block = literals(tuple(fields), size)
    if block is None:
        assert literals(tuple(fields), len(longest)) == longest
        assert size < len(longest)
        return
    assert len(block) <= size
    payloads = list(_frames(head_frames(5, block, ends=True, size=size)))
    whole = sum(len(payload) for _, payload in payloads)
    if size <= FRAME_LIMIT:
        assert whole == min(size, len(block) + MOST_PADDING)
    assert b"".join(frame.data for frame, _ in payloads) == block
    assert [("END_STREAM" in frame.flags, "END_HEADERS" in frame.flags) for frame, _ in payloads] == [
        (place == 0, place == len(payloads) - 1) for place in range(len(payloads))]


def _frames(data: bytes) -> list[tuple[HeadersFrame | ContinuationFrame, bytes]]:
    """Return the frames as hyperframe reads them, and the payload of each."""
    found = []
    while data:
        frame, length = Frame.parse_frame_header(memoryview(data[:9]))
        assert isinstance(frame, (HeadersFrame, ContinuationFrame))
        assert (frame.stream_id, length <= FRAME_LIMIT) == (5, True)
        frame.parse_body(memoryview(data[9:9 + length]))
        found.append((frame, data[9:9 + length]))
        data = data[9 + length:]
    return found
