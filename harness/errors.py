"""The two ways a script of TFO Lab stops early, and the one line each of them prints."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from io import TextIOWrapper

STANDARD_OUTPUT = 1
LONGEST_URL = 100
"""Characters of a URL in a message."""
MOST_NAMED = 3
"""URLs or hosts that a message names."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
DISK_FAILURES = (*DISK_FULL, errno.EIO)
"""What no single file is to blame for: whoever writes must stop."""
NO_FAULT_OF_OURS = {
    **dict.fromkeys(DISK_FULL, "the disk is full; make room"), errno.EIO: "the disk fails; give another --dir",
    errno.EMFILE: "this program may open no more files; raise the limit (ulimit -n)",
    errno.ENFILE: "the machine may open no more files; end other programs",
    errno.ENOMEM: "the machine has no memory left; end other programs",
}
"""What the machine refuses, by its error number, in words."""


class ExitStatus(IntEnum):
    """What a program's exit status says to whoever started it. UNAVAILABLE and BUSY are those of sysexits.h."""

    DONE = 0
    INCOMPLETE = 1
    """The input was right, and not all could be done: a load does not count, say. Another try may succeed."""
    WRONG_INPUT = 2
    """What was given is wrong: an option, a page, its recording. Another try fails, too, on any machine."""
    UNAVAILABLE = 69
    """This machine lacks something: a program, a part of its kernel, room on its disk."""
    BUSY = 75
    """Another experiment runs on this machine: try again later."""


class InputError(Exception):
    """Something the user gave is wrong and can be mended: exit status 2.

    The text is one line that says where, what and what to do about it:
    ``myURLS.pages:3: not a URL: 'foo'; write http://host/path``.
    """

    status = ExitStatus.WRONG_INPUT


class MachineError(InputError):
    """This machine lacks something that every experiment needs: exit status 69."""

    status = ExitStatus.UNAVAILABLE


class BusyError(InputError):
    """Another experiment runs on this machine: exit status 75."""

    status = ExitStatus.BUSY


class ExperimentError(Exception):
    """The experiment cannot go on although the input was right: exit status 1."""

    status = ExitStatus.INCOMPLETE


def printable(text: str) -> str:
    """Return `text` as one line that does nothing to a terminal but show: names and reasons come from web pages.

    Control characters, line breaks, invisible and direction-changing characters (Unicode's categories C, Zl and Zp) and
    bytes that were no UTF-8 are shown escaped, as Python writes them.
    """
    return "".join(character if character.isprintable() or character == " " else _escaped(character)
                   for character in text)


def shortened(text: str, longest: int = LONGEST_URL) -> str:
    """Return `text`, a URL say, cut when it has more than `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest - 1]}…"


def first_few(names: Sequence[str]) -> str:
    """Return the first MOST_NAMED of `names`, URLs or hosts, in words; an ellipsis says that there are more."""
    return ", ".join([*map(shortened, names[:MOST_NAMED]), *(["…"] if len(names) > MOST_NAMED else [])])


def many(count: int, what: str) -> str:
    """Return ``1 host``, ``2 hosts``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def run_main(main: Callable[[], int]) -> None:
    """Run a script's `main`, print an expected error as one line, and exit with its status.

    A full or broken disk is one, and so is a limit of the machine, wherever it shows. What the terminal's encoding
    lacks is printed escaped (an ellipsis in ISO 8859-1, say). When nobody reads standard output any more, that is one
    line, too.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = main()
    except (InputError, ExperimentError) as error:
        print(printable(str(error)), file=sys.stderr)
        status = error.status
    except OSError as error:
        if isinstance(error, BrokenPipeError):      # `| less`, and q
            os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)      # Python would complain at its end
            line = "nobody reads any more what this program writes; that ends it"
        elif error.errno in NO_FAULT_OF_OURS:
            line = f"{error.filename or 'a file'}: {NO_FAULT_OF_OURS[error.errno]} and try again"
        else:
            raise
        with suppress(BrokenPipeError):             # nor standard error, where both are one pipe
            print(printable(line), file=sys.stderr, flush=True)
        status = ExitStatus.INCOMPLETE
    sys.exit(status)
