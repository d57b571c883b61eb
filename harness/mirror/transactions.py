"""Makes the transactions of a recording from the exchanges of all pages: in order, each with an identity.

The identity of a transaction is the beginning of the SHA-256 of its method, scheme, host, path without volatile values
(harness.mirror.alike), and its number among the recorded transactions that have these in common. It does not depend on
the query, is the same whenever the recording is read, and is written to the servers' logs.

An exchange is left out if another one can take its place: if it failed and the same URL came whole at another time; if
it is a 304 or a part and the whole body came, too; if it is an error after its page's parts of a body that never came
whole; and if the browser took the answer from its cache. One that hung until the page was closed stays: a page that
polls waited for it. How many 304 came after an answer is kept with it: a page that polls until there is something new
asked so often.
"""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import takewhile

from harness.files.exchange import Exchange, Place
from harness.mirror.alike import mask_target
from harness.mirror.answers import (
    FILE_ANYWAY,
    PARTIAL,
    RecordedAnswer,
    answer_of,
    hung,
    is_answered,
    part_of,
    redirect_of,
)
from harness.mirror.asked import asked_of
from harness.mirror.exchanges import PageExchanges, replayed_place
from harness.mirror.live import first_message_s
from harness.mirror.polls import long_polls

IDENTITY_DIGITS = 12
"""Hexadecimal ones: 48 bits tell the transactions of a recording apart."""
Origin = tuple[str, str]
"""Scheme and host."""
Key = tuple[str, str]
"""Method, and path and query as in the URL."""
Sequences = dict[Origin, dict[Key, tuple[RecordedAnswer, ...]]]
"""The recorded answers in recorded order: by scheme and host, then by method, path and query."""


@dataclass(frozen=True)
class Item:
    """An exchange with its URL's key, and what its page's other exchanges tell of it."""

    exchange: Exchange
    place: Place
    load_event_s: float
    after_message: bool
    """Whether a live connection had told the page something before."""
    hung: bool
    slow_ms: float
    """Of a long poll."""

    @property
    def origin(self) -> Origin:
        """Scheme and host."""
        return self.place.scheme, self.place.host

    @property
    def key(self) -> tuple[Origin, Key]:
        """Where its answer is found."""
        return self.origin, (self.exchange.request.method, self.place.target)

    @property
    def is_whole(self) -> bool:
        """Whether all of an answer came."""
        return is_answered(self.exchange) and not self.exchange.failed


def items_of(page: PageExchanges) -> list[Item]:
    """Return the exchanges of a page over http and https."""
    told_s, slow_ms = first_message_s(page.exchanges), long_polls(page.exchanges)
    found = []
    for exchange in page.exchanges:
        place = replayed_place(exchange)
        if place is None or exchange.answer.messages is not None:
            continue
        told = exchange.after_message
        if told is None:
            told = exchange.started is not None and exchange.started.timestamp() > told_s
        found.append(Item(exchange, place, page.load_event_s, told, hung(exchange, asked_of(exchange.request)),
                          slow_ms.get(id(exchange), 0.0)))
    return found


def identity(method: str, origin: Origin, path_and_query: str, number: int) -> str:
    """Return the identity of a transaction, the `number`th from 0 of its method, scheme, host and path."""
    path = mask_target(path_and_query.partition("?")[0].partition("#")[0])
    return _digest(f"{method} {origin[0]}://{origin[1]}{path} {number}")


def file_identity(origin: Origin, file: str) -> str:
    """Return the identity of the answer for a file that no exchange names."""
    return _digest(f"{origin[0]}://{origin[1]} file {file}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:IDENTITY_DIGITS]


def sequences(items: Sequence[Item]) -> Sequences:
    """Return the answers to each URL and method, of exchanges in recorded order."""
    by_key: dict[tuple[Origin, Key], list[Item]] = {}
    for item in items:
        by_key.setdefault(item.key, []).append(item)
    kept = {id(item) for of_key in by_key.values() for item in _worth_replaying(of_key)}
    confirmed = Counter(place for of_key in by_key.values() for place in _confirmed(of_key, kept))
    tells = {item.exchange.page for item in items if asked_of(item.exchange.request).navigation}
    numbers: Counter[str] = Counter()
    found: dict[Origin, dict[Key, list[RecordedAnswer]]] = {}
    for item in items:
        if id(item) not in kept:
            continue
        part = part_of(item.exchange)
        of_body = [each for other in by_key[item.key] if (each := part_of(other.exchange)) and
                   (part is None or each.total == part.total)] if item.exchange.answer.status == PARTIAL else []
        answer = answer_of(item.exchange, item.place, item.load_event_s, of_body)
        origin, key = item.key
        counted = identity(key[0], origin, key[1], 0)
        name = identity(key[0], origin, key[1], numbers[counted])
        numbers[counted] += 1
        found.setdefault(origin, {}).setdefault(key, []).append(dataclasses.replace(
            answer, identity=name, after_message=item.after_message, slow_ms=item.slow_ms,
            confirmed=confirmed[id(item)],
            asked=dataclasses.replace(answer.asked, tells_navigations=item.exchange.page in tells)))
    return {origin: {key: tuple(answers) for key, answers in of_origin.items()} for origin, of_origin in found.items()}


def _confirmed(items: list[Item], kept: set[int]) -> Iterator[int]:
    """Yield, for each 304 of one URL and method that is left out, which answer (its id) it said to hold still."""
    last: Item | None = None
    for item in items:
        if id(item) in kept:
            last = item
        elif item.exchange.answer.status == HTTPStatus.NOT_MODIFIED and last \
                and last.exchange.page == item.exchange.page:
            yield id(last)


def _beside_parts(items: list[Item]) -> list[Item]:
    """Return a page's errors from before its first part of a body that never came whole, and its last part.

    Who asks for what lies behind the end hears so (416) from the parts, too. A page that got errors only keeps them.
    """
    parts = [item for item in items if part_of(item.exchange)]
    before = takewhile(lambda item: not parts or item is not parts[0], items)
    errors = [item for item in before if item.exchange.answer.status >= HTTPStatus.BAD_REQUEST
              and item.is_whole and not item.exchange.from_cache]
    return [*errors, *parts[-1:]]


def _worth_replaying(items: list[Item]) -> list[Item]:
    """Return which of the exchanges of one URL and method are replayed, see the module."""
    whole = [item for item in items if item.is_whole]
    whole = [item for item in whole if not item.exchange.from_cache] or whole
    redirects = [item for item in whole if redirect_of(item.exchange) is not None]
    final = [item for item in whole if redirect_of(item.exchange) is None]
    full = [item for item in final if item.exchange.answer.status not in FILE_ANYWAY]
    has_parts = any(part_of(item.exchange) for item in items)
    if full and has_parts and all(item.exchange.answer.status >= HTTPStatus.BAD_REQUEST for item in full):
        full = [item for page in dict.fromkeys(item.exchange.page for item in items)
                for item in _beside_parts([item for item in items if item.exchange.page == page])]
    full = full or final[-1:]
    if full:
        # To compare them takes long: there may be thousands.
        wanted = set(map(id, (*full, *redirects)))
        return [item for item in items if id(item) in wanted or item.hung]
    answered = [item for item in items if is_answered(item.exchange)]
    return redirects or answered[-1:] or [item for item in items if item.hung] or items[-1:]
