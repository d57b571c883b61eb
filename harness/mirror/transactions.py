"""Makes the transactions of a recording from the exchanges of all pages: in order, each with an identity.

The identity of a transaction is the beginning of the SHA-256 of its method, scheme, host, path without volatile values
(harness.mirror.alike), and its number among the recorded transactions that have these in common. It does not depend on
the query, is the same whenever the recording is read, and is written to the servers' logs.

An exchange is left out if another one can take its place: see `_worth_replaying`. How many 304 came after an answer is
kept with it: a page that polls until there is something new asked so often.

Long polls are requests of scripts that a site answered only when it had something to say, whatever --think says. A page
asks again as soon as such an answer is there. Answered at once it would ask hundreds of times a second, as Socket.IO
does. So a long poll takes as long as it did, and one that the recording has no answer to is left open
(harness.replay.site). What else a server took its time for is thinking, which tfo.py --think decides about.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from statistics import median

from harness.files.exchange import Answer, Body, Exchange, Place, Request
from harness.files.headers import EVENT_STREAM
from harness.files.server_log import FoundAs
from harness.mirror.alike import mask_target
from harness.mirror.answers import (
    FILE_ANYWAY,
    PARTIAL,
    BodyPart,
    Recorded,
    as_sent,
    hung,
    is_answered,
    part_of,
    redirect_of,
)
from harness.mirror.asked import asked_of
from harness.mirror.exchanges import PageExchanges, replayed_place
from harness.mirror.live import first_message_s
from harness.mirror.paths import target_of

IDENTITY_DIGITS = 12
"""Hexadecimal ones: 48 bits tell the transactions of a recording apart."""
Origin = tuple[str, str]
"""Scheme and host."""
Key = tuple[str, str]
"""Method, and path and query as in the URL."""
Sequences = dict[Origin, dict[Key, list[Recorded]]]
"""The recorded answers in recorded order: by scheme and host, then by method, path and query."""
SLOW_MS = 500.0
"""What takes less, beyond the round trip, keeps a page from asking more often than twice a second."""
SLOW_RATIO = 5.0
"""A long poll takes so many times as long as the page's other answers: some sites are slow throughout."""
OF_PARTS = ("image/", "text/css", "font/", "text/javascript", "application/javascript", "application/x-javascript")
"""How the types begin of what pages themselves are made of."""


def recorded_of(page: PageExchanges) -> list[Recorded]:
    """Return the exchanges of a page over http and https."""
    told_s, slow_ms = first_message_s(page.exchanges), long_polls(page.exchanges)
    tells = any(asked_of(exchange.request).navigation for exchange in page.exchanges)
    found = []
    for exchange in page.exchanges:
        place = replayed_place(exchange)
        if place is None or exchange.answer.messages is not None:
            continue
        asked = asked_of(exchange.request, tells_navigations=tells)
        answer = as_sent(exchange, page.load_event_s)
        told = exchange.after_message
        if told is None:
            told = exchange.started is not None and exchange.started.timestamp() > told_s
        how = (FoundAs.UNANSWERED if not is_answered(exchange) else FoundAs.REDIRECT if answer.redirect_url
               else FoundAs.PLAIN if answer.status == 200 else FoundAs.STATUS)
        found.append(Recorded(exchange, place, answer, asked, how, hung(exchange, asked),
                              slow_ms.get(id(exchange), 0.0), told))
    return found


def sequences(items: Sequence[Recorded]) -> Sequences:
    """Return the answers to each URL and method that are replayed, of what was recorded in this order."""
    by_key: dict[tuple[Place, str], list[Recorded]] = defaultdict(list)
    for item in items:
        by_key[item.place, item.method].append(item)
    kept = {id(item): of_key for of_key in by_key.values() for item in _worth_replaying(of_key)}
    confirmed = Counter(item for of_key in by_key.values() for item in _confirmed(of_key, kept))
    numbers: Counter[str] = Counter()
    found: Sequences = {}
    for number, item in enumerate(items):
        if id(item) not in kept:
            continue
        counted = identity(item.method, item.place)
        found.setdefault(item.origin, {}).setdefault((item.method, item.place.target), []).append(replace(
            item, identity=identity(item.method, item.place, numbers[counted]), number=number,
            confirmed=confirmed[id(item)], parts=_parts_with(item, kept[id(item)])))
        numbers[counted] += 1
    return found


