"""The one reader of files that come from elsewhere: from a browser's user, a classmate's zip, an archive, an old run.

Such a file may be a FIFO, which blocks whoever opens it, a symbolic link to a file that only root may read, 60 GB of
nothing, JSON nested 100,000 deep, or hold numbers that no float can. Each of these becomes an UnreadableFileError, a
single line ``file:line: cannot be read (why)``; nothing here hangs, follows a link or ends in a traceback.
"""

import codecs
import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from harness.errors import InputError

LARGEST_FILE = 64 * 2**20
"""Bytes. The records and HARs of the largest pages known have 5 MB; the net-log, which is larger, is streamed."""
ANY_SIZE = 2**62
DEEPEST = 60
"""Levels of JSON. A HAR has 8; Python's own limit of recursion is 1000 for all callers together."""
TOO_DEEP = f"nested deeper than {DEEPEST} levels"
MOST_DIGITS = 18
"""Of a whole number: what 64 bits hold. Times in ns since 1970 have 19, so none of our formats has such."""
NO_FILE = "it is no regular file"
OTHERS = {errno.ELOOP: "it is a symbolic link", errno.EISDIR: NO_FILE}
"""In our own words."""
READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SURROGATES_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
"""How they stand in JSON: decoded text has none."""


class UnreadableFileError(InputError):
    """A file that cannot be read as what it should be: its text is ``path:line: cannot be read (why)``."""

    def __init__(self, path: Path, why: str, line: int = 1) -> None:
        super().__init__(f"{path}:{line}: cannot be read ({why})")
        self.path, self.why, self.line = path, why, line


class MissingFileError(UnreadableFileError):
    """There is no such file."""


@contextlib.contextmanager
def open_untrusted(path: Path, *, limit: int = LARGEST_FILE, since: int = 0) -> Iterator[IO[bytes]]:
    """Open `path` for reading if it is a regular file of at most `limit` bytes.

    With `since` it is read from that byte on, and only from there its bytes count; all of it if it has become shorter.
    The last part of `path` is not followed when it is a link, and a FIFO is not waited for. Raises UnreadableFileError.
    Whoever reads on when the file grows meanwhile must count.
    """
    try:
        opened = open(path, "rb", opener=lambda name, _: os.open(name, READ_ONLY))  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        raise MissingFileError(path, "there is no such file") from None
    except OSError as error:
        raise UnreadableFileError(path, OTHERS.get(error.errno or 0) or error.strerror or str(error)) from None
    except ValueError:                  # a NUL, or what the file system's encoding does not have
        raise UnreadableFileError(path, "no file can have that name") from None
    with opened as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFileError(path, NO_FILE)
        begin = since if since <= status.st_size else 0
        if status.st_size - begin > limit:
            raise UnreadableFileError(path, _too_large(status.st_size - begin, limit))
        file.seek(begin)
        yield file


def read_untrusted(path: Path, *, limit: int = LARGEST_FILE, since: int = 0) -> bytes:
    """Return the bytes of a file. Raises UnreadableFileError; see `open_untrusted`."""
    with open_untrusted(path, limit=limit, since=since) as file:
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise UnreadableFileError(path, error.strerror or str(error)) from None
    if len(content) > limit:            # it grew after it was looked at
        raise UnreadableFileError(path, _too_large(len(content), limit))
    return content


def read_untrusted_text(path: Path, *, limit: int = LARGEST_FILE) -> str:
    """Return the text of a UTF-8 file, without the byte order mark of Windows' editors. Raises UnreadableFileError."""
    content = read_untrusted(path, limit=limit).removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(path, "not UTF-8", 1 + content.count(b"\n", 0, error.start)) from None


def read_untrusted_lines(path: Path, *, limit: int = LARGEST_FILE) -> list[str]:
    """Return the lines of a UTF-8 file. Raises UnreadableFileError. See `lines_of`."""
    return lines_of(read_untrusted_text(path, limit=limit))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, which end at line feeds, with a carriage return before them or not, and at nothing
    else: str.splitlines() also cuts at U+0085 and U+2028, which may stand in a URL or in JSON.
    """
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_untrusted_json(path: Path) -> Any:
    """Return what a JSON file holds. Every number in it is finite, every text can be encoded. UnreadableFileError."""
    try:
        return parse_json(read_untrusted_text(path))
    except json.JSONDecodeError as error:
        raise UnreadableFileError(path, f"not JSON: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(path, str(error)) from None


def parse_json(text: str) -> Any:
    """Return what the JSON in `text` holds; ValueError for anything else.

    Stricter than json.loads: no NaN and no infinity (1e999), no whole number beyond 64 bits, at most DEEPEST levels.
    Half of a surrogate pair, which Python takes but cannot print or write, is replaced by a question mark.
    """
    try:
        found = json.loads(text, parse_int=_whole_number, parse_float=_finite_number, parse_constant=_finite_number)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    _check_depth(found)
    if SURROGATES_ESCAPED.search(text):
        found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    return found


def _too_large(size: int, limit: int) -> str:
    return f"{size} bytes, more than the {limit} that such a file may have"


def _whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits.lstrip('-'))} digits")
    return int(digits)


def _finite_number(digits: str) -> float:
    value = float(digits)
    if value - value != 0:              # NaN or infinite
        raise ValueError(f"{digits[:20]} is no finite number")
    return value


def _check_depth(found: Any) -> None:
    """Raise ValueError when lists and objects are nested deeper than DEEPEST."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(DEEPEST):
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)
                 if isinstance(item, dict | list)]
    if level:
        raise ValueError(TOO_DEEP)
