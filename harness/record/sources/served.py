"""A source as the Web: the replay servers answer for every host on loopback, while Chrome loads a page of it.

A source is a file that is read first, or an archive on the network that is asked for what was not asked for yet. Each
answer carries its exchange's number (harness.record.sources.brought.NUMBER), by which `restore` knows afterwards what
was answered. What a source does not have is answered 404 at once, without a number.
"""

import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import trustme

from harness.errors import InputError, first_few, printable
from harness.files.exchange import Exchange
from harness.files.headers import header_in
from harness.files.hosts import SCHEMES
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.pages import read_pages
from harness.files.server_log import FoundAs, RequestLog
from harness.files.urls import document_url
from harness.mirror.answers import Recorded
from harness.mirror.exchanges import PageExchanges
from harness.mirror.recording import Recording
from harness.mirror.transactions import recorded_of
from harness.record.sources.brought import BODIES, NUMBER, Brought
from harness.record.sources.reader import bring, recordable
from harness.record.sources.wayback import ANSWER_S, UnansweredError, WebArchive
from harness.replay.authority import HTTP_1, Authority
from harness.replay.body import Bodies
from harness.replay.connection import Endpoint, Service
from harness.replay.match import Request
from harness.replay.server import Logs, ReplayServer
from harness.replay.site import MISSING, Site
from harness.system.scratch import temporary_directory
from harness.system.tcp import QUEUE, listen

ADDRESS = "127.0.0.1"
NOBODY = "nobody.invalid"
"""The site that answers for each host that the source has nothing of."""
ENDING_S = ANSWER_S + 10.0
"""How long to wait, for all of them, for connections of a Chrome that was ended: a web archive may still be asked."""


@contextmanager
def source_file(path: Path, list_file: Path) -> Iterator["ServedSource"]:
    """Give what serves what a file has, while the context lasts.

    The pages to be recorded are those in `list_file`, which is made of those that the file names if there is none.
    Raises InputError when either cannot be read.
    """
    wanted = [page.url for page in read_pages(list_file)] if list_file.exists() else None
    with temporary_directory() as directory:
        brought = bring(path, wanted, directory)
        if wanted is None:
            list_pages(list_file, brought)
        yield ServedSource(brought, directory)


@contextmanager
def web_archive(archive: WebArchive) -> Iterator["ServedSource"]:
    """Give what asks a web archive for whatever Chrome asks for, while the context lasts."""
    with temporary_directory() as directory:
        (directory / BODIES).mkdir()
        yield ServedSource(Brought(archive.name), directory, archive)


def list_pages(list_file: Path, source: Brought) -> None:
    """Write the source's own pages into `list_file`, which is not there, and say so.

    Raises InputError when the source names no pages that can be recorded.
    """
    urls = recordable([url for url in source.pages if url.startswith(("http://", "https://"))])
    if not urls:
        named = f": their names are too long, or on other ports ({first_few(source.pages)})" if source.pages else ""
        raise InputError(f"{list_file}:1: no such file, and {source.name} names no pages that can be recorded{named}; "
                         "make it with one URL per line")
    list_file.write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    print(f"{list_file.name}: written from the list of pages in {printable(source.name)}: {len(urls)} of "
          f"{len(source.pages)} can be recorded")