def unnamed(origin: Origin, names: Iterable[str], first: int) -> Iterator[Recorded]:
    """Give an answer for each file of a host that no exchange names, numbered from `first`.

    Mirrors of 2013's format have many. Its URL is what its name says. Of what goes by the MD5 of its URL that is not
    known: who asks for a URL of this MD5 gets it (harness.mirror.recording).
    """
    for number, name in enumerate(sorted(names), start=first):
        place = Place(*origin, target_of(name))
        answer = Answer(200, headers=None, body=Body(f"{origin[1]}/{name}"))
        yield Recorded(Exchange(request=Request("GET", place.url)), place, answer, found=FoundAs.PLAIN, number=number,
                       identity=_digest(f"{origin[0]}://{origin[1]} file {name}"))


def identity(method: str, place: Place, number: int = 0) -> str:
    """Return the identity of a transaction, the `number`th from 0 of its method, scheme, host and path."""
    path = mask_target(place.target.partition("?")[0])
    return _digest(f"{method} {place.scheme}://{place.host}{path} {number}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:IDENTITY_DIGITS]


def _parts_with(item: Recorded, of_key: Sequence[Recorded]) -> tuple[BodyPart, ...]:
    """Return the parts of the body that an answer has a part of; all of those where nobody knows how large it is."""
    if item.exchange.answer.status != PARTIAL:
        return ()
    own = part_of(item.exchange)
    parts = (part_of(other.exchange) for other in of_key)
    return tuple(part for part in parts if part and (own is None or part.total == own.total))


def _confirmed(items: Sequence[Recorded], kept: Container[int]) -> Iterator[int]:
    """Yield, for each 304 of one URL and method that is left out, which answer (its id) it said to hold still."""
    last: Recorded | None = None
    for item in items:
        if id(item) in kept:
            last = item
        elif item.exchange.answer.status == HTTPStatus.NOT_MODIFIED and last and last.page == item.page:
            yield id(last)


def _worth_replaying(items: Sequence[Recorded]) -> list[Recorded]:
    """Return which of the exchanges of one URL and method are replayed: what came whole, and what hung.

    Answers from the browser's cache only where no other came whole. Where no body came whole, the last part of it that
    a page got, or else the last 304; without any of these the last that was answered, or the last. An error after a
    page's first part is left out: who asks for what lies behind the end hears so (416) from the parts, too.
    """
    whole = [item for item in items if is_answered(item.exchange) and not item.exchange.failed]
    fresh = {id(item): item for item in whole if not item.exchange.from_cache} or {id(item): item for item in whole}
    parts, kept = dict[str, Recorded](), list[Recorded]()
    for item in items:
        is_error = item.exchange.answer.status >= HTTPStatus.BAD_REQUEST
        if part_of(item.exchange):
            parts[item.page] = item
        elif item.hangs or (id(item) in fresh and item.exchange.answer.status not in FILE_ANYWAY
                            and not (is_error and item.page in parts)):
            kept.append(item)
    bodies = [item for item in kept if not (item.redirect_url or item.hangs)]
    if all(item.status >= HTTPStatus.BAD_REQUEST for item in bodies):
        kept += parts.values()
        if not (parts or bodies):
            kept += [item for item in fresh.values() if not item.redirect_url][-1:]
    if all(item.hangs for item in kept):
        kept += [item for item in items if is_answered(item.exchange)][-1:]
    return kept or [*items[-1:]]


def long_polls(exchanges: Sequence[Exchange]) -> dict[int, float]:
    """Return the long polls among the exchanges of a page by their `id`, and how long the site let each wait, in ms.

    The round trip, as long as its connection's handshake, is taken off.
    """
    waits = {id(exchange): exchange.phases.wait - (exchange.handshake_ms or 0.0) for exchange in exchanges
             if is_answered(exchange) and exchange.phases.wait >= 0 and not exchange.from_cache}
    slow = {id(exchange): waits[id(exchange)] for exchange in exchanges
            if waits.get(id(exchange), 0.0) >= SLOW_MS and _is_of_a_script(exchange)}
    others = [wait_ms for key, wait_ms in waits.items() if key not in slow]
    usual_ms = median(others) if others else 0.0
    return {key: wait_ms for key, wait_ms in slow.items() if wait_ms >= SLOW_RATIO * usual_ms}


def _is_of_a_script(exchange: Exchange) -> bool:
    """Say whether a script asked (fetch). Over http, where Chrome says no purpose, what is accepted and what came tell.

    What a recording without the requests' headers has is none.
    """
    asked = asked_of(exchange.request)
    if asked.navigation or exchange.request.method == "OPTIONS" or redirect_of(exchange):
        return False
    kind = exchange.answer.header("content-type").lower()
    purpose, accept = (asked.headers.get(name, "") for name in ("sec-fetch-dest", "accept"))
    if kind.startswith(EVENT_STREAM):
        return False
    return purpose == "empty" if purpose else bool(accept) and not (accept.startswith(OF_PARTS)
                                                                    or kind.startswith(OF_PARTS))
