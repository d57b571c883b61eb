"""A student's own notes: a text in the encoding that its editor chose, to be read and added to in that one.

PowerShell's ``>`` and old versions of Windows' Notepad write UTF-16, which begins with a byte order mark.
"""

import codecs
import os
from pathlib import Path

from harness.errors import InputError
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted

UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte order marks -> encodings. UTF-32's little-endian mark begins with the first one, and then has two zero bytes."""
ASCII = "ascii"
"""What all of Latin-1, Windows' code pages and their like have in common: bytes of these are known, others are not."""
SAVE_AS = "save it as UTF-8"


def encoding_of(content: bytes) -> str:
    """Return the encoding of a text; ASCII for one that is not UTF-8 and has no mark: only so much of it is known.

    Raises ValueError, with the reason, for what is no text in any of these: UTF-16 without its mark, half a character.
    """
    marked = UTF_16.get(content[:2]) if content[2:4] != b"\0\0" else None
    if marked:
        content[2:].decode(marked)
        return marked
    if b"\0" in content:
        raise ValueError("it has NUL bytes, as UTF-16 without a byte order mark has")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return ASCII
    return "utf-8"


def text_of(content: bytes) -> str:
    """Return a text without its byte order mark; what cannot be read in it is U+FFFD."""
    marked = UTF_16.get(content[:2])
    return content[2:].decode(marked, "replace") if marked else content.decode("utf-8-sig", "replace")


def encoding_of_notes(path: Path) -> str:
    """Return the encoding in which to add to the notes at `path`: their own, UTF-8 where there are none yet.

    Raises InputError for a file that cannot be read, or in which added text could not be read.
    """
    try:
        return encoding_of(read_untrusted(Path(os.path.realpath(path))))     # a link of their owner's own is followed
    except MissingFileError:
        return "utf-8"
    except UnreadableFileError as error:
        raise InputError(f"{path}:1: cannot be written ({error.why}); choose another --append") from None
    except ValueError as error:
        raise InputError(f"{path}:1: nothing can be added to this text ({error}); {SAVE_AS}") from None


def add_to_notes(path: Path, text: str, encoding: str) -> None:
    """Add `text` to the notes, which are in `encoding`. Raises InputError when that cannot be."""
    try:
        added = text.encode(encoding)
    except UnicodeEncodeError as error:
        raise InputError(f"{path}:1: {text[error.start]!r} cannot be added, since its encoding is not known; "
                         f"{SAVE_AS}") from None
    try:
        with path.open("ab") as notes:
            notes.write(added)
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --append") from None
