"""The heads of requests and answers over HTTP/2: read and written as HPACK (RFC 7541), put into frames (RFC 9113).

The package hpack does the same, and takes half of the time of an answer for it: it slices and logs for every field.
What a field looks like in bytes is worked out once here, and what an index stands for is looked up. Its table of
fields, its Huffman code and its errors are used as they are.

Where a recording tells how large an answer's head was on the wire, it is written as large again: nginx writes each
field in full every time, others most fields as one byte once they have sent them. A head of one packet more takes part
of a round trip more.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

from hpack.exceptions import HPACKDecodingError, InvalidTableIndexError, InvalidTableSizeError, OversizedHeaderListError
from hpack.hpack import decode_integer, encode_integer
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

Field = tuple[bytes, bytes]

OVERHEAD = 32
"""Bytes that a field counts for in the table besides its own (RFC 7541, section 4.1)."""
INDEXED, LITERAL_INDEXED, SIZE_UPDATE = 0x80, 0x40, 0x20
"""How a field's first byte says what follows (RFC 7541, section 6)."""
FRAME_LIMIT = 16_384
"""Bytes of a frame that every client takes (RFC 9113, section 4.2)."""
MOST_PADDING = 256
"""Bytes that padding can add to a frame, its own length among them (RFC 9113, section 6.2)."""
DATA, HEADERS, CONTINUATION = 0, 1, 9
"""Types of frames, and below their flags (RFC 9113, section 6)."""
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
STATIC = HeaderTable.STATIC_TABLE
FIRST_DYNAMIC = len(STATIC) + 1
STATIC_FIELDS = {field: bytes((INDEXED | index,)) for index, field in enumerate(STATIC, start=1)}
STATIC_NAMES = {name: index for index, (name, _) in reversed(list(enumerate(STATIC, start=1)))}
_HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)


