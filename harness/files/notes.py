"""A student's own notes: a text in UTF-8, which is read, and to which a table is added.

PowerShell's ``>`` and old versions of Windows' Notepad write UTF-16, which begins with a byte order mark: such notes
are read, and nothing is added to them.
"""

import codecs
import os
from pathlib import Path

from harness.errors import InputError
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted


def text_of(content: bytes) -> str:
    """Return a text without its byte order mark; what cannot be read in it is U+FFFD."""
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8-sig", "replace")


def check_notes(path: Path) -> None:
    """Raise InputError unless there are no notes at `path` yet, or a text in UTF-8, to which one can be added."""
    try:
        content = read_untrusted(Path(os.path.realpath(path)))       # a link of their owner's own is followed
        if b"\0" in content:
            raise ValueError
        content.decode()
    except MissingFileError:
        pass
    except UnreadableFileError as error:
        raise InputError(f"{path}:1: cannot be written ({error.why}); choose another --append") from None
    except ValueError:
        raise InputError(f"{path}:1: nothing can be added to what is no text in UTF-8; save it as UTF-8") from None


def add_to_notes(path: Path, text: str) -> None:
    """Add `text` to the notes. Raises InputError when that cannot be."""
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace") as notes:
            notes.write(text)
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --append") from None
