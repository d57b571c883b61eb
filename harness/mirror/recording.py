"""What a recording holds: the answer to every recorded URL, from ``NAME/`` (bodies) and ``NAME.fetchlog/`` (heads).

A page's log may have a HAR beside it (recordings of this program do); then only the HAR is read. Otherwise (2013, and
pages made by the project itself) the text log is read. It has the words of the status line but not the code, so the
code is derived from the words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError
from harness.files.hack_dns import PORTS, SCHEMES
from harness.files.har_times import shortest_ms
from harness.files.host_names import is_host_name
from harness.files.text_log import read_log
from harness.files.urls import document_url, split_url
from harness.mirror.answers import FAILED_RATIO, RecordedAnswer, find_file
from harness.mirror.bodies import Body
from harness.mirror.forms import is_never_empty
from harness.mirror.har import Exchange, read_exchanges
from harness.mirror.live import LiveConnection
from harness.mirror.manifest import Manifest, read_manifest
from harness.mirror.paths import hosts, list_files
from harness.mirror.text_redirects import MOST_REDIRECTS, absolute_redirect, end_redirects
from harness.mirror.transactions import Logged, Origin, Sequences, answer_key, file_identity, sequences


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

    Not of pages of which more than FAILED_RATIO failed so up to the load event: those are hollow. Text logs do not
    say what failed.
    """
    rtts_ms: dict[str, float] = field(default_factory=dict)
    """The shortest TCP handshake with each host that a HAR tells of, in ms; hosts without one are not in it."""
    manifest: Manifest = field(default_factory=Manifest)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    """The files that have to be in its mirror, ``host/file``: see harness.mirror.bodies."""
    problems: list[str] = field(default_factory=list)

    def hosts(self) -> list[str]:
        """Return every host that has a file or a recorded answer, sorted. Hosts that only redirect have no files."""
        return sorted(self.files.keys() | {host for _, host in (*self.answers, *self.live)})

    def schemes(self, host: str) -> tuple[str, ...]:
        """Return the schemes the host is to be served over: http, https or both, in this order.

        For a host that has files but is in no log this is not known: then it is both, if the recording has any https.
        """
        known = tuple(scheme for scheme in SCHEMES if (scheme, host) in self.answers or (scheme, host) in self.live)
        return known or (SCHEMES if self._has_https else SCHEMES[:1])

    @cached_property
    def _has_https(self) -> bool:
        return any(scheme == "https" for scheme, _ in self.answers)

    def exact(self, scheme: str, host: str, path_and_query: str, method: str = "GET") -> tuple[RecordedAnswer, ...]:
        """Return the recorded answers to exactly this URL and method, else to a GET of it, in recorded order.

        A file without a recorded answer is a 200.
        """
        answers = self.answers.get((scheme, host), {})
        recorded = answers.get(answer_key(method, path_and_query)) or answers.get(path_and_query)
        if recorded or scheme not in self.schemes(host):
            return recorded or ()
        found = find_file(self.unasked_files(host), path_and_query)
        if found is None:
            return ()
        return (RecordedAnswer(200, file=found[0], found=found[1], url=f"{scheme}://{host}{path_and_query}",
                               identity=file_identity((scheme, host), found[0])),)

    def unasked_files(self, host: str) -> frozenset[str]:
        """Return a host's files but for those that are known to be answers to other methods than GET alone."""
        return self._unasked_files.get(host, frozenset())

    @cached_property
    def _unasked_files(self) -> dict[str, frozenset[str]]:
        files: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
        for (_, host), answers in self.answers.items():
            for key, sequence in answers.items():
                files[key.startswith("/")].update((answer.file_host or host, answer.file) for answer in sequence
                                                  if answer.file)
        posted: dict[str, set[str]] = {}
        for host, file in files[False] - files[True]:
            posted.setdefault(host, set()).add(file)
        return {host: names - posted[host] if host in posted else names for host, names in self.files.items()}

    def lookup(self, host: str, path_and_query: str, scheme: str = "http",
               method: str = "GET") -> RecordedAnswer | None:
        """Return the final answer to exactly this URL and method, after redirects to itself; None if there is none."""
        recorded = self.exact(scheme, host, path_and_query, method)
        return next((answer for answer in reversed(recorded) if answer.redirect_url is None),
                    recorded[-1] if recorded else None)

    @cached_property
    def unrecorded_ends(self) -> frozenset[str]:
        """The URLs that recorded redirects lead to and that were not recorded themselves, as browsers ask for them."""
        led = {answer.redirect_url for answers in self.answers.values()
               for sequence in answers.values() for answer in sequence if answer.redirect_url is not None}
        return frozenset(document_url(url) for url in led if not self.exact_url(url))

    def exact_url(self, url: str) -> tuple[RecordedAnswer, ...]:
        """Return the recorded answers to a GET of exactly this URL, or of what browsers make of it, in their order."""
        for form in dict.fromkeys((url, document_url(url))):
            try:
                host, target = split_url(form)
            except ValueError:
                continue
            if found := self.exact(form.partition(":")[0].lower(), host, target.partition("#")[0]):
                return found
        return ()

    def asked_as(self, url: str) -> str:
        """Return what the browser made of a page's `url` by itself: an https one where it knew the host (HSTS)."""
        recorded = self.exact_url(url)
        return f"https{url[4:]}" if recorded and all(answer.internal for answer in recorded) else url

    def transactions(self, page: str) -> list[RecordedAnswer]:
        """Return the transactions in the log named `page`: everything that a load of the page may get."""
        return [answer for answers in self.answers.values() for sequence in answers.values() for answer in sequence
                if answer.page == page]

    def body_file(self, recorded: RecordedAnswer) -> str | None:
        """Return where an answer's body is in the mirror, ``host/file``; None when it has none."""
        if recorded.file is None:
            return None
        return f"{recorded.file_host or split_url(recorded.url)[0]}/{recorded.file}"

    def without_body(self) -> list[str]:
        """Return the URLs of the answers whose body is not in the mirror: a request for one of them gets a 404."""
        return [answer.url for of_origin in self.answers.values() for sequence in of_origin.values()
                for answer in sequence if answer.lacks_body]

    def document(self, url: str) -> str | None:
        """Return the URL that `url` leads to through recorded redirects, if it answers; None: it cannot be replayed."""
        found = self._document(url)
        return found[0] if found else None

    def document_answers(self, url: str) -> tuple[RecordedAnswer, ...]:
        """Return the recorded answers that may be the last document of the page `url`; none if it cannot be replayed.

        They are those of the URL that recorded redirects lead to. There are several where a page loads itself again,
        such as a question for consent, which once it is answered makes place for the page, or posts a form to itself,
        and where a redirect leads to such a question, which leads back. Which one a load ends with is up to its timing:
        the recording may have seen one more.
        """
        found = self._document(url)
        return found[1] if found else ()

    def _document(self, url: str) -> tuple[str, tuple[RecordedAnswer, ...]] | None:
        """Return the URL of the document and its answers from the first on: each of them a 200 with a body."""
        given: Counter[str] = Counter()
        led_here: list[RecordedAnswer] = []
        for _ in range(MOST_REDIRECTS + 1):
            try:
                host, target = split_url(url)
            except ValueError:
                return None
            path_and_query = target.partition("#")[0]
            scheme = url.partition(":")[0].lower()
            recorded = [answer for answer in self.exact(scheme, host, path_and_query)
                        if answer.asked.navigation is not False]
            if not recorded:
                return None
            number = min(given[f"{scheme}://{host}{path_and_query}"], len(recorded) - 1)
            answer = recorded[number]
            given[f"{scheme}://{host}{path_and_query}"] += 1
            if answer.redirect_url is None:
                if not _is_document(answer):
                    return None
                to_itself = self.answers.get((scheme, host), {}).get(answer_key("POST", path_and_query), ())
                posted = [answer_to_form for answer_to_form in to_itself if answer_to_form.asked.navigation]
                return url, tuple(filter(_is_document, (*recorded[number:], *posted, *led_here)))
            led_here += recorded[number + 1:]
            url = answer.redirect_url
        return None


