"""What stands beside a load's text log: its .json and .har. Either may be missing, or not be readable."""

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from harness.errors import InputError
from harness.figures import Drawn
from harness.logs import Transaction, read_log
from harness.results import LoadResult

PHASES = ("blocked", "dns", "connect", "tls", "send", "wait", "receive")
"""In the order a request goes through them. As HAR 1.2, but TLS is not counted as part of connect."""
TIMINGS = {"blocked": "blocked", "dns": "dns", "connect": "connect", "tls": "ssl", "send": "send", "wait": "wait",
           "receive": "receive"}


@dataclass(frozen=True)
class Request:
    """One request of a load. Times in ms from the start of the load; `phases_ms` in the order of PHASES, None without
    a HAR. `status` is "200 OK" or what of it is known, `bytes` what came over the network, None when unknown.
    """

    url: str
    start_ms: float
    end_ms: float
    phases_ms: tuple[float, ...] | None = None
    status: str = ""
    bytes: int | None = None
    connection: str = ""
    error: str = ""


def read_record(load: LoadResult) -> dict[str, Any]:
    """Return the load's .json as it is, {} when there is none that can be read (as for logs of 2013)."""
    return _read_object(load, ".json")


def read_entries(load: LoadResult) -> list[dict[str, Any]]:
    """Return the entries of the load's HAR, in order of their start; [] when there is none that can be read."""
    entries = dictionary(_read_object(load, ".har").get("log")).get("entries")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def entry_url(entry: dict[str, Any]) -> str:
    """Return the URL a HAR's entry asked for, "" if it says none."""
    return _text(entry, "request", "url")


def finite(value: object) -> float | None:
    """Return what JSON holds as a number, None if it is none, or one that is no amount of anything (NaN, Infinity)."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def dictionary(value: object) -> dict[str, Any]:
    """Return `value` if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def drawn_requests(drawn: Drawn) -> list[Request]:
    """Return the requests of a load in the order of `drawn.requests`, with what its HAR knows of each.

    A HAR's entry belongs to the text log's transaction of the same URL; of several, the first to start to the first.
    """
    entries: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in sorted(read_entries(drawn.load), key=_started):
        entries[entry_url(entry)].append(entry)
    statuses = _logged_statuses(drawn.load)
    return [_request(one, entries[one.url].pop(0) if entries[one.url] else None, statuses.get(one.url, ""))
            for one in drawn.requests]


def _request(one: Transaction, entry: dict[str, Any] | None, logged_status: str) -> Request:
    if entry is None:
        return Request(one.url, one.start_ms, one.end_ms, status=logged_status)
    error = _text(entry, "_error") or ("from cache" if "_fromCache" in entry else "")
    status = " ".join(_text(entry, "response", key) for key in ("status", "statusText")).strip()
    size = dictionary(entry.get("response")).get("bodySize")
    return Request(one.url, one.start_ms, one.end_ms, _phases(dictionary(entry.get("timings"))),
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
    except InputError:
        return {}


def _read_object(load: LoadResult, ending: str) -> dict[str, Any]:
    try:
        found = json.loads(load.log.with_name(f"{load.page}{ending}").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return dictionary(found)


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
