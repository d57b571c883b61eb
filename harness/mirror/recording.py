"""What a recording holds: the answer to every recorded URL, from ``NAME/`` (bodies) and ``NAME.fetchlog/`` (HARs)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path

from harness.errors import InputError
from harness.files.exchange import Body, Place, place_of
from harness.files.hosts import SCHEMES
from harness.files.pages import PageFiles
from harness.files.urls import document_url
from harness.mirror.answers import FAILED_RATIO, Recorded, is_answered
from harness.mirror.exchanges import PageExchanges, files_of
from harness.mirror.importing import MOST_REDIRECTS, read_pages
from harness.mirror.live import LiveConnection, read_live
from harness.mirror.manifest import Manifest, bodies_of, damage, read_manifest
from harness.mirror.paths import lookups, target_of
from harness.mirror.transactions import Origin, Sequences, recorded_of, sequences, unnamed


@dataclass
class Recording:
    """All of a recording but its bodies. `problems` says in one line each what could not be read."""

    files: dict[str, frozenset[str]] = field(default_factory=dict)
    answers: Sequences = field(default_factory=dict)
    http2_hosts: set[str] = field(default_factory=set)
    """Hosts that spoke HTTP/2 when they were recorded."""
    live: dict[Origin, list[LiveConnection]] = field(default_factory=dict)
    """The WebSockets of each scheme (http or https) and host, in recorded order."""
    silent: dict[str, frozenset[Origin]] = field(default_factory=dict)
    """By the page's log, which hosts never answered when it was recorded, over http or https.

    Not of pages of which more than FAILED_RATIO failed so up to the load event: those are incomplete. Text logs do not
    say what failed.
    """
    rtts_ms: dict[str, float] = field(default_factory=dict)
    """The shortest TCP handshake with each host that a HAR tells of, in ms; hosts without one are not in it."""
    addresses: dict[str, set[str]] = field(default_factory=dict)
    """The addresses that each host answered from, as far as they were recorded."""
    manifest: Manifest = field(default_factory=Manifest)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    """The files that have to be in its mirror, ``host/file``: see harness.mirror.manifest."""
    problems: list[str] = field(default_factory=list)

    def hosts(self) -> list[str]:
        """Return every host that has a file or a recorded answer, sorted. Hosts that only redirect have no files."""
        return sorted(self.files.keys() | {host for _, host in (*self.answers, *self.live)})

    def schemes(self, host: str) -> tuple[str, ...]:
        """Return the schemes the host is to be served over: http, https or both, in this order.

        For a host that has files but is in no log this is not known: then it is both, if the recording has any https.
        """
        known = tuple(scheme for scheme in SCHEMES if (scheme, host) in self.answers or (scheme, host) in self.live)
        return known or (SCHEMES if any(scheme == "https" for scheme, _ in self.answers) else SCHEMES[:1])

    @property
    def each(self) -> Iterator[Recorded]:
        """All recorded answers, by host and URL."""
        return (answer for of_origin in self.answers.values() for found in of_origin.values() for answer in found)

    def exact(self, scheme: str, host: str, target: str, method: str = "GET") -> tuple[Recorded, ...]:
        """Return the recorded answers to exactly this URL and method, else to a GET of it, in recorded order.

        A URL that no exchange has is answered with the file that is named after it and that no exchange names.
        """
        answers = self.answers.get((scheme, host), {})
        if found := answers.get((method, target)) or answers.get(("GET", target)):
            return found
        by_name = (answers.get(("GET", target_of(name)), ()) for name in lookups(target))
        return next((found for found in by_name if found and not found[0].page), ())

    @cached_property
    def unrecorded_ends(self) -> frozenset[str]:
        """The URLs that recorded redirects lead to and that were not recorded themselves, as browsers ask for them."""
        led = {answer.redirect_url for answer in self.each if answer.redirect_url}
        return frozenset(document_url(url) for url in led if not self.exact_url(url))

    def exact_url(self, url: str) -> tuple[Recorded, ...]:
        """Return the recorded answers to a GET of exactly this URL, or of what browsers make of it, in their order."""
        for form in dict.fromkeys((url, document_url(url))):
            try:
                place = place_of(form)
            except ValueError:
                continue
            if found := self.exact(place.scheme, place.host, place.target):
                return found
        return ()

    def asked_as(self, url: str) -> str:
        """Return what the browser made of a page's `url` by itself: an https one where it knew the host (HSTS)."""
        recorded = self.exact_url(url)
        return f"https{url[4:]}" if recorded and all(answer.internal for answer in recorded) else url

    def transactions(self, page: str) -> list[Recorded]:
        """Return the transactions in the log named `page`: everything that a load of the page may get."""
        return [answer for answer in self.each if answer.page == page]

    def without_body(self) -> list[str]:
        """Return the URLs of the answers whose body is not in the mirror: a request for one of them gets a 404."""
        return [answer.url for answer in self.each if answer.lacks_body]

    def document(self, url: str) -> str | None:
        """Return the URL that `url` leads to through recorded redirects, if it answers; None: it cannot be replayed."""
        return self.documents(url)[0] or None

    def documents(self, url: str) -> tuple[str, tuple[Recorded, ...]]:
        """Return the URL that recorded redirects lead to from the page `url`, and the recorded answers that may be its
        last document, each of them a 200 with a body; "" and none if the page cannot be replayed.

        There are several where a page loads itself again, such as a question for consent, which once it is answered
        makes place for the page, or posts a form to itself, and where a redirect leads to such a question, which leads
        back. Which one a load ends with is up to its timing: the recording may have seen one more.
        """
        given: Counter[Place] = Counter()
        led_here: list[Recorded] = []
        for _ in range(MOST_REDIRECTS + 1):
            recorded = [answer for answer in self.exact_url(url) if answer.asked.navigation is not False]
            if not recorded:
                break
            place = recorded[0].place
            number = min(given[place], len(recorded) - 1)
            answer = recorded[number]
            given[place] += 1
            if not answer.redirect_url:
                to_itself = self.answers.get(answer.origin, {}).get(("POST", place.target), ())
                posted = [to_form for to_form in to_itself if to_form.asked.navigation]
                found = tuple(filter(_is_document, (*recorded[number:], *posted, *led_here)))
                return (url, found) if _is_document(answer) else ("", ())
            led_here += recorded[number + 1:]
            url = answer.redirect_url
        return "", ()