def _is_document(answer: RecordedAnswer) -> bool:
    return answer.redirect_url is None and answer.status == 200 and answer.file is not None


def read_recording(mirror_dir: Path, fetchlog_dir: Path | None) -> Recording:
    """Read the index of the mirror in `mirror_dir` and of all logs in `fetchlog_dir` (None: the mirror has none).

    Raises InputError when a directory is missing or the manifest is newer than this program; every smaller problem is
    kept in the recording's `problems`.
    """
    recording = Recording({host: _bodies(mirror_dir / host) for host in hosts(mirror_dir)})
    if fetchlog_dir is None:
        return recording
    recording.manifest = read_manifest(fetchlog_dir, recording.problems)
    logged = [item for log in _logs(fetchlog_dir) for item in _read_page(log, recording)]
    exchanges = [(item.origin, item.entry) for item in logged if isinstance(item.entry, Exchange)]
    recording.bodies = recording.manifest.bodies or _bodies_of(exchange for _, exchange in exchanges)
    # A host that never answered does not get a server: in the replay, too, nobody can reach it. One that let a request
    # hang could be reached.
    silent = {origin for origin, _ in exchanges} - {origin for origin, exchange in exchanges
                                                    if exchange.status or exchange.hung}
    recording.silent = _silent_of_pages(logged, silent)
    recording.rtts_ms = shortest_ms((host, exchange.connect_ms) for (_, host), exchange in exchanges)
    recording.answers = end_redirects(sequences((item for item in logged if item.origin not in silent),
                                                recording.files), recording.files)
    recording.http2_hosts = {host for (scheme, host), exchange in exchanges if scheme == "https" and exchange.http2}
    recording.http2_hosts |= recording.manifest.http2_hosts
    return recording


