"""Page-load logs in the 2013 text format: tagged sections, other text around them ignored.

Fetchlogs (``NAME.fetchlog/<page>``) and client logs (``client/<delaynet>-<run>-tfo-<0|1>/<page>``) are both written so.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import many
from harness.system.untrusted import read_untrusted

HEADERS = {
    "resolves": "strt (ms) | end (ms)  | len (ms)  | err | url:port -> address_list",
    "transactions": "strt (ms) | end (ms)  | len (ms)  | url",
    "responses": "status       | mime_type       | charset | url -> redirect_url",
}
NOTHING = "nil"
"""What the log says for no address and for no redirect."""
OPENING = re.compile(r"<(resolves|transactions|responses|stats|queries)>$")
"""An opening tag ends its line; a crash dump may stand before it."""
TAG = re.compile(r"</?(resolves|transactions|responses|stats|queries)>$")
LOAD_TIMER = re.compile(r"t:tfo\.page_load_timer:\s*([0-9]{1,9})")
"""A line of <stats>, where the browser of 2013 wrote how long the page took: from its first request to its load event,
in ms."""
LONGEST_MS = 1e9
"""Eleven days: what claims to have taken longer was not a load."""
PIECE = re.compile(r"^-?\d+\.\d|\d\s*\||\|\s*(-?\d|[a-z]+://)")
"""A line that is no row and has this is a piece of one that something else was written into: a time at its beginning, a
number before a column's end, a number or a URL at a column's beginning."""
ROWS = {"transactions": re.compile(r"([^|]*)\|([^|]*)\|([^|]*)\|\s*(\S.*)"),
        "responses": re.compile(r"([^|]*)\|([^|]*)\|([^|]*)\|\s*(\S.*) -> (.*)")}
LENGTH_MS = 1.0
"""How far a transaction's length may be from its end less its start. More: its first column has lost digits."""
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Resolve:
    """One name looked up. Times in ms from the start of the load; `error` is 0 or Chrome's net error code."""

    start_ms: float
    end_ms: float
    error: int
    name: str
    """``host:port``"""
    addresses: str
    """Space-separated ``ip:port``, empty when the look-up failed."""


@dataclass(frozen=True)
class Transaction:
    """One HTTP request and its response, from asking for it to its last byte. Times in ms from the load's start."""

    start_ms: float
    end_ms: float
    url: str


@dataclass(frozen=True)
class Response:
    """The head of one response: `status` is the status line's text ("OK", "Found", "No Content")."""

    status: str
    mime_type: str
    charset: str
    url: str
    redirect_url: str | None


@dataclass
class PageLog:
    """What one log holds. `transactions` are in order of completion.

    `transactions_seen` is False for a log without ``<transactions>``: a load that crashed. `transactions_whole` is
    True once ``</transactions>`` was read: without it the log is cut short and its last transaction is not the page's.
    `torn` are the sections that are known to lack a row, or a part of one: a crash dump was written into it.
    `load_timer_ms` is how long the page took from its first request to its load event, None where the log does not say.
    `problems` says in one line each what could not be read.
    """

    resolves: list[Resolve] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    transactions_seen: bool = False
    transactions_whole: bool = False
    torn: set[str] = field(default_factory=set)
    load_timer_ms: float | None = None
    problems: list[str] = field(default_factory=list)

    def urls_after_load(self) -> frozenset[str]:
        """Return the URLs that were asked for only after the load event; none where the log does not tell it."""
        if self.load_timer_ms is None or not self.transactions:
            return frozenset()
        load_event_ms = min(transaction.start_ms for transaction in self.transactions) + self.load_timer_ms
        awaited = {transaction.url for transaction in self.transactions if transaction.start_ms <= load_event_ms}
        return frozenset(transaction.url for transaction in self.transactions) - awaited


