"""Recordings of mahimahi (http://mahimahi.mit.edu): a directory with one protobuf message a file, one for each request.

The field numbers are those that mahimahi documents for its RequestResponse message. A body is kept as it came over the
connection, in chunks where it came so. The order is that of the answers' Date, then that in which the files were
written: their names are made up.
"""

from dataclasses import replace
from datetime import datetime, timezone
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from harness.errors import InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.headers import Headers
from harness.files.moments import moment_of
from harness.files.urls import document_url
from harness.mirror.asked import Asked, headers_of
from harness.record.sources.answers import Entry, Index, hash_of, masked_hash_of, status_code
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.encoding import (
    believed,
    is_as_long_as_told,
    remark_on_noise,
    says_chunked,
    told_bytes,
    without_chunks,
)
from harness.system.untrusted import UnreadableFileError, read_untrusted

PACKAGE = "tfolab.mahimahi"
HTTPS = 2
LARGEST_EXCHANGE = LARGEST_BODY + 2**20
"""Bytes of one request with its answer."""
OPTIONAL, REPEATED = (descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
                      descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED)
BYTES, TEXT, NUMBER, MESSAGE = (descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
                                descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
                                descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
                                descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE)
FIELDS: dict[str, list[tuple[str, int, int, int, str]]] = {
    "Header": [("key", 1, OPTIONAL, BYTES, ""), ("value", 2, OPTIONAL, BYTES, "")],
    "Http": [("first_line", 1, OPTIONAL, BYTES, ""), ("header", 2, REPEATED, MESSAGE, "Header"),
             ("body", 3, OPTIONAL, BYTES, "")],
    # The scheme is an enumeration there: on the wire that is a number.
    "RequestResponse": [("ip", 1, OPTIONAL, TEXT, ""), ("port", 2, OPTIONAL, NUMBER, ""),
                        ("scheme", 3, OPTIONAL, NUMBER, ""), ("request", 4, OPTIONAL, MESSAGE, "Http"),
                        ("response", 5, OPTIONAL, MESSAGE, "Http")]}
"""By message: name, number, label, type and, of a message, which."""


def read_mahimahi(directory: Path) -> Index:
    """Return the exchanges in a mahimahi recording. Raises InputError when the directory is none."""
    index = Index()
    try:
        files = sorted((path for path in directory.iterdir() if path.is_file()), key=lambda path: path.name)
    except OSError as error:
        raise InputError(f"{directory}:1: cannot be read ({error.strerror}); give a recording of mahimahi") from None
    found = [(_when(path, message), entry, _lost_bytes(path, message, entry)) for path in files
             if (message := _load(path)) is not None and (entry := _entry(path, message)) is not None]
    index.entries = [entry for _, entry, lost in sorted(found, key=lambda exchange: exchange[0]) if lost is None]
    index.without_body = {entry.url: lost for _, entry, lost in found if lost is not None}
    index.remarks = remark_on_noise([entry.url for _, entry, lost in found if lost is not None
                                     and entry.read().is_noise])
    if not found:
        raise InputError(f"{directory}:1: no recording of mahimahi; give the directory that mm-webrecord wrote")
    return index


@cache
def message_type() -> type[Message]:
    """Return the class of one recorded exchange."""
    file = descriptor_pb2.FileDescriptorProto(name="mahimahi.proto", package=PACKAGE, syntax="proto2")
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for field, number, label, kind, of in fields:
            message.field.add(name=field, number=number, label=label, type=kind,
                              type_name=f".{PACKAGE}.{of}" if of else None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.RequestResponse"))


def _when(path: Path, message: Any) -> tuple[int, int]:
    """Return when an answer came, in s, and when its file was written, in ns: mm-webrecord makes up the names, and
    copies of the files may be as old as each other.
    """
    return int(_captured(path, message).timestamp()), path.stat().st_mtime_ns


def _captured(path: Path, message: Any) -> datetime:
    """Return when an answer came by its Date; without one when its file was written, which of a copy is later."""
    said = moment_of(headers_of(_headers(message.response)).get("date"))
    return said or datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)


def _entry(path: Path, message: Any) -> Entry | None:
    """Return a file's exchange; None for a file that has none."""
    method, _, rest = message.request.first_line.decode("latin-1").partition(" ")
    target = rest.rpartition(" ")[0]
    status = status_code("".join(message.response.first_line.decode("latin-1").split(" ")[1:2]))
    headers = headers_of(_headers(message.request))
    host = headers.get("host", message.ip)
    if not target or not host or status is None:
        return None
    scheme = "https" if message.scheme == HTTPS else "http"
    url = document_url(target if target.startswith(("http://", "https://")) else f"{scheme}://{host}{target}")
    return Entry(method.upper(), url, status, partial(_answer, path, url, status),
                 hash_of(message.request.body), Asked(headers).purpose, masked_hash_of(message.request.body),
                 headers.get("origin", ""))


def _lost_bytes(path: Path, message: Any, entry: Entry) -> int | None:
    """Return the size of a body that broke off, 0 where nobody knows it; None for one that is there.

    It has fewer bytes than its Content-Length, or ends inside a chunk; or what is there is noise.
    """
    if believed(_recorded(path, message, entry.url, entry.status)) is None:
        return len(message.response.body)
    headers, body = _headers(message.response), bytes(message.response.body)
    if says_chunked(headers):
        return None if without_chunks(body)[1] else 0
    is_whole = entry.method == "HEAD" or entry.status != HTTPStatus.OK or is_as_long_as_told(headers, len(body))
    return None if is_whole else told_bytes(headers)


def _headers(message: Any) -> Headers:
    return tuple((pair.key.decode("latin-1"), pair.value.decode("latin-1").strip()) for pair in message.header)


def _answer(path: Path, url: str, status: int) -> ArchivedAnswer:
    message = _load(path)
    if message is None:
        raise OSError(f"{path}: changed while it was read")
    recorded = _recorded(path, message, url, status)
    return believed(recorded) or replace(recorded, is_noise=True)


def _recorded(path: Path, message: Any, url: str, status: int) -> ArchivedAnswer:
    """Return what a file has of an answer."""
    response = message.response
    headers, body = _headers(response), bytes(response.body)
    if says_chunked(headers):
        body = without_chunks(body)[0]
    protocol, _, rest = response.first_line.decode("latin-1").strip().partition(" ")
    return ArchivedAnswer(url, status, rest.partition(" ")[2], headers, body, protocol, _captured(path, message))


def _load(path: Path) -> Any:
    """Return the message in a file; None where there is none. Raises InputError when the file cannot be read."""
    message: Any = message_type()()
    try:
        message.ParseFromString(read_untrusted(path, limit=LARGEST_EXCHANGE))
    except UnreadableFileError as error:
        raise InputError(f"{error}; give a recording of mahimahi") from None
    except DecodeError:
        return None
    return message if message.request.first_line and message.response.first_line else None
