"""What the requests of a load got: Chrome's side (the HAR) and the servers' (their logs) put together.

A request is looked for in its server's log by scheme, host, method, path and query. When several have these in common,
the status and size of the answer decide; when these are the same, too, the first that was sent is taken for the first
that was served. (Requests that are sent at once over several connections, such as GraphQL queries, come in any order.)
What got no answer of such a size, since the page took it back half way, is one of those that are left.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from harness.analysis.timeline import kind_of
from harness.files.exchange import BLOCKED_BY, UNFINISHED, UNKNOWN
from harness.files.load_event import LoadEvent
from harness.files.load_parts import JUDGED, AnswerKind, ReceivedAnswer, ReceivedAnswers
from harness.files.server_log import FoundAs, ServerRequest

OF_WEBSOCKETS = (HTTPStatus.SWITCHING_PROTOCOLS, HTTPStatus.NOT_IMPLEMENTED)
"""What a WebSocket is answered that was recorded, and one that was not."""
CLOCK_S = 0.005
"""So far the clocks of Chrome's side and of the servers may be apart."""
Key = tuple[str, str, str, str]


def received_answers(entries: Sequence[dict[str, Any]], began: datetime,
                     load_event: LoadEvent | None, requests: Iterable[ServerRequest],
                     critical: Collection[int] | None, *, silent: Collection[tuple[str, str]] = ()
                     ) -> ReceivedAnswers:
    """Return what each request of a HAR's `entries` got in the load that began at `began`.

    Without a `load_event` (in ms from then) all requests count. `critical` are the places in `entries` of those on the
    critical path, None when that is not known: their URLs would not do, since all of a page's GraphQL queries have one.
    `silent` are the schemes and hosts that did not answer when the page was recorded.
    """
    served: dict[Key, list[ServerRequest]] = defaultdict(list)
    sent: dict[Key, str] = {}
    refused = []
    for request in sorted(requests, key=lambda request: request.time_s):
        is_of_the_shown = request.time_s >= began.timestamp() - CLOCK_S     # not what an earlier document asked for
        if request.found == FoundAs.LIVE and request.status in OF_WEBSOCKETS:    # of which Chrome's HAR says nothing
            if request.status == HTTPStatus.NOT_IMPLEMENTED and is_of_the_shown:
                refused.append(_refused(request, began, load_event))
        elif request.found != FoundAs.SILENT:
            key = request.scheme, request.host, request.method, request.path
            if is_of_the_shown:
                served[key].append(request)
            sent[key] = "" if request.found == FoundAs.MISSING else request.answer
    each, from_cache = [], []
    in_order = sorted(enumerate(entries), key=lambda numbered: _sent_ms(numbered[1]))
    answered = _answered(in_order, served)
    for place, entry in in_order:
        late = bool(entry.get("_afterLoad"))
        if entry.get("_fromCache"):
            from_cache += [] if late else [sent.get(_key(entry["request"]), "")]
            continue
        answer = answered.get(place)
        is_critical = None if critical is None else place in critical
        each.append(_answer(entry, answer, silent, critical=is_critical, late=late))
    each += refused
    counted = [answer for answer in each if answer.is_one_of(JUDGED)]
    counts = Counter(answer.kind for answer in counted if not answer.expected)
    return ReceivedAnswers(counts["exact"], counts["stand-in"], counts["missing"], counts["failed"], tuple(each),
                           from_cache=tuple(from_cache),
                           failed_as_recorded=sum(answer.expected for answer in counted))


def _answered(entries: Iterable[tuple[int, dict[str, Any]]], served: Mapping[Key, list[ServerRequest]]
              ) -> dict[int, ServerRequest]:
    """Return what the servers logged of `entries`, by their numbers: first of those whose status and size tell it."""
    asked = [(place, _key(entry["request"]), (entry["response"]["status"], entry["response"].get("bodySize", UNKNOWN)))
             for place, entry in entries if not (entry.get("_fromCache") or _never_sent(entry))]
    found: dict[int, ServerRequest] = {}
    for exactly in (True, False):
        for place, key, came in asked:
            left = [] if place in found else served.get(key, [])
            match = next((number for number, request in enumerate(left)
                          if not exactly or (request.status, request.bytes) == came), None)
            if match is not None:
                found[place] = left.pop(match)
    return found


def _answer(entry: dict[str, Any], served: ServerRequest | None, silent: Collection[tuple[str, str]], *,
            critical: bool | None, late: bool) -> ReceivedAnswer:
    asked, got, error = entry["request"], entry["response"], str(entry.get("_error", ""))
    kind: AnswerKind = "exact"
    if served is not None and served.found == FoundAs.MISSING:
        kind = "missing"
    elif served is not None and served.stand_in:
        kind = "stand-in"
    if (not got["status"] or error not in ("", UNFINISHED)) and (kind == "exact" or not error.startswith(BLOCKED_BY)):
        kind = "failed"
    elif served is None and got["status"] == HTTPStatus.NOT_FOUND:      # the log may have had no room for it
        kind = "missing"
    of_silent = kind == "failed" and _key(asked)[:2] in silent
    return ReceivedAnswer(
        expected=of_silent or (served is not None and served.found == FoundAs.UNANSWERED),
        url=str(asked["url"]), kind=kind, identity=served.answer if served else "", status=max(0, int(got["status"])),
        bytes=max(0, int(got["content"]["size"])), critical=critical,
        purpose=kind_of(entry), error=error, late=late, wire_bytes=_known(got.get("bodySize", UNKNOWN)))


def _known(size: Any) -> int | None:
    return None if int(size) == UNKNOWN else max(0, int(size))


def _refused(request: ServerRequest, began: datetime, load_event: LoadEvent | None) -> ReceivedAnswer:
    """Return the answer to a WebSocket that the recording does not have, and that the server therefore refused."""
    scheme = "wss" if request.scheme == "https" else "ws"
    late = load_event is not None and load_event.is_late((request.time_s - began.timestamp()) * 1000, None)
    return ReceivedAnswer(url=f"{scheme}://{request.host}{request.path}", kind="stand-in", status=request.status,
                          purpose="websocket", late=late)


def _never_sent(entry: dict[str, Any]) -> bool:
    """Tell whether it failed before it had a connection: no server can have seen it."""
    return bool(entry.get("_error")) and not entry.get("connection")


def _sent_ms(entry: dict[str, Any]) -> float:
    before_ms = sum(max(0.0, float(entry["timings"][part])) for part in ("blocked", "dns", "connect"))
    return datetime.fromisoformat(entry["startedDateTime"]).timestamp() * 1000 + before_ms


def _key(asked: dict[str, Any]) -> Key:
    parts = urlsplit(str(asked["url"]))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query or str(asked["url"]).endswith("?") else "")
    return parts.scheme, parts.hostname or "", str(asked["method"]), target
