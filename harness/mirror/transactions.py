"""Makes the transactions of a recording from the logs of all pages: in order, each with an identity.

The identity of a transaction is the beginning of the SHA-256 of its method, scheme, host, path without volatile values
(harness.mirror.masks), and its number among the recorded transactions that have these in common. It does not depend on
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import takewhile

from harness.files.text_log import Response
from harness.mirror.answers import FILE_ANYWAY, BodyPart, RecordedAnswer, answer_of_exchange, answer_of_response
from harness.mirror.har import Exchange
from harness.mirror.masks import mask_target

IDENTITY_DIGITS = 12
"""Hexadecimal ones: 48 bits tell the transactions of a recording apart."""
Origin = tuple[str, str]
"""Scheme and host."""
Sequences = dict[Origin, dict[str, tuple[RecordedAnswer, ...]]]
"""The recorded answers in recorded order: by scheme and host, then by path and query as in the URL, for methods other
than GET with the method before it (``POST /path``)."""


@dataclass(frozen=True)
class Logged:
    """A response or an exchange, as it is in a page's log; `target` is the URL's path, query and fragment."""

    page: str
    origin: Origin
    target: str
    method: str
    entry: Response | Exchange
    after_load: bool = False
    """Of a response: whether its log says that it was asked for after the load event. An exchange says so itself."""

    @property
    def key(self) -> str:
        """The key of its URL and method in `Sequences`."""
        return answer_key(self.method, self.target.partition("#")[0])

    @property
    def url(self) -> str:
        """Its URL without a fragment."""
        return f"{self.origin[0]}://{self.origin[1]}{self.target.partition('#')[0]}"


def answer_key(method: str, path_and_query: str) -> str:
    """Return the key of `Sequences` under which the answers to a request are found.

    Browsers send some methods as scripts write them (``patch``), and HARs may have any of them so.
    """
    return path_and_query if method.upper() == "GET" else f"{method.upper()} {path_and_query}"


def identity(method: str, origin: Origin, path_and_query: str, number: int) -> str:
    """Return the identity of a transaction, the `number`th from 0 of its method, scheme, host and path."""
    path = mask_target(path_and_query.partition("?")[0].partition("#")[0])
    return _digest(f"{method} {origin[0]}://{origin[1]}{path} {number}")


def file_identity(origin: Origin, file: str) -> str:
    """Return the identity of the answer for a file that no log has a transaction of."""
    return _digest(f"{origin[0]}://{origin[1]} file {file}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:IDENTITY_DIGITS]


def sequences(logged: Iterable[Logged], files: dict[str, frozenset[str]]) -> Sequences:
    """Return the answers to each URL. `logged` is in recorded order; `files` has each host's files."""
    logged = list(logged)
    by_key: dict[tuple[Origin, str], list[Logged]] = {}
    for item in logged:
        by_key.setdefault((item.origin, item.key), []).append(item)
    kept = {id(item) for items in by_key.values() for item in _worth_replaying(items)}
    kept |= {id(item) for item in logged if isinstance(item.entry, Response)}   # other pages' HARs do not tell of it
    confirmed = Counter(place for items in by_key.values() for place in _confirmed(items, kept))
    tells = {item.page for item in logged if isinstance(item.entry, Exchange) and item.entry.asked.navigation}
    numbers: Counter[str] = Counter()
    found: dict[Origin, dict[str, list[RecordedAnswer]]] = {}
    for item in logged:
        if id(item) not in kept:
            continue
        of_host = files.get(item.origin[1], frozenset())
        answer = (answer_of_exchange(item.entry, item.target, of_host) if isinstance(item.entry, Exchange)
                  else answer_of_response(item.entry, item.target, of_host))
        if isinstance(item.entry, Exchange) and item.entry.part:
            parts = _parts(by_key[item.origin, item.key], of_host, item.entry.part[1])
            answer = dataclasses.replace(answer, parts=parts)
        counted = identity(item.method, item.origin, item.target, 0)
        name = identity(item.method, item.origin, item.target, numbers[counted])
        numbers[counted] += 1
        found.setdefault(item.origin, {}).setdefault(item.key, []).append(
            dataclasses.replace(answer, identity=name, url=item.url, page=item.page,
                                after_load=answer.after_load or item.after_load,
                                wait_ms=item.entry.wait_ms if isinstance(item.entry, Exchange) else None,
                                confirmed=confirmed[id(item)],
                                asked=dataclasses.replace(answer.asked, tells_navigations=item.page in tells)))
    return {origin: {key: tuple(answers) for key, answers in of_origin.items()} for origin, of_origin in found.items()}


def _confirmed(items: list[Logged], kept: set[int]) -> Iterator[int]:
    """Yield, for each 304 of one URL and method that is left out, which answer (its id) it said to hold still."""
    last: Logged | None = None
    for item in items:
        if id(item) in kept:
            last = item
        elif isinstance(item.entry, Exchange) and item.entry.status == HTTPStatus.NOT_MODIFIED \
                and last and last.page == item.page:
            yield id(last)


def _parts(items: list[Logged], files: frozenset[str], total: int) -> tuple[BodyPart, ...]:
    """Return the recorded parts of a body of `total` bytes."""
    exchanges = [item.entry for item in items if isinstance(item.entry, Exchange)]
    return tuple(BodyPart(exchange.part[0], total, exchange.file) for exchange in exchanges
                 if exchange.part and exchange.part[1] == total and exchange.file in files and exchange.file)


def _beside_parts(exchanges: list[tuple[Logged, Exchange]]) -> list[tuple[Logged, Exchange]]:
    """Return a page's errors from before its first part of a body that never came whole, and its last part.

    Who asks for what lies behind the end hears so (416) from the parts, too. A page that got errors only keeps them.
    """
    parts = [pair for pair in exchanges if pair[1].part and pair[1].file]
    before = takewhile(lambda pair: not parts or pair is not parts[0], exchanges)
    errors = [(item, exchange) for item, exchange in before
              if exchange.status >= HTTPStatus.BAD_REQUEST and not (exchange.failed or exchange.from_cache)]
    return [*errors, *parts[-1:]]


def _worth_replaying(items: list[Logged]) -> list[Logged]:
    """Return which of the exchanges of one URL and method are replayed, see the module."""
    exchanges = [(item, item.entry) for item in items if isinstance(item.entry, Exchange)]
    whole = [pair for pair in exchanges if pair[1].status and not pair[1].failed]
    whole = [pair for pair in whole if not pair[1].from_cache] or whole
    redirects = [item for item, exchange in whole if exchange.redirect_url is not None]
    final = [pair for pair in whole if pair[1].redirect_url is None]
    full = [pair for pair in final if pair[1].status not in FILE_ANYWAY]
    parts = [pair for pair in exchanges if pair[1].part and pair[1].file]
    if full and parts and all(exchange.status >= HTTPStatus.BAD_REQUEST for _, exchange in full):
        full = [pair for page in dict.fromkeys(item.page for item, _ in exchanges)
                for pair in _beside_parts([pair for pair in exchanges if pair[0].page == page])]
    full = full or final[-1:]
    if full:
        # To compare them takes long: there may be thousands.
        wanted = {id(item) for item in (*(item for item, _ in full), *redirects)}
        return [item for item, exchange in exchanges if id(item) in wanted or exchange.hung]
    answered = [item for item, exchange in exchanges if exchange.status]
    hung = [item for item, exchange in exchanges if exchange.hung]
    return redirects or answered[-1:] or hung or [item for item, _ in exchanges[-1:]]
