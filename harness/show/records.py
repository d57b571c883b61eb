"""Reads what is beside a load's text log: its .json and .har. Either may be missing or unreadable."""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from harness.analysis.shown import ShownLoad
from harness.files.exchange import UNFINISHED
from harness.files.load_har import read_har
from harness.files.results import LoadResult
from harness.files.text_log import Transaction, read_log
from harness.system.untrusted import UnreadableFileError

PHASES = ("blocked", "dns", "connect", "tls", "send", "wait", "receive")
"""In the order a request goes through them. As HAR 1.2, but TLS is not counted as part of connect."""
ANSWERS = {"stand-in": "answered by a stand-in", "missing": "not recorded: 404", "failed": "failed"}
"""Kinds of answers that were not recorded for their request, in words."""
TIMINGS = {"blocked": "blocked", "dns": "dns", "connect": "connect", "tls": "ssl", "send": "send", "wait": "wait",
           "receive": "receive"}


@dataclass(frozen=True)
class ShownRequest:
    """One request of a load. Times in ms from the start of the load; `phases_ms` in the order of PHASES, None without
    a HAR. `status` is "200 OK" or what of it is known, `bytes` what came over the network, None when unknown.
    `answer` is the kind of answer it got when that was not the recorded one: stand-in, missing, failed. `entry` is its
    place in the HAR, -1 without one.
    """

    url: str
    start_ms: float
    end_ms: float
    phases_ms: tuple[float, ...] | None = None
    status: str = ""
    bytes: int | None = None
    connection: str = ""
    error: str = ""
    answer: str = ""
    entry: int = -1


def read_entries(load: LoadResult) -> list[dict[str, Any]]:
    """Return the entries of the load's HAR, in order of their start; [] without a HAR that can be read."""
    try:
        return list(read_har(load)["entries"])
    except UnreadableFileError:
        return []


def entry_url(entry: dict[str, Any]) -> str:
    """Return the URL a HAR's entry asked for, "" if it says none."""
    return _text(entry, "request", "url")


def finite(value: object) -> float | None:
    """Return `value` from JSON as a number, None if it is not a number."""
    return float(value) if isinstance(value, int | float) else None


def dictionary(value: object) -> dict[str, Any]:
    """Return `value` if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def shown_requests(shown: ShownLoad) -> list[ShownRequest]:
    """Return the requests of a load in the order of `shown.requests`, with what its HAR knows of each.

    A HAR's entry belongs to the text log's transaction of the same URL. If there are several, they are paired in order
    of their start. The log has none of what was not over when the load ended.
    """
    entries: dict[str, list[tuple[int, dict[str, Any] | None]]] = defaultdict(list)
    for place, entry in sorted(enumerate(read_entries(shown.load)), key=lambda found: _started(found[1])):
        if entry.get("_error") != UNFINISHED:
            entries[entry_url(entry)].append((place, entry))
    statuses = _logged_statuses(shown.load)
    kinds = _answer_kinds(shown.load)
    rows = []
    for transaction in shown.requests:
        of_url, kinds_of_url = entries[transaction.url], kinds[transaction.url]
        place, own = of_url.pop(0) if of_url else (-1, None)
        row = _request(transaction, own, statuses.get(transaction.url, ""))
        of_a_server = own is None or "_fromCache" not in own    # what Chrome's cache gave stands in no list of answers
        kind = kinds_of_url.pop(0) if of_a_server and kinds_of_url else ""
        rows.append(replace(row, answer=kind, entry=place))
    return rows


def _answer_kinds(load: LoadResult) -> dict[str, list[str]]:
    """Return for each URL how its requests were answered that ended, in their order; "" for the recorded answer."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for answer in load.record.answers.each if load.record and load.record.answers else ():
        if answer.error == UNFINISHED:
            continue
        kinds[answer.url].append("" if answer.kind == "exact" else answer.kind)
    return kinds


def _request(transaction: Transaction, entry: dict[str, Any] | None, logged_status: str) -> ShownRequest:
    if entry is None:
        return ShownRequest(transaction.url, transaction.start_ms, transaction.end_ms, status=logged_status)
    error = _text(entry, "_error") or ("from cache" if "_fromCache" in entry else "")
    status = " ".join(_text(entry, "response", key) for key in ("status", "statusText")).strip()
    size = dictionary(entry.get("response")).get("bodySize")
    return ShownRequest(
        transaction.url, transaction.start_ms, transaction.end_ms, _phases(dictionary(entry.get("timings"))),
        "" if status.startswith("0") else status, size if isinstance(size, int) and size >= 0 else None,
        _text(entry, "connection"), error)


def _phases(timings: dict[str, Any]) -> tuple[float, ...]:
    """Lengths in the order of PHASES, in ms. HAR 1.2, 4.2.16: -1 is "does not apply", and connect includes ssl."""
    known = {name: timings.get(timing) for name, timing in TIMINGS.items()}
    lengths = {name: max(finite(value) or 0.0, 0.0) for name, value in known.items()}
    lengths["connect"] = max(lengths["connect"] - lengths["tls"], 0.0)
    return tuple(lengths[name] for name in PHASES)


def _logged_statuses(load: LoadResult) -> dict[str, str]:
    try:
        return {response.url: response.status for response in read_log(load.log).responses}
    except UnreadableFileError:
        return {}


def _started(entry: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(_text(entry, "startedDateTime")).timestamp()
    except ValueError:
        return 0.0


def _text(entry: dict[str, Any], *keys: str) -> str:
    value: object = entry
    for key in keys:
        value = dictionary(value).get(key)
    return "" if value is None else str(value)
