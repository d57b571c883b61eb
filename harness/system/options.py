"""The one reader of what is typed behind a program's name: a number is a plain decimal within its bounds, or refused.

    parser = OptionParser(description="Load pages.")
    parser.add_argument("--delaynet", type=DELAY_MS, default=10.0)
    parser.add_argument("--testruns", type=Whole(2, 1000), default=4)

Whatever is wrong is one line on standard error, ``tfo.py: argument --delaynet: 'nan' is not ...``, and exit status 2.
``nan``, ``inf``, ``1_0``, ``010``, ``1e9`` and digits of other scripts are no numbers here, although Python's float()
and int() take them. No file name below asks for the disk: reading options has no effect.
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, NoReturn
from urllib.parse import urlsplit

from harness.bootstrap import ROOT
from harness.errors import printable

DIGITS = 6
"""Significant digits of a number: so many stand in the names of folders, as in ``client/2.5-0-tfo-0``."""
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
FIRST_DAY = date(1991, 8, 6)
"""When the first page was public."""
LONGEST_NAME = 200
"""Characters of a name: 255 bytes is what a file's name may have, ending included."""
SHOWN = 40
"""Characters of a wrong word that are shown."""


class OptionParser(argparse.ArgumentParser):
    """argparse's, whose complaints are one line, and which takes no option by its first letters."""

    def __init__(self, **settings: Any) -> None:
        """Take argparse's own settings. The description is printed as it stands when it has several lines."""
        if "\n" in (settings.get("description") or ""):
            settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**{"allow_abbrev": False, **settings})
        self.add_argument("--version", action=_ShowVersion)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line; exit status 2."""
        print(f"{self.prog}: {printable(message)}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


class _ShowVersion(argparse.Action):
    """``--version`` of every program: the line of harness.measure.about, by a process, since it knows higher layers."""

    def __init__(self, option_strings: Any, dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS,
                         help="TFO Lab's version and commit, Chrome, driver, kernel, and what delays packets")

    def __call__(self, *_: object) -> None:
        os.chdir(ROOT)          # Python looks for modules in the folder that it starts in
        os.execv(sys.executable, [sys.executable, "-m", "harness.measure.about"])


@dataclass(frozen=True)
class Whole:
    """Reads a whole number from `low` to `high`."""

    low: int
    high: int

    def __call__(self, text: str) -> int:
        """Return the number. Raises argparse.ArgumentTypeError, which argparse turns into its complaint."""
        if _WHOLE.fullmatch(text) and len(text) <= len(str(self.high)) + 1 and self.low <= int(text) <= self.high:
            return int(text)
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number from {self.low} to {self.high}")


@dataclass(frozen=True)
class Decimal:
    """Reads a number from `low` to `high` of at most DIGITS significant digits; `or_zero` takes 0 as well."""

    low: float
    high: float
    or_zero: bool = False

    def __call__(self, text: str) -> float:
        """Return the number. Raises argparse.ArgumentTypeError, which argparse turns into its complaint."""
        if not _DECIMAL.fullmatch(text) or len(text) > SHOWN:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number {self.in_words()}")
        value = float(text)
        if not (self.low <= value <= self.high or (self.or_zero and value == 0)):
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number {self.in_words()}")
        if float(f"{value:.{DIGITS}g}") != value:
            raise argparse.ArgumentTypeError(f"{quoted(text)} has more than {DIGITS} significant digits")
        return abs(value)       # -0 is 0

    def in_words(self) -> str:
        """Return the bounds in words."""
        return f"{'that is 0 or ' if self.or_zero else ''}from {plain(self.low)} to {plain(self.high)}"


@dataclass(frozen=True)
class Several:
    """Reads numbers with spaces between them, each by `number`; at least one, and none twice."""

    number: Whole | Decimal

    def __call__(self, text: str) -> list[float]:
        """Return the numbers in their order. Raises argparse.ArgumentTypeError."""
        values: list[float] = [self.number(word) for word in text.split()]
        if not values:
            raise argparse.ArgumentTypeError("no number given")
        if len(set(values)) < len(values):
            raise argparse.ArgumentTypeError(f"{quoted(text)} names a number twice")
        return values


DELAY_MS = Decimal(0.01, 60_000, or_zero=True)
"""One way. RTTs under 0.02 ms are those of the machine itself; a SYN that takes a minute was given up long before."""
RATE_MBIT = Decimal(0.1, 1000)
"""Below, a full packet keeps a link busy for over 120 ms: the RTT is no longer the delay's. Mininet ends at 1000."""
TIMEOUT_S = Decimal(0.1, 3600)
SILENCE_S = Decimal(0.05, 600)
STALL_MS = Decimal(0.001, 600_000, or_zero=True)
PORT = Whole(1, 65535)
USER_PORT = Whole(1024, 65535)
"""A port that a server may listen on which does not run as root."""
SEED = Whole(0, 2**32 - 1)
RUNS = Whole(2, 1000)
ROUNDS = Whole(1, 1_000_000)


def page_list_name(text: str) -> str:
    """Return NAME as in NAME.pages, which names files in one folder. Raises argparse.ArgumentTypeError."""
    if not _NAME.fullmatch(text) or len(text) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a name: letters, digits, '.', '_' and '-' only, no "
                                         f"'.' or '-' in front, at most {LONGEST_NAME}")
    return text


def day(text: str) -> date:
    """Return a day of the Web, written as 2013-03-12. Raises argparse.ArgumentTypeError."""
    try:
        found = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None or not FIRST_DAY <= found <= datetime.now(timezone.utc).date():
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a day since {FIRST_DAY}, written as 2013-03-12")
    return found


def web_address(text: str) -> str:
    """Return an http or https URL. Raises argparse.ArgumentTypeError."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not set(text) & set(" \t\r\n")
    except ValueError:
        usable = False
    if not usable:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not an address, as http://host/path")
    return text


def plain(value: float) -> str:
    """Return a number without an exponent."""
    return f"{value:.10f}".rstrip("0").rstrip(".")


def quoted(text: str) -> str:
    """Return what was typed, shortened and printable, between quotes."""
    return ascii(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
