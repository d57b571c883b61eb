"""What the requests of a load got: Chrome's side (the HAR) and the servers' (their logs) put together.

A request is looked for in its server's log by scheme, host, method, path and query. When several have these in common,
the status and size of the answer decide; when these are the same, too, the first that was sent is taken for the first
that was served. (Requests that are sent at once over several connections, such as GraphQL queries, come in any order.)
What got no answer of such a size, since the page took it back half way, is one of those that are left.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from http import HTTPStatus

from harness.analysis.asked_for import kind_of
from harness.files.exchange import BLOCKED_BY, UNFINISHED, UNKNOWN, Exchange, Fate, Place, Request, place_of
from harness.files.har import LoadLog
from harness.files.load_parts import JUDGED, AnswerKind, ReceivedAnswer, ReceivedAnswers
from harness.files.moments import EPOCH
from harness.files.server_log import FoundAs, ServerRequest

CLOCK_S = 0.005
"""So far the clocks of Chrome's side and of the servers may be apart."""
Key = tuple[Place, str]
"""Where a request goes, and its method."""


def received_answers(log: LoadLog, requests: Iterable[ServerRequest], critical: Collection[int] | None, *,
                     silent: Collection[tuple[str, str]] = ()) -> ReceivedAnswers:
    """Return what each request of a load got.

    `critical` are the places in the `log` of
    those on the critical path, None when that is not known: their URLs would not do, since all of a page's GraphQL
    queries have one. `silent` are the schemes and hosts that did not answer when the page was recorded.
    """
    since_s = log.began.timestamp() - CLOCK_S       # before that an earlier document may have asked for something
    served: dict[Key, list[ServerRequest]] = defaultdict(list)
    sent: dict[Key, str] = {}
    for request in sorted(requests, key=lambda request: request.time_s):
        if request.found != FoundAs.SILENT:
            key = Place(request.scheme, request.host, request.path), request.method
            sent[key] = "" if request.found == FoundAs.MISSING else request.answer
            if request.time_s >= since_s:
                served[key].append(request)
    in_order = sorted(enumerate(log.exchanges), key=lambda numbered: _sent_ms(numbered[1]))
    answered = _answered(in_order, served)
    each = [_answer(exchange, answered.get(number), silent, critical=None if critical is None else number in critical)
            for number, exchange in in_order if not exchange.from_cache]
    from_cache = [sent.get(_key(exchange.request), "") for _, exchange in in_order
                  if exchange.from_cache and exchange.fate is not Fate.AFTER_LOAD]
    counted = [answer for answer in each if answer.is_one_of(JUDGED)]
    counts = Counter(answer.kind for answer in counted if not answer.expected)
    return ReceivedAnswers(counts["exact"], counts["stand-in"], counts["missing"], counts["failed"], tuple(each),
                           from_cache=tuple(from_cache),
                           failed_as_recorded=sum(answer.expected for answer in counted))


def _answered(exchanges: Iterable[tuple[int, Exchange]], served: Mapping[Key, list[ServerRequest]]
              ) -> dict[int, ServerRequest]:
    """Return what the servers logged of exchanges, by their numbers: first of those whose status and size tell it."""
    asked = [(number, _key(exchange.request), (exchange.answer.status, exchange.answer.body_bytes))
             for number, exchange in exchanges
             if not exchange.from_cache and (exchange.connection or not exchange.error)]      # or it was never sent
    found: dict[int, ServerRequest] = {}
    for exactly in (True, False):
        for number, key, came in asked:
            left = [] if number in found else served.get(key, [])
            match = next((place for place, request in enumerate(left)
                          if not exactly or (request.status, request.bytes) == came), None)
            if match is not None:
                found[number] = left.pop(match)
    return found


def _answer(exchange: Exchange, served: ServerRequest | None, silent: Collection[tuple[str, str]], *,
            critical: bool | None) -> ReceivedAnswer:
    got, error = exchange.answer, exchange.error
    kind: AnswerKind = "exact"
    if served is not None and served.found == FoundAs.MISSING:
        kind = "missing"
    elif served is not None and served.stand_in:
        kind = "stand-in"
    if (not got.status or error not in ("", UNFINISHED)) and (kind == "exact" or not error.startswith(BLOCKED_BY)):
        kind = "failed"
    elif served is None and got.status == HTTPStatus.NOT_FOUND:      # the log may have had no room for it
        kind = "missing"
    place, _ = _key(exchange.request)
    of_silent = kind == "failed" and (place.scheme, place.host) in silent
    return ReceivedAnswer(
        expected=of_silent or (served is not None and served.found == FoundAs.UNANSWERED),
        url=exchange.request.url, kind=kind, identity=served.answer if served else "", status=got.status,
        bytes=max(0, got.content_bytes), critical=critical, purpose=kind_of(exchange), error=error,
        late=exchange.fate is Fate.AFTER_LOAD, wire_bytes=None if got.body_bytes == UNKNOWN else got.body_bytes)


def _sent_ms(exchange: Exchange) -> float:
    return (exchange.started or EPOCH).timestamp() * 1000 + exchange.phases.until_asked


def _key(asked: Request) -> Key:
    try:
        return place_of(asked.url), asked.method
    except ValueError:
        return Place("", "", asked.url), asked.method       # no server has it