def _bodies_of(exchanges: Iterable[Exchange]) -> dict[str, Body]:
    """Return the files that HARs name, with their sizes: of a file that several name, as one of them tells it."""
    named = [exchange.body for exchange in exchanges if exchange.body[0]]
    return dict(sorted(named, key=lambda body: body[1].bytes is not None))


def _bodies(host_dir: Path) -> frozenset[str]:
    """Return the host's files, but for fonts and pictures of 0 bytes, which the scraper of 2013 left where it got none.

    A browser to which such a font was given would ask for its next format: a round trip that the page never took. Such
    a picture would be said to be what was recorded.
    """
    return frozenset(name for name in list_files(host_dir) if not (is_never_empty(name) and _is_empty(host_dir / name)))


def _is_empty(path: Path) -> bool:
    try:
        return path.lstat().st_size == 0
    except OSError:         # too long a path, or gone since
        return True


def _silent_of_pages(logged: list[Logged], silent: set[Origin]) -> dict[str, frozenset[Origin]]:
    # After its load event a page may ask in vain again and again, as long as it is recorded.
    awaited = [item for item in logged if not (isinstance(item.entry, Exchange) and item.entry.after_load)]
    asked = Counter(item.page for item in awaited)
    failed = Counter(item.page for item in awaited if item.origin in silent)
    return {page: frozenset(item.origin for item in logged if item.page == page and item.origin in silent)
            for page in {item.page for item in logged if item.origin in silent}
            if failed[page] <= FAILED_RATIO * asked[page]}


def _read_page(log: Path, recording: Recording) -> list[Logged]:
    """Return the transactions of a page as its HAR has them or, without a HAR, its text log."""
    har = log.with_name(f"{log.name}.har")
    live: list[LiveConnection] = []
    exchanges = read_exchanges(har, recording.problems, live) if har.is_file() else None
    logged = []
    if exchanges is not None:
        for connection in live:
            split = _split(connection.url, har, recording)
            if split:
                recording.live.setdefault(split[0], []).append(connection)
        for exchange in exchanges:
            split = _split(exchange.url, har, recording)
            if split:
                logged.append(Logged(log.name, *split, exchange.method, exchange))
        return logged
    text = read_log(log)
    recording.problems += text.problems
    after_load = text.urls_after_load()
    for response in text.responses:
        split = _split(response.url, log, recording)
        if split:
            logged.append(Logged(log.name, *split, "GET", absolute_redirect(response),
                                 after_load=response.url in after_load))
    return logged


def _split(url: str, log: Path, recording: Recording) -> tuple[Origin, str] | None:
    """Return a URL's scheme and host, and the rest of it. Adds a line to the problems if it is no URL of a web site.

    Only the scheme's own port is served: URLs with another port are left out, in text logs as in HARs.
    """
    try:
        host, target = split_url(url)
        scheme, port = urlsplit(url).scheme, urlsplit(url).port
    except ValueError:
        recording.problems.append(f"{log}: not a URL: {url[:120]!r}")
        return None
    if scheme not in SCHEMES or port not in (None, PORTS[scheme]) or not is_host_name(host):
        recording.problems.append(f"{log}: cannot be replayed (only http and https on their own ports are): "
                                  f"{url[:120]!r}")
        return None
    return (scheme, host), target


def _logs(fetchlog_dir: Path) -> list[Path]:
    try:
        entries = sorted(fetchlog_dir.iterdir())
    except OSError as error:
        raise InputError(f"{fetchlog_dir}: no logs can be read here ({error.strerror}); "
                         "record or make the pages first") from None
    return [path for path in entries if path.suffix not in (".json", ".har") and path.is_file()]