class HeadDecoder:
    """Reads the heads of one connection's requests. h2 uses it as it does hpack's Decoder, and sets its two limits."""

    def __init__(self) -> None:
        self.max_header_list_size = 2**16
        self.max_allowed_table_size = HeaderTable.DEFAULT_SIZE
        self._table = HeaderTable()

    def decode(self, block: bytes, raw: bool = True) -> list[Field]:    # noqa: ARG002 (h2 says so)
        """Return the fields of a head. Raises hpack's errors, or IndexError, for what is none."""
        at, end, size = 0, len(block), 0
        fields: list[Field] = []
        while at < end:
            first = block[at]
            if INDEXED < first < INDEXED | 0x7F:        # most fields: what the client has sent before, in one byte
                field, at = self._field(first & 0x7F), at + 1
            elif first >= INDEXED:
                index, at = _integer(block, at, 7)
                field = self._field(index)
            elif first >= LITERAL_INDEXED:
                field, at = self._literal(block, at, 6)
                self._table.add(*field)
            elif first >= SIZE_UPDATE:
                at = self._resize(block, at, is_first=not fields)
                continue
            else:
                field, at = self._literal(block, at, 4)
            fields.append(field)
            size += len(field[0]) + len(field[1]) + OVERHEAD
            if size > self.max_header_list_size:
                raise OversizedHeaderListError(f"a head of more than {self.max_header_list_size} bytes")
        if self._table.maxsize > self.max_allowed_table_size:
            raise InvalidTableSizeError("the table was not made smaller")
        return fields

    def _field(self, index: int) -> Field:
        if not index:
            raise InvalidTableIndexError("no index")
        return STATIC[index - 1] if index < FIRST_DYNAMIC else self._table.dynamic_entries[index - FIRST_DYNAMIC]

    def _literal(self, block: bytes, at: int, bits: int) -> tuple[Field, int]:
        index, at = _integer(block, at, bits)
        if index:
            name = self._field(index)[0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return (name, value), at

    def _resize(self, block: bytes, at: int, *, is_first: bool) -> int:
        size, at = _integer(block, at, 5)
        if not is_first or size > self.max_allowed_table_size:
            raise HPACKDecodingError("a size of the table that may not be set here")
        self._table.maxsize = size
        return at


class HeadEncoder:
    """Writes the heads of one connection's answers: every field is put into the client's table, and then has a byte."""

    def __init__(self) -> None:
        self._limit, self._size, self._added = HeaderTable.DEFAULT_SIZE, 0, 0
        self._limits_to_tell: list[int] = []
        self._entries: deque[Field] = deque()
        """What is in the client's table, the oldest first: the last is the `_added`th that was put there."""
        self._numbers: dict[Field, int] = {}
        self._names: dict[bytes, int] = {}
        """As which of those that were put there a field, or one of that name, was put there last."""

    @property
    def header_table_size(self) -> int:
        """How large the client's table is; h2 sets it as the client says."""
        return self._limit

    @header_table_size.setter
    def header_table_size(self, size: int) -> None:
        if size != self._limit:
            self._limit = size
            # The smallest since the last head, and the last (RFC 7541, section 4.2).
            self._limits_to_tell = [*dict.fromkeys((min((*self._limits_to_tell, size)), size))]
            self._make_room(0)

    def encode(self, fields: Sequence[Field], size: int = 0) -> bytes:
        """Return a head, of as near to `size` bytes as can be where that is not 0: in full if it fits, else indexed."""
        told = b"".join(encoded_integer(limit, 5, SIZE_UPDATE) for limit in self._limits_to_tell)
        self._limits_to_tell = []
        in_full = literals(tuple(fields), size - len(told)) if size else None
        if in_full is not None:
            return told + in_full
        return told + b"".join(map(self._encoded, fields))

    def _encoded(self, field: Field) -> bytes:
        if field in STATIC_FIELDS:
            return STATIC_FIELDS[field]
        number = self._numbers.get(field)
        if number is not None:
            return encoded_integer(FIRST_DYNAMIC + self._added - number, 7, INDEXED)
        name, value = field
        index = STATIC_NAMES.get(name, 0)
        if not index and name in self._names:
            index = FIRST_DYNAMIC + self._added - self._names[name]
        encoded = encoded_integer(index, 6, LITERAL_INDEXED) + (b"" if index else shortest(name)) + shortest(value)
        self._add(field)
        return encoded

    def _add(self, field: Field) -> None:
        size = len(field[0]) + len(field[1]) + OVERHEAD
        self._make_room(size)
        if size > self._limit:
            return
        self._size += size
        self._added += 1
        self._entries.append(field)
        self._numbers[field] = self._names[field[0]] = self._added

    def _make_room(self, size: int) -> None:
        while self._entries and self._size + size > self._limit:
            oldest = self._entries.popleft()
            number = self._numbers.pop(oldest)
            if self._names[oldest[0]] == number:
                del self._names[oldest[0]]
            self._size -= len(oldest[0]) + len(oldest[1]) + OVERHEAD


@lru_cache(maxsize=4096)
def literals(fields: tuple[Field, ...], size: int) -> bytes | None:
    """Return a head whose fields are written in full, in `size` bytes or less; None if it takes more.

    It changes no table. Texts are compressed where the head would be too large else.
    """
    texts: list[tuple[bytes, bytes]] = []
    for field in fields:
        name, value = field
        index = STATIC_NAMES.get(name, 0)
        if field in STATIC_FIELDS:
            texts.append((STATIC_FIELDS[field],) * 2)
            continue
        texts.append((encoded_integer(index, 4, 0),) * 2)
        texts += [(shortest(text), plain(text)) for text in ((value,) if index else (name, value))]
    spare = size - sum(len(short) for short, _ in texts)
    if spare < 0:
        return None
    block = bytearray()
    for short, long in texts:
        fits = len(long) - len(short) <= spare
        spare -= len(long) - len(short) if fits else 0
        block += long if fits else short
    return bytes(block)


def head_frames(stream: int, block: bytes, *, ends: bool, size: int = 0) -> bytes:
    """Return a head as frames, padded up to `size` bytes as far as padding goes. `ends`: nothing follows."""
    flags = END_STREAM if ends else 0
    padding = min(size - len(block), MOST_PADDING, FRAME_LIMIT - len(block))
    if padding > 0:
        return frame(stream, HEADERS, flags | END_HEADERS | PADDED,
                     bytes((padding - 1,)) + block + bytes(padding - 1))
    if len(block) <= FRAME_LIMIT:
        return frame(stream, HEADERS, flags | END_HEADERS, block)
    frames = frame(stream, HEADERS, flags, block[:FRAME_LIMIT])
    for at in range(FRAME_LIMIT, len(block), FRAME_LIMIT):
        is_last = at + FRAME_LIMIT >= len(block)
        frames += frame(stream, CONTINUATION, END_HEADERS if is_last else 0, block[at:at + FRAME_LIMIT])
    return frames


def frame(stream: int, kind: int, flags: int, payload: bytes) -> bytes:
    """Return one frame (RFC 9113, section 4.1)."""
    return b"%b%c%c%b%b" % (len(payload).to_bytes(3, "big"), kind, flags, stream.to_bytes(4, "big"), payload)


@lru_cache(maxsize=4096)
def shortest(text: bytes) -> bytes:
    """Return a text as a string literal, by the Huffman code where that is shorter (RFC 7541, section 5.2)."""
    compressed = _HUFFMAN.encode(text)
    if len(compressed) >= len(text):
        return plain(text)
    return encoded_integer(len(compressed), 7, INDEXED) + compressed


def plain(text: bytes) -> bytes:
    """Return a text as a string literal as it is."""
    return encoded_integer(len(text), 7, 0) + text


def encoded_integer(value: int, bits: int, first: int) -> bytes:
    """Return an integer of which the first byte has `bits` bits, beside those in `first` (RFC 7541, section 5.1)."""
    if value < (1 << bits) - 1:
        return bytes((first | value,))
    encoded = encode_integer(value, bits)
    encoded[0] |= first
    return bytes(encoded)


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return the integer that begins in the byte at `at`, and where it ends."""
    value = block[at] & ((1 << bits) - 1)
    if value < (1 << bits) - 1:
        return value, at + 1
    value, size = decode_integer(block[at:at + 12], bits)
    return value, at + size


def _text(block: bytes, at: int) -> tuple[bytes, int]:
    """Return the text of the string literal at `at`, and where it ends."""
    is_compressed = block[at] >= INDEXED
    size, at = _integer(block, at, 7)
    end = at + size
    text = block[at:end]
    if len(text) < size:
        raise HPACKDecodingError("a text that is cut off")
    return (_decompressed(text) if is_compressed else text), end


@lru_cache(maxsize=4096)
def _decompressed(text: bytes) -> bytes:
    return decode_huffman(text)


def encoded_fields(headers: Iterable[tuple[str, str]]) -> list[Field]:
    """Return headers as they cross the network."""
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
