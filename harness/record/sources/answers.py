"""What an archive answers: its exchanges in the form that every kind of source is read into, and how they are found.

A request is answered, in this order, by what was recorded for

1. the same method, URL and body; of several the next in recorded order, and the last one from then on, for each page
   from its own document on (a HEAD by what was recorded for a GET, if for no HEAD);
2. the same with http for https or the other way round, and however its characters are encoded (``,`` or ``%2C``):
   archives file all of these under one name. A redirect from one of these to another does not lead to itself so;
3. the same URL, and the same body of a POST, but for volatile values (harness.mirror.alike): pages put the time of day
   into URLs, and Chrome's clock is fixed;
4. the same host and path, with the most in common otherwise (harness.mirror.alike): for a GET, and for a beacon's
   POST, whose answer has no body: which of several it gets is all the same, and each tells other times;
5. the same font or image in another format (harness.mirror.alike).

3 to 5 are stand-ins, and never redirect. The page itself is never answered by one, a frame in it only by 3. A
navigation (the page, a frame) is answered only by what answered one when it was recorded, as far as the source knows
that; all else rather by what did not. Of answers that are parts of a body (206) only one answers that holds what is
asked for.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import islice

from harness.files.headers import REDIRECTS
from harness.files.urls import as_browsers_ask, decoded, document_url
from harness.mirror.alike import alike_path, in_common, mask_body, mask_target, may_be_in_another_format, without_format
from harness.mirror.live import LiveConnection
from harness.mirror.ranges import NotSatisfiableError
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.parts import Held, held_by, wanted_of

MOST_LOOKED_AT, MOST_DOCUMENTS = 200, 3
NOT_FOUND = "not in the archive"
"""The error of a request that a source has no answer to."""
BODY_MISSING = "in the archive without its body"
"""The error of one whose answer a HAR lists without its body, or with what its browser has left of it; or of which a
WARC says that it was the same as one before, which lies in another file."""
LACKING = frozenset((NOT_FOUND, BODY_MISSING))


@dataclass(frozen=True)
class Entry:
    """One exchange of a source, whose answer is read when it is asked for. `body_hash` is the request body's,
    `masked_hash` that of the body without its volatile values.

    `purpose` is whether its answer became a document (None where that is not known), and whether its browser said so.
    """

    method: str
    url: str
    status: int
    read: Callable[[], ArchivedAnswer]
    body_hash: str = ""
    purpose: tuple[bool | None, bool] = (None, False)
    masked_hash: str = ""
    origin: str = ""
    """The request's header Origin: whose scripts may read the answer."""

    @property
    def navigation(self) -> bool | None:
        """Whether its answer became a document, None where that is not known."""
        return self.purpose[0]

    @property
    def no_navigation(self) -> bool:
        """Whether its browser said that its answer would become no document."""
        return self.purpose == (False, True)


@dataclass
class _PageUnderWay:
    """What an index remembers while one page is loaded.

    `before` are the entries that were recorded before the page's document, by their `id`; `turns` how often something
    was asked for.
    """

    before: frozenset[int] = frozenset()
    turns: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def turn(self, *key: str) -> int:
        """Return how often `key` was asked for before, and count this time."""
        self.turns[key] += 1
        return self.turns[key] - 1


