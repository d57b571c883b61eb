"""The requests of a load as figures and report show them: from its HAR, or of 2013's loads from their text log."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from harness.files.exchange import UNFINISHED, Exchange
from harness.files.load_har import har_file, read_har
from harness.files.results import LoadResult
from harness.files.text_log import read_log
from harness.system.untrusted import UnreadableFileError

PHASES = {"blocked": "blocked", "dns": "dns", "connect": "connect", "tls": "ssl", "send": "send", "wait": "wait",
          "receive": "receive"}
"""In the order a request goes through them, and what HAR 1.2 calls them. TLS is not counted as part of connect."""
ANSWERS = {"stand-in": "answered by a stand-in", "missing": "not recorded: 404", "failed": "failed"}
"""Kinds of answers that were not recorded for their request, in words."""


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


@lru_cache(maxsize=4096)
def requests_of(load: LoadResult) -> tuple[ShownRequest, ...]:
    """Return the requests of a load that ended, in order of their start; () without a HAR or log that can be read."""
    found = sorted(_of_har(load) or _of_log(load), key=lambda request: (request.start_ms, request.end_ms))
    kinds: dict[str, list[str]] = defaultdict(list)         # by URL, in their order; "" for the recorded answer
    for answer in load.record.answers.each if load.record and load.record.answers else ():
        if answer.error != UNFINISHED:
            kinds[answer.url].append("" if answer.kind == "exact" else answer.kind)
    return tuple(replace(request, answer=kinds[request.url].pop(0)) if kinds[request.url] and not (
        request.exchange and request.exchange.from_cache) else request for request in found)


def _of_har(load: LoadResult) -> Sequence[ShownRequest]:
    try:
        log = read_har(har_file(load))
    except UnreadableFileError:
        return ()
    return [ShownRequest(found.request.url, start_ms, start_ms + found.length_ms, found, place)
            for place, found in enumerate(log.exchanges) if found.started and found.error != UNFINISHED
            for start_ms in [(found.started - log.began).total_seconds() * 1000]]


def _of_log(load: LoadResult) -> Sequence[ShownRequest]:
    try:
        log = read_log(load.log)
    except UnreadableFileError:
        return ()
    statuses = {response.url: response.status for response in log.responses}
    return [ShownRequest(each.url, each.start_ms, each.end_ms, logged_status=statuses.get(each.url, ""))
            for each in log.transactions]