def _is_document(answer: Recorded) -> bool:
    return not answer.redirect_url and answer.status == 200 and answer.file is not None


def read_recording(mirror_dir: Path, fetchlog_dir: Path | None) -> Recording:
    """Read the index of the mirror in `mirror_dir` and of all logs in `fetchlog_dir` (None: the mirror has none).

    One of 2013's format is read as if it had been imported. Raises InputError when a directory is missing or the
    manifest is of another format; every smaller problem is kept in the recording's `problems`.
    """
    recording = Recording(files_of(mirror_dir))
    pages: list[PageExchanges] = []
    if fetchlog_dir is not None:
        recording.manifest = read_manifest(fetchlog_dir, recording.problems)
        files = [f"{host}/{name}" for host, names in recording.files.items() for name in names]
        pages = read_pages(fetchlog_dir, {file: Body(file) for file in files}, recording.problems)
    return recording_of(pages, recording)


def read_whole(files: PageFiles) -> Recording:
    """Read a recording whose bodies have to be all there, and as they were recorded. Raises InputError."""
    recording = read_recording(files.mirror, files.fetchlog)
    if damaged := damage(recording.bodies, files.mirror):
        raise InputError(f"{damaged}; record it again")
    return recording


def recording_of(pages: Sequence[PageExchanges], into: Recording | None = None) -> Recording:
    """Return a recording with what the exchanges of all pages tell, and the files of `into` that none of them names."""
    recording, named = into or Recording(), bodies_of(pages)
    recording.bodies = {name: Body(name, listed.bytes, listed.sha256)
                        for name, listed in recording.manifest.bodies.items()} | named
    items = [item for page in pages for item in recorded_of(page)]
    for page in pages:
        for connection in read_live(page.exchanges, page.load_event_s):
            recording.live.setdefault((connection.place.scheme, connection.place.host), []).append(connection)
    # A host that never answered does not get a server: in the replay, too, nobody can reach it. One that let a request
    # hang could be reached.
    reached = {item.origin for item in items if item.hangs or is_answered(item.exchange)}
    silent = [item for item in items if item.origin not in reached]
    recording.silent = _silent_of_pages(items, silent)
    for item in items:
        rtt_ms = item.exchange.handshake_ms
        if rtt_ms is not None and is_answered(item.exchange):
            recording.rtts_ms[item.place.host] = min(rtt_ms, recording.rtts_ms.get(item.place.host, rtt_ms))
        with suppress(ValueError):
            address = str(ip_address(item.exchange.address.strip("[]")))
            recording.addresses.setdefault(item.place.host, set()).add(address)
    recording.http2_hosts = {item.place.host for item in items
                             if item.place.scheme == "https" and item.exchange.answer.http2}
    recording.answers = sequences([item for item in items if item.origin in reached])
    for host, names in recording.files.items():
        rest = [name for name in names if f"{host}/{name}" not in named]
        for scheme in recording.schemes(host) if rest else ():
            of_origin = recording.answers.setdefault((scheme, host), {})
            for item in unnamed((scheme, host), rest, len(items)):
                of_origin.setdefault(("GET", item.place.target), (item,))
    return recording


def _silent_of_pages(items: Sequence[Recorded], silent: Sequence[Recorded]) -> dict[str, frozenset[Origin]]:
    # After its load event a page may ask in vain again and again, as long as it is recorded.
    asked, failed = (Counter(item.page for item in some if not item.after_load) for some in (items, silent))
    hosts_of: dict[str, set[Origin]] = defaultdict(set)
    for item in silent:
        hosts_of[item.page].add(item.origin)
    return {page: frozenset(hosts) for page, hosts in hosts_of.items() if failed[page] <= FAILED_RATIO * asked[page]}
