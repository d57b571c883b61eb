"""What a recording holds: the answer to every recorded URL, from ``NAME/`` (bodies) and ``NAME.fetchlog/`` (HARs)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """All of a recording but its bodies: what its pages asked for, the files of each host, and its manifest.

    `problems` says in one line each what could not be read.
    """

    pages: Sequence[PageExchanges] = ()
    files: Mapping[str, frozenset[str]] = field(default_factory=dict)
    manifest: Manifest = field(default_factory=Manifest)
    problems: Sequence[str] = ()

    @cached_property
    def items(self) -> list[Recorded]:
        """All that was recorded over http and https, page by page."""
        return [item for page in self.pages for item in recorded_of(page)]

    @cached_property
    def reached(self) -> frozenset[Origin]:
        """Schemes and hosts that answered. One that never did does not get a server: in the replay, too, nobody can
        reach it. One that let a request hang could be reached.
        """
        return frozenset(item.origin for item in self.items if item.hangs or is_answered(item.exchange))

    @cached_property
    def live(self) -> dict[Origin, list[LiveConnection]]:
        """The WebSockets of each scheme (http or https) and host, in recorded order."""
        found: dict[Origin, list[LiveConnection]] = {}
        for page in self.pages:
            for connection in read_live(page.exchanges, page.load_event_s):
                found.setdefault((connection.place.scheme, connection.place.host), []).append(connection)
        return found

    @cached_property
    def silent(self) -> dict[str, frozenset[Origin]]:
        """By the page's log, which hosts never answered when it was recorded, over http or https.

        Not of pages of which more than FAILED_RATIO failed so up to the load event: those are incomplete. (After that
        event a page may ask in vain again and again, as long as it is recorded.) Text logs do not say what failed.
        """
        lost = [item for item in self.items if item.origin not in self.reached]
        asked, failed = (Counter(item.page for item in some if not item.after_load) for some in (self.items, lost))
        return {page: frozenset(item.origin for item in lost if item.page == page)
                for page in {item.page for item in lost} if failed[page] <= FAILED_RATIO * asked[page]}

    @cached_property
    def http2_hosts(self) -> set[str]:
        """Hosts that spoke HTTP/2 when they were recorded."""
        return {item.place.host for item in self.items if item.place.scheme == "https" and item.exchange.answer.http2}

    @cached_property
    def bodies(self) -> dict[str, Body]:
        """The files that have to be in its mirror, ``host/file``: see harness.mirror.manifest."""
        return {name: Body(name, listed.bytes, listed.sha256)
                for name, listed in self.manifest.bodies.items()} | bodies_of(self.pages)

    @cached_property
    def answers(self) -> Sequences:
        """The recorded answers, those of files that no exchange names among them."""
        found = sequences([item for item in self.items if item.origin in self.reached])
        named = bodies_of(self.pages)
        for host, names in self.files.items():
            rest = [name for name in names if f"{host}/{name}" not in named]
            for scheme in self.schemes(host) if rest else ():
                of_origin = found.setdefault((scheme, host), {})
                for item in unnamed((scheme, host), rest, len(self.items)):
                    of_origin.setdefault(("GET", item.place.target), [item])
        return found

    def hosts(self) -> list[str]:
        """Return every host that has a file or a recorded answer, sorted. Hosts that only redirect have no files."""
        return sorted(self.files.keys() | {host for _, host in (*self.reached, *self.live)})

    def schemes(self, host: str) -> tuple[str, ...]:
        """Return the schemes the host is to be served over: http, https or both, in this order.

        For a host that has files but is in no log this is not known: then it is both, if the recording has any https.
        """
        known = tuple(scheme for scheme in SCHEMES if (scheme, host) in self.reached or (scheme, host) in self.live)
        return known or (SCHEMES if any(scheme == "https" for scheme, _ in self.reached) else SCHEMES[:1])

    @property
    def each(self) -> Iterator[Recorded]:
        """All recorded answers, by host and URL."""
        return (answer for of_origin in self.answers.values() for found in of_origin.values() for answer in found)

    def exact(self, scheme: str, host: str, target: str, method: str = "GET") -> Sequence[Recorded]:
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

    def exact_url(self, url: str) -> Sequence[Recorded]:
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
    files, problems = files_of(mirror_dir), list[str]()
    if fetchlog_dir is None:
        return Recording(files=files)
    manifest = read_manifest(fetchlog_dir, problems)
    bodies = {name: Body(name) for host, names in files.items() for name in (f"{host}/{file}" for file in names)}
    return Recording(read_pages(fetchlog_dir, bodies, problems), files, manifest, problems)


def read_whole(files: PageFiles) -> Recording:
    """Read a recording whose bodies have to be all there, and as they were recorded. Raises InputError."""
    recording = read_recording(files.mirror, files.fetchlog)
    if damaged := damage(recording.bodies, files.mirror):
        raise InputError(f"{damaged}; record it again")
    return recording