@dataclass
class Index:
    """All exchanges of one source, in recorded order."""

    entries: list[Entry] = field(default_factory=list)
    live: list[LiveConnection] = field(default_factory=list)
    without_body: Mapping[str, int] = field(default_factory=dict)
    """URLs of answers that are listed without their bodies, and are no exchanges therefore; with the bodies' sizes on
    the network in bytes, 0 where nobody knows."""
    remarks: Sequence[str] = ()
    """What could not be read of the source, one line each."""
    marks_navigations: bool = False
    """Whether the source says of some answer, one that it lacks perhaps, that it became a document."""
    _under_way: _PageUnderWay = field(default_factory=_PageUnderWay)
    _tables: dict[str, Mapping[tuple[str, ...], list[Entry]]] = field(default_factory=dict)
    _held: dict[int, Held | None] = field(default_factory=dict)
    """What the entries that are parts hold, by their `id`."""

    def begin_page(self, url: str) -> None:
        """Begin to answer for another page: what was recorded with it comes first, and nothing was asked for yet."""
        wanted = same_name(document_url(url))
        begins = (at for at, entry in enumerate(self.entries)
                  if entry.method == "GET" and same_name(entry.url) == wanted)
        at = next(begins, 0)
        self._under_way = _PageUnderWay(before=frozenset(map(id, self.entries[:at])))

    def find(self, request: ArchivedRequest) -> ArchivedAnswer | None:
        """Return the answer to `request`, None when there is none. Not for several threads at a time."""
        read = self.look_up(request)
        return read() if read is not None else None

    def look_up(self, request: ArchivedRequest) -> Callable[[], ArchivedAnswer] | None:
        """Return what reads the answer, which may take long (it is compressed), None when there is none."""
        methods = ("HEAD", "GET") if request.method == "HEAD" else (request.method,)
        url, body_hash = document_url(request.url), hash_of(request.body)
        exact = self._table("exact", lambda entry: (entry.method, entry.url, entry.body_hash))
        filed = self._table("filed", lambda entry: (entry.method, same_name(entry.url), entry.body_hash))
        for table, wanted in ((exact, url), (filed, same_name(url))):
            for key in ((method, wanted, body) for method in methods for body in (body_hash, "")):
                entries = table.get(key, [])
                if table is filed:
                    entries = [entry for entry in entries if not _leads_to(entry, url)]
                if found := self._fitting(entries, request):
                    return self._next((*key, str(request.navigation), request.origin), found)
        if request.navigation and not request.by_page:
            return None
        return self._stand_in(methods[-1], url, request)

    def _stand_in(self, method: str, url: str, request: ArchivedRequest) -> Callable[[], ArchivedAnswer] | None:
        """Return what was recorded for another URL and may answer all the same (3 to 5)."""
        masked = self._table("masked", lambda entry: (entry.method, mask(entry.url), entry.masked_hash))
        for body in (masked_hash_of(request.body), ""):
            key = (method, mask(url), body)
            if standing := self._fitting(_without_redirects(masked.get(key, [])), request):
                return _as_stand_in(self._next((*key, str(request.navigation), request.origin), standing))
        same_path = self._table("path", lambda entry: (entry.method, _alike_path(entry.url)))
        standing = _without_redirects(same_path.get((method, _alike_path(url)), []))
        if method == "GET":
            standing = self._holding(standing or self._in_another_format(url), request)
        else:
            standing = [entry for entry in standing if _says_nothing(entry)]
        if not standing or request.navigation:
            return None
        best = max(standing, key=lambda entry: in_common(_decoded_target(url), _decoded_target(entry.url)))
        return _as_stand_in(best.read)

    def find_live(self, url: str) -> LiveConnection | None:
        """Return the WebSocket that was opened with `url` (http or https), or with one that differs in its volatile
        values; of several the next in recorded order, and the last one from then on.
        """
        for alike in (str, mask):
            found = [live for live in self.live if alike(live.url) == alike(url)]
            if found:
                turn = self._under_way.turn("WebSocket", alike(url))
                return found[min(turn, len(found) - 1)]
        return None

    def _in_another_format(self, url: str) -> list[Entry]:
        """Return what holds the font or image asked for in another format than the one asked for."""
        form = _form(url)
        if form is None or not may_be_in_another_format(url_path(url)):
            return []
        return [entry for entry in self._table("form", lambda entry: (_form(entry.url) or "",)).get((form,), ())
                if entry.method == "GET" and entry.status == HTTPStatus.OK]

    def documents(self) -> list[str]:
        """Return the URLs of some HTML documents, as browsers would ask for them: the first in recorded order."""
        plain = (entry for entry in self.entries if entry.method == "GET" and entry.status == HTTPStatus.OK)
        html = (entry.url for entry in islice(plain, MOST_LOOKED_AT) if not entry.no_navigation and _is_html(entry))
        return list(islice(dict.fromkeys(html), MOST_DOCUMENTS))

    def _fitting(self, entries: list[Entry], request: ArchivedRequest) -> list[Entry]:
        """Return those that may answer: a navigation what answered one, all others rather what did not.

        Where no entry is known to be a navigation's, who recorded them marks none, as crawlers do: then what a browser
        calls something else is no navigation's, and everything else may be. What the same origin asked for comes first:
        another one may not read it (CORS).
        """
        entries = self._holding(entries, request)
        entries = [entry for entry in entries if entry.origin == request.origin] or entries
        if request.navigation:
            entries = [entry for entry in entries if not entry.no_navigation]
        marked = self._table("navigations", lambda entry: (str(entry.navigation),))
        if (str(True),) not in marked and not self.marks_navigations:
            return entries
        if request.navigation:
            return [entry for entry in entries if entry.navigation is not False]
        return [entry for entry in entries if not entry.navigation] or entries

    def _holding(self, entries: list[Entry], request: ArchivedRequest) -> list[Entry]:
        """Return those that may answer a request for these bytes: of parts the longest one that begins with them, or
        all of the others.
        """
        parts = [entry for entry in entries if entry.status == HTTPStatus.PARTIAL_CONTENT]
        others = [entry for entry in entries if entry.status != HTTPStatus.PARTIAL_CONTENT]
        if not parts or (others and not request.range):
            return others
        longest = max(parts, key=lambda entry: self._reach(entry, request))
        return [longest] if self._reach(longest, request) else others

    def _reach(self, entry: Entry, request: ArchivedRequest) -> int:
        """Return how far the bytes that a part has go from where `request` wants them; 0 when it lacks the first."""
        if id(entry) not in self._held:
            self._held[id(entry)] = held_by(entry.read())
        held = self._held[id(entry)]
        if held is None:
            return 1    # it does not say what it is: several ranges at once, perhaps
        try:
            wanted = wanted_of(held, request.range)
        except NotSatisfiableError:
            return 0
        if wanted is None:
            return held.end if held.whole else 0
        return held.end if held.start <= wanted.start < held.end else 0

    def _next(self, key: tuple[str, ...], entries: list[Entry]) -> Callable[[], ArchivedAnswer]:
        entries = [entry for entry in entries if id(entry) not in self._under_way.before] or entries
        turn = self._under_way.turn(*key)
        return entries[min(turn, len(entries) - 1)].read

    def _table(self, name: str, key: Callable[[Entry], tuple[str, ...]]) -> Mapping[tuple[str, ...], list[Entry]]:
        """Return the entries by `key`; made once, when all are read."""
        if name not in self._tables:
            table: dict[tuple[str, ...], list[Entry]] = {}
            for entry in self.entries:
                table.setdefault(key(entry), []).append(entry)
            self._tables[name] = table
        return self._tables[name]


