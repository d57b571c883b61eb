"""The exchanges of a recording, page by page, as its HARs have them: ``NAME.fetchlog/<page>.har``.

One of 2013's format is read as if it had been imported (harness.mirror.importing): what reads exchanges knows one
format.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError
from harness.files.exchange import Exchange, Place, place_of
from harness.files.har import read_har
from harness.files.hosts import PORTS, SCHEMES, is_host_name
from harness.mirror.alike import is_never_empty
from harness.mirror.paths import hosts, list_files
from harness.system.untrusted import UnreadableFileError

WEBSOCKETS = {"ws": "http", "wss": "https"}
"""A WebSocket's scheme -> that of the port it uses."""


@dataclass(frozen=True)
class PageExchanges:
    """What a page asked for, in order, and when its load event was, in s since the epoch (infinity: not known)."""

    page: str
    exchanges: list[Exchange]
    load_event_s: float = math.inf


def read_page(har: Path, problems: list[str]) -> PageExchanges | None:
    """Return the exchanges in a HAR that a replay can have; None when it is no HAR.

    Adds a line to `problems` for what cannot be used: what is no entry, and URLs on other ports than 80 and 443.
    """
    page = har.name.removesuffix(".har")
    try:
        log = read_har(har, page, problems)
    except UnreadableFileError as error:
        problems.append(f"{error}; record the page again")
        return None
    found = list[Exchange]()
    for exchange in log.exchanges:
        scheme = exchange.request.url.partition(":")[0].lower()
        if scheme in SCHEMES or (scheme in WEBSOCKETS and exchange.answer.messages is not None):
            if replayed_place(exchange) is None:
                problems.append(not_replayed(har, exchange.request.url))
            else:
                found.append(exchange)
    return PageExchanges(page, found, log.times.load_event_s)


def not_replayed(log: Path, url: str) -> str:
    """Return in a line that a URL of a log cannot be replayed."""
    return f"{log}: cannot be replayed (only http and https on their own ports are): {url[:120]!r}"


def replayed_place(exchange: Exchange) -> Place | None:
    """Return the key of an exchange's URL, a WebSocket's as that of its handshake; None where no replay has it."""
    scheme, _, rest = exchange.request.url.partition(":")
    try:
        place = place_of(f"{WEBSOCKETS.get(scheme.lower(), scheme)}:{rest}")
        port = urlsplit(exchange.request.url).port
    except ValueError:
        return None
    is_served = place.scheme in SCHEMES and port in (None, PORTS[place.scheme]) and is_host_name(place.host)
    return place if is_served else None


def page_logs(fetchlog: Path) -> list[Path]:
    """Return the text logs of a recording's pages. Raises InputError when the folder cannot be read."""
    try:
        entries = sorted(fetchlog.iterdir())
    except OSError as error:
        raise InputError(f"{fetchlog}: no logs can be read here ({error.strerror}); "
                         "record or make the pages first") from None
    return [path for path in entries if path.suffix not in (".json", ".har") and path.is_file()]


def har_of(log: Path) -> Path:
    """Return where the HAR of a page lies: beside its text log."""
    return log.with_name(f"{log.name}.har")


def files_of(mirror: Path) -> dict[str, frozenset[str]]:
    """Return each host's files, but fonts and pictures of 0 bytes, which the scraper of 2013 left where it got none.

    A browser to which such a font was given would ask for its next format: a round trip that the page never took. Such
    a picture would be said to be what was recorded. Raises InputError when there is no mirror.
    """
    return {host: frozenset(name for name in list_files(mirror / host)
                            if not (is_never_empty(name) and _is_empty(mirror / host / name)))
            for host in hosts(mirror)}


def _is_empty(path: Path) -> bool:
    try:
        return path.lstat().st_size == 0
    except OSError:         # too long a path, or gone since
        return True
