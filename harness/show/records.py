"""The requests of a load that is shown, from its text log, with what its HAR and its record know of each."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from harness.analysis.shown import ShownLoad
from harness.files.exchange import UNFINISHED, Exchange
from harness.files.har import NO_ENTRY, from_har
from harness.files.load_har import read_har
from harness.files.results import LoadResult
from harness.files.text_log import Transaction, read_log
from harness.system.untrusted import UnreadableFileError

PHASES = {"blocked": "blocked", "dns": "dns", "connect": "connect", "tls": "ssl", "send": "send", "wait": "wait",
          "receive": "receive"}
"""In the order a request goes through them, and what HAR 1.2 calls them. TLS is not counted as part of connect."""
ANSWERS = {"stand-in": "answered by a stand-in", "missing": "not recorded: 404", "failed": "failed"}
"""Kinds of answers that were not recorded for their request, in words."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class ShownRequest:
    """One request of a load. Times in ms from the start of the load.

    `exchange` is what the HAR says of it, None without one, and `entry` its place in the HAR, -1 without one.
    `logged_status` is what the text log says came. `answer` is the kind of answer it got when that was not the
    recorded one: stand-in, missing, failed.
    """

    url: str
    start_ms: float
    end_ms: float
    exchange: Exchange | None = None
    entry: int = -1
    logged_status: str = ""
    answer: str = ""

    @property
    def phases_ms(self) -> dict[str, float] | None:
        """Lengths of PHASES by name, None without a HAR."""
        if self.exchange is None:
            return None
        known = {name: max(0.0, getattr(self.exchange.phases, phase)) for name, phase in PHASES.items()}
        return known | {"connect": max(0.0, known["connect"] - known["tls"])}       # HAR 1.2: connect includes ssl

    @property
    def status(self) -> str:
        """What is known of its answer: "200 OK", and what was wrong with it."""
        found = self.exchange
        if found is None:
            return ", ".join(filter(None, (self.logged_status, ANSWERS.get(self.answer))))
        line = f"{found.answer.status} {found.answer.reason}".strip() if found.answer.status else ""
        problem = found.error or ("from cache" if found.from_cache else "")
        return ", ".join(filter(None, (line, problem, ANSWERS.get(self.answer))))


def shown_requests(shown: ShownLoad) -> list[ShownRequest]:
    """Return the requests of a load in the order of `shown.requests`, with what its HAR knows of each.

    A HAR's entry belongs to the text log's transaction of the same URL. If there are several, they are paired in order
    of their start. The log has none of what was not over when the load ended.
    """
    exchanges, statuses, kinds = _exchanges(shown.load), _logged_statuses(shown.load), _answer_kinds(shown.load)
    return [_request(transaction, exchanges[transaction.url], kinds[transaction.url],
                     statuses.get(transaction.url, "")) for transaction in shown.requests]


def _request(transaction: Transaction, exchanges: list[tuple[int, Exchange]], kinds: list[str], logged_status: str,
             ) -> ShownRequest:
    """Return a transaction's request; its entry of the HAR, and kind of answer, are taken from those of its URL."""
    entry, exchange = exchanges.pop(0) if exchanges else (-1, None)
    of_a_server = exchange is None or not exchange.from_cache      # what the cache gave stands in no list of answers
    kind = kinds.pop(0) if of_a_server and kinds else ""
    return ShownRequest(transaction.url, transaction.start_ms, transaction.end_ms, exchange, entry, logged_status, kind)


def _exchanges(load: LoadResult) -> dict[str, list[tuple[int, Exchange]]]:
    """Return by URL what the load's HAR says of requests that ended, in order of start, each with its place in it."""
    try:
        entries = read_har(load)["entries"]
    except UnreadableFileError:
        entries = []
    found = [(place, exchange) for place, entry in enumerate(entries)
             if (exchange := _exchange(entry)) and exchange.error != UNFINISHED]
    by_url: dict[str, list[tuple[int, Exchange]]] = defaultdict(list)
    for place, exchange in sorted(found, key=lambda each: (each[1].started or LONG_AGO, each[0])):
        by_url[exchange.request.url].append((place, exchange))
    return by_url


def _exchange(entry: dict[str, Any]) -> Exchange | None:
    try:
        return from_har(entry)
    except NO_ENTRY:
        return None


def _answer_kinds(load: LoadResult) -> dict[str, list[str]]:
    """Return for each URL how its requests were answered that ended, in their order; "" for the recorded answer."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for answer in load.record.answers.each if load.record and load.record.answers else ():
        if answer.error != UNFINISHED:
            kinds[answer.url].append("" if answer.kind == "exact" else answer.kind)
    return kinds


def _logged_statuses(load: LoadResult) -> dict[str, str]:
    try:
        return {response.url: response.status for response in read_log(load.log).responses}
    except UnreadableFileError:
        return {}