class ServedSource:
    """A source, and what its servers answer, a page at a time.

    Bodies are in `directory`, in which the mark of loads is made. `archive` is asked for what was not brought yet.
    """

    def __init__(self, brought: Brought, directory: Path, archive: WebArchive | None = None) -> None:
        self.brought, self.archive, self._directory = brought, archive, directory
        self._mark_file = directory / "load-mark"
        make_mark(self._mark_file)
        self._mark, recording = LoadMark(self._mark_file), brought.recording()
        self.sites = {scheme: [ServedSite(self, recording, host, scheme, self._mark)
                               for host in (NOBODY, *recording.hosts())] for scheme in SCHEMES}
        self._authority = Authority(trustme.CA())
        self.trusted_key = self._authority.fingerprint
        self._found: dict[str, Recorded] = {}
        self._lock = threading.Lock()

    @contextmanager
    def listening(self, page: str) -> Iterator[tuple[str, Callable[[], None]]]:
        """Listen, while the page of this name is loaded: what belongs to it comes first, and nothing was given yet.

        Give Chrome's host-resolver rules that lead every host here, and what begins to answer: whoever forks does so
        before, and none of the servers' threads is there any more afterwards (of those that ask an archive, after
        ENDING_S).
        """
        mark_load(self._mark_file, page)
        listeners = [listen(ADDRESS, 0, QUEUE) for _ in SCHEMES]
        http, https = (listener.getsockname()[1] for listener in listeners)
        # Chrome trusts whatever has this authority's key, for all hosts.
        tls = self._authority.shared_context({NOBODY: HTTP_1})
        ports = [Endpoint(Service(self.sites["http"], http, "HTTP/1.1"), listeners[0]),
                 Endpoint(Service(self.sites["https"], https, "HTTP/1.1", tls), listeners[1])]
        bodies = os.open(self._directory / BODIES, os.O_PATH | os.O_DIRECTORY)
        server = ReplayServer(ports, Bodies({BODIES: bodies}), _no_logs, lambda: self._mark.load().early)
        others = set(threading.enumerate())
        try:
            yield (f"MAP *:80 {ADDRESS}:{http},MAP *:443 {ADDRESS}:{https},MAP * ~NOTFOUND",
                   threading.Thread(target=server.serve, daemon=True).start)
        finally:
            for listener in listeners:
                listener.shutdown(socket.SHUT_RDWR)
                listener.close()
            deadline_s = time.monotonic() + ENDING_S
            for thread in (ours := set(threading.enumerate()) - others):
                thread.join(max(0.0, deadline_s - time.monotonic()))
            if not any(thread.is_alive() for thread in ours):       # else one still asks, and may open a body
                os.close(bodies)

    def ask_archive(self, method: str, url: str) -> Recorded:
        """Return what the archive answers; MISSING where it has nothing, or where there is no archive.

        Each URL is asked for once, unless the archive did not answer.
        """
        url = document_url(url)
        if self.archive is None or method not in ("GET", "HEAD"):
            return MISSING
        if url not in self._found:
            try:
                found = self.archive.find(url)
            except UnansweredError:
                return MISSING
            with self._lock:
                if url not in self._found:      # another connection may have asked meanwhile
                    self._found[url] = self._kept(found, url) if found is not None else MISSING
        return self._found[url]

    def _kept(self, found: Exchange, url: str) -> Recorded:
        """Keep what the archive has, and return it as it is answered."""
        number = self.brought.keep(found, self._directory)
        page = PageExchanges("", [] if found.error else [self.brought.numbered(number, url)])
        return next(iter(recorded_of(page)), MISSING)       # no replay has a host whose name is none, such as "-"


@cache
def _no_logs() -> Logs:
    """Return logs that nobody reads."""
    nowhere = RequestLog(Path(os.devnull))
    return defaultdict(lambda: nowhere)


class ServedSite(Site):
    """A host of a source over one scheme, which answers what the source has, and else what the archive has."""

    def __init__(self, source: ServedSource, recording: Recording, host: str, scheme: str, mark: LoadMark) -> None:
        super().__init__(recording, host, scheme, mark)
        self._source = source

    def answer(self, request: Request) -> Recorded:
        """Return the answer to a request.

        What one query got is no answer to another, which a recording would keep; a beacon's, which has no body, is.
        """
        found = super().answer(request)
        of_another = request.method not in ("GET", "HEAD") and found.file and found.found == FoundAs.BEST_MATCH
        if header_in(found.headers or (), NUMBER) and not of_another:
            return found
        host = request.asked.headers.get("host", self.host)
        return self._source.ask_archive(request.method, f"{self.scheme}://{host}{request.path_and_query}")