def _as_stand_in(read: Callable[[], ArchivedAnswer]) -> Callable[[], ArchivedAnswer]:
    return lambda: replace(read(), stand_in=True)


def _leads_to(entry: Entry, url: str) -> bool:
    """Say whether an entry redirects to `url`: for it Chrome would ask, and be led there again, 20 times."""
    if entry.status not in REDIRECTS:
        return False
    return document_url(as_browsers_ask(entry.read().header("location"), entry.url)) == url


def _without_redirects(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if not 300 <= entry.status < 400]


def _says_nothing(entry: Entry) -> bool:
    return entry.status == HTTPStatus.NO_CONTENT or not entry.read().body


def _is_html(entry: Entry) -> bool:
    try:
        return "html" in entry.read().header("content-type").lower()
    except Exception:       # noqa: BLE001 (whatever a reader says of a damaged record: it is no example of a page)
        return False


def status_code(text: str) -> int | None:
    """Return the status that three digits name; None for what is none, or only says that an answer follows (1xx)."""
    return int(text) if re.fullmatch("[2-5][0-9][0-9]", text) else None


def hash_of(body: bytes) -> str:
    """Return what tells request bodies apart, "" for none."""
    return hashlib.sha256(body).hexdigest() if body else ""


def masked_hash_of(body: bytes) -> str:
    """Return what tells request bodies apart but for their volatile values, "" for none."""
    return hash_of(mask_body(body))


def same_name(url: str) -> str:
    """Return what archives file `url` under: without its scheme, however its characters are encoded."""
    return decoded(url.partition("://")[2])


def url_path(url: str) -> str:
    """Return host and path of `url`, whatever its scheme, query and encoding."""
    return same_name(url).partition("?")[0]


def _form(url: str) -> str | None:
    """Return host and path of a font or an image, whatever its format."""
    host, _, path = url_path(url).partition("/")
    form = without_format(host, f"/{path}")
    return None if form is None else host + form


def mask(url: str) -> str:
    """Return `url`, whatever its scheme and encoding, with ``*`` in the place of each volatile value."""
    return same_name(url).partition("/")[0] + mask_target(_decoded_target(url))


def _alike_path(url: str) -> str:
    """Return host and path of `url`, without volatile values and an image's size."""
    return same_name(url).partition("/")[0] + alike_path(_decoded_target(url))


def _decoded_target(url: str) -> str:
    """Return path and query of `url`, whatever its encoding."""
    return f"/{same_name(url).partition('/')[2]}"