def read_log(path: Path) -> PageLog:
    """Read one log, keeping what can be read and reporting the rest in `problems` as ``file:line: problem``.

    A 2013 log is the browser's stdout and stderr in one file, so warnings and crash dumps stand anywhere, also inside
    the sections. In a section each line is tried as a row first; tags are looked for in the others. Of sections that
    come twice only the first is read, and of `resolves` nothing: no program needs them. Raises UnreadableFileError when
    the file itself cannot be read.
    """
    text = read_untrusted(path).decode("utf-8", errors="replace")
    lines, log, seen, skipped = text.split("\n"), PageLog(), set[str](), defaultdict[str, list[int]](list)
    problems = [(1, "not UTF-8 throughout; what is not is read as \ufffd")] if "\ufffd" in text else []
    section, opened_at = "", 0
    for number, line in enumerate(map(str.strip, lines), start=1):
        is_whole = number < len(lines)      # without an end of line a URL may lack its end, and look as if it did not
        if section and (not line or line == HEADERS.get(section) or (is_whole and _is_row(log, section, line))):
            continue
        opened, is_closed = OPENING.search(line), bool(section) and f"</{section}>" in line
        if section and (opened or is_closed):
            log.transactions_whole |= section == "transactions"
            problems += [] if is_closed else [(opened_at, f"<{section}> has no end")]
            section = ""
        elif section:
            log.torn |= {section} if PIECE.search(line) else set()
            skipped[section].append(number)
        if opened and not is_closed:
            section, opened_at = opened[1], number
            log.transactions_seen |= section == "transactions"
            if section in seen and section in ROWS:
                problems.append((number, f"a second <{section}>; only the first is read"))
                section = ""
            seen.add(opened[1])
    if section:
        problems.append((opened_at, f"<{section}> has no end: the log stops at line {len(lines)}"))
    problems += [(at[0], f"{many(len(at), 'line')} from here on {'is' if len(at) == 1 else 'are'} no row of <{name}>; "
                         "skipped") for name, at in skipped.items()]
    log.problems = [f"{path}:{number}: {problem}" for number, problem in sorted(problems)]
    return log


def _is_row(log: PageLog, section: str, line: str) -> bool:
    """Add `line` to the log if it is a row of the section at hand; other sections' lines are all taken as read."""
    if section not in ROWS:
        timer = LOAD_TIMER.fullmatch(line) if section == "stats" else None
        if timer and log.load_timer_ms is None:        # of a second load only that is read
            log.load_timer_ms = float(timer[1])
        return not TAG.search(line)
    found = ROWS[section].fullmatch(line)
    if found is None:
        return False
    first, second, third, url, *redirect = map(str.strip, found.groups())
    if redirect:
        log.responses.append(Response(first, second, third, url, None if redirect == [NOTHING] else redirect[0]))
        return True
    try:
        start_ms, end_ms, length_ms = map(float, (first, second, third))
    except ValueError:
        return False
    # A start a little below 0 is right: the browser's clock and its log are only so fine.
    if not -LONGEST_MS <= start_ms <= end_ms <= LONGEST_MS:
        return False
    if not abs(end_ms - start_ms - length_ms) <= LENGTH_MS:
        log.torn.add("transactions")
    log.transactions.append(Transaction(start_ms, end_ms, url))
    return True


def format_log(log: PageLog) -> str:
    """Write `log` in the 2013 column layout. A load that crashed gets no ``<transactions>`` section."""
    sections = [_section("resolves", (f"{_times(resolve.start_ms, resolve.end_ms)} | {resolve.error:3d} | "
                                      f"{_one_line(resolve.name)} ->  {_one_line(resolve.addresses) or NOTHING}"
                                      for resolve in log.resolves))]
    if log.transactions_seen or log.transactions:
        sections.append(_section("transactions", (f"{_times(transaction.start_ms, transaction.end_ms)} | "
                                                 f"{_one_line(transaction.url)}" for transaction in log.transactions)))
    sections.append(_section("responses", (
        f"{_column(response.status):>12} | {_column(response.mime_type):>15} | {_column(response.charset):>7} | "
        f"{_one_line(response.url)} -> {_one_line(response.redirect_url or '') or NOTHING}"
        for response in log.responses)))
    return "\n".join(sections)


def _section(name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"<{name}>", HEADERS[name], *rows, f"</{name}>", ""])


def _times(start_ms: float, end_ms: float) -> str:
    start, end = round(start_ms, 3), round(end_ms, 3)
    return f"{start:9.3f} | {end:9.3f} | {end - start:9.3f}"


def _one_line(text: str) -> str:
    """Keep a row on its line: a line break or a NUL in what a server sent must not make a row of its own."""
    return UNPRINTABLE.sub(" ", text).strip()


def _column(text: str) -> str:
    return _one_line(text.replace("|", " "))
