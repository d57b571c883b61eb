"""The two ways a script of TFO Lab stops early, and the one line each of them prints."""

import errno
import sys
from collections.abc import Callable

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class InputError(Exception):
    """Something the user gave is wrong and can be mended: exit status 2.

    The text is one line that says where, what and what to do about it:
    ``myURLS.pages:3: not a URL: 'foo'; write http://host/path``.
    """


class ExperimentError(Exception):
    """The experiment cannot go on although the input was right: exit status 1."""


def run_main(main: Callable[[], int]) -> None:
    """Run a script's `main`, print an expected error as one line, and exit with its status.

    A full disk is one, wherever it shows.
    """
    try:
        status = main()
    except InputError as error:
        print(error, file=sys.stderr)
        status = 2
    except ExperimentError as error:
        print(error, file=sys.stderr)
        status = 1
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        print(f"{error.filename or 'a file'}: the disk is full; make room and try again", file=sys.stderr)
        status = 1
    sys.exit(status)
