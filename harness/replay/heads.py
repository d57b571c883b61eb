"""The heads of requests and answers over HTTP/2: read and written as HPACK (RFC 7541).

The package hpack does the same, and takes half of the time of an answer for it: it slices and logs for every field.
Here what a field looks like in bytes is worked out once, and what an index stands for is looked up. hpack's static
table and its Huffman code are used as they are.

Most servers write a field that they have sent before as one byte. nginx writes each in full every time, which is about
150 bytes more an answer: so is the answer whose recorded `server` is one of IN_FULL.
"""

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

Field = tuple[str, str]
"""A header. Each character stands for a byte on the wire (Latin-1)."""

TABLE_BYTES = 4096
"""Of fields that either side keeps unless it says otherwise (RFC 9113, section 6.5.2)."""
OVERHEAD = 32
"""Bytes that a field counts for in the table besides its own (RFC 7541, section 4.1)."""
INDEXED, LITERAL_INDEXED, SIZE_UPDATE = 0x80, 0x40, 0x20
"""How a field's first byte says what follows (RFC 7541, section 6)."""
STATIC: list[Field] = [(name.decode(), value.decode()) for name, value in HeaderTable.STATIC_TABLE]
FIRST_DYNAMIC = len(STATIC) + 1
STATIC_FIELDS = {field: bytes((INDEXED | index,)) for index, field in enumerate(STATIC, start=1)}
STATIC_NAMES = {name: index for index, (name, _) in reversed(list(enumerate(STATIC, start=1)))}
IN_FULL = ("nginx", "openresty", "tengine")
"""How the `server` of nginx and of its forks begins."""
_HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)


class _Table:
    """The fields that one side has sent and both keep (RFC 7541, section 2.3.2): the latest, `limit` bytes of them."""

    def __init__(self) -> None:
        self.limit, self._bytes = TABLE_BYTES, 0
        self.added = 0
        """How many fields were ever added."""
        self.fields: deque[Field] = deque()
        """The oldest first."""
        self.places: dict[Field | str, int] = {}
        """As which of those that were added a field, or one of that name, was added last."""

    def add(self, field: Field) -> None:
        size = len(field[0]) + len(field[1]) + OVERHEAD
        self.make_room(size)
        if size <= self.limit:
            self._bytes += size
            self.added += 1
            self.fields.append(field)
            self.places[field] = self.places[field[0]] = self.added

    def make_room(self, size: int = 0) -> None:
        """Forget the oldest fields until so many bytes fit in."""
        while self.fields and self._bytes + size > self.limit:
            place, field = self.added - len(self.fields) + 1, self.fields.popleft()
            self._bytes -= len(field[0]) + len(field[1]) + OVERHEAD
            for key in (field, field[0]):
                if self.places[key] == place:
                    del self.places[key]


class HeadDecoder:
    """Reads the heads of one connection's requests."""

    def __init__(self) -> None:
        self._table = _Table()

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a head. Raises ValueError, IndexError or hpack's HPACKError for what is none."""
        at, end, fields = 0, len(block), list[Field]()
        while at < end:
            first = block[at]
            if first >= INDEXED:
                index, at = _integer(block, at, 7)
                field = self._field(index)
            elif first >= LITERAL_INDEXED:
                field, at = self._literal(block, at, 6)
                self._table.add(field)
            elif first >= SIZE_UPDATE:
                self._table.limit, at = _integer(block, at, 5)
                if fields or self._table.limit > TABLE_BYTES:
                    raise ValueError("a size of the table that may not be set here")
                self._table.make_room()
                continue
            else:
                field, at = self._literal(block, at, 4)
            fields.append(field)
        return fields

    def _field(self, index: int) -> Field:
        if not index:
            raise IndexError("no index")
        return STATIC[index - 1] if index < FIRST_DYNAMIC else self._table.fields[FIRST_DYNAMIC - 1 - index]

    def _literal(self, block: bytes, at: int, bits: int) -> tuple[Field, int]:
        index, at = _integer(block, at, bits)
        if index:
            name = self._field(index)[0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return (name, value), at


class HeadEncoder:
    """Writes the heads of one connection's answers: every field is put into the client's table, and then has a byte."""

    def __init__(self) -> None:
        self._table, self._to_tell = _Table(), b""

    def resize(self, limit: int) -> None:
        """Take note of how large the client's table may be from now on, in bytes.

        TABLE_BYTES of a larger one are used, as by Apache (nghttp2); a smaller one is not used at all, and the next
        head says so (RFC 7541, section 4.2).
        """
        if limit < self._table.limit:
            self._table.limit, self._to_tell = 0, integer(0, 5, SIZE_UPDATE)
            self._table.make_room()

    def encode(self, fields: Sequence[Field]) -> bytes:
        """Return a head."""
        told, self._to_tell = self._to_tell, b""
        if dict(fields).get("server", "").lower().startswith(IN_FULL):
            return told + b"".join(map(_in_full, fields))
        places = self._table.places
        return told + b"".join([
            STATIC_FIELDS.get(field)
            or (integer(FIRST_DYNAMIC + self._table.added - places[field], 7, INDEXED) if field in places
                else self._added(field)) for field in fields])

    def _added(self, field: Field) -> bytes:
        """Put a field into the table, and return how that is written."""
        table, name = self._table, field[0]
        index = STATIC_NAMES.get(name, 0)
        if not index and name in table.places:
            index = FIRST_DYNAMIC + table.added - table.places[name]
        table.add(field)
        return _literal(field, index, 6, LITERAL_INDEXED)


@lru_cache(maxsize=4096)
def _in_full(field: Field) -> bytes:
    """Return a field as nginx writes it, which changes no table."""
    return STATIC_FIELDS.get(field) or _literal(field, STATIC_NAMES.get(field[0], 0), 4)


def _literal(field: Field, index: int, bits: int, first: int = 0) -> bytes:
    """Return a field as a literal (RFC 7541, section 6.2), whose name the tables have at `index`; 0: they do not."""
    return integer(index, bits, first) + (b"" if index else literal(field[0])) + literal(field[1])


@lru_cache(maxsize=4096)
def literal(text: str) -> bytes:
    """Return a text as a string literal (RFC 7541, section 5.2): by the Huffman code where that is shorter."""
    raw = text.encode("latin-1")
    compressed = _HUFFMAN.encode(raw)
    if len(compressed) < len(raw):
        return integer(len(compressed), 7, INDEXED) + compressed
    return integer(len(raw), 7) + raw


def integer(value: int, bits: int, first: int = 0) -> bytes:
    """Return an integer of which the first byte has `bits` bits, beside those in `first` (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    encoded, value = bytearray((first | most,)), value - most
    while value >= 0x80:
        encoded.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes((*encoded, value))


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return the integer that begins in the byte at `at`, and where it ends."""
    most = (1 << bits) - 1
    value = block[at] & most
    if value < most:
        return value, at + 1
    for shift in range(0, 35, 7):
        at += 1
        value += (block[at] & 0x7F) << shift
        if block[at] < 0x80:
            return value, at + 1
    raise ValueError("too large an integer")


def _text(block: bytes, at: int) -> tuple[str, int]:
    """Return the text of the string literal at `at`, and where it ends."""
    is_compressed = block[at] >= INDEXED
    size, at = _integer(block, at, 7)
    text = block[at:at + size]
    if len(text) < size:
        raise ValueError("a text that is cut off")
    return (_decompressed(text) if is_compressed else text.decode("latin-1")), at + size


@lru_cache(maxsize=4096)
def _decompressed(text: bytes) -> str:
    return decode_huffman(text).decode("latin-1")
