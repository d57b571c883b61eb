"""A source as the Web: the replay servers answer for every host on loopback, while Chrome loads a page of it.

Each answer carries its exchange's number (harness.record.sources.brought.NUMBER), by which `restore` knows afterwards
what was answered. What a source does not have is answered 404 at once, without a number. Archives file a URL under one
name for http and https alike, so what one scheme lacks the other answers. An archive on the network is asked for what
was not asked for yet.
"""

import os
import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme

from harness.files.headers import header_in
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.server_log import FoundAs, RequestLog
from harness.files.urls import document_url
from harness.mirror.alike import path_and_query
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked
from harness.mirror.exchanges import PageExchanges
from harness.mirror.recording import Recording
from harness.mirror.transactions import recorded_of
from harness.record.sources.brought import BODIES, NUMBER, Brought
from harness.record.sources.wayback import WebArchive
from harness.replay.authority import HTTP_1, Authority
from harness.replay.body import Bodies
from harness.replay.connection import ServedPort
from harness.replay.server import Logs, ReplayServer
from harness.replay.site import MISSING, Site, Sites
from harness.system.tcp import QUEUE, listen

ADDRESS = "127.0.0.1"
OTHER = {"http": "https", "https": "http"}


class ServedSource:
    """A source, and what its servers answer; they run while `serving` lasts.

    Bodies are in `directory`, in which the mark of loads is made. `archive` is asked for what was not brought yet.
    """

    def __init__(self, brought: Brought, directory: Path, archive: WebArchive | None = None) -> None:
        self.brought, self._directory, self._archive = brought, directory, archive
        self._recording = brought.recording()
        self._mark_file = directory / "load-mark"
        make_mark(self._mark_file)
        self._mark = LoadMark(self._mark_file)
        self._authority = Authority(trustme.CA())
        self.trusted_key = self._authority.fingerprint
        self.rules = ""
        """Chrome's host-resolver rules that lead every host here."""
        self._found: dict[str, Recorded] = {}
        self._lock = threading.Lock()

    def begin_page(self, name: str) -> None:
        """Say that the page of this name is loaded now: what belongs to it comes first, and nothing was given yet."""
        mark_load(self._mark_file, name)
        if self._archive is not None:
            self._archive.begin_page()

    def complaints(self) -> list[str]:
        """Return why not everything could be asked for since the last call, one line each; what was not is unknown."""
        return self._archive.complaints() if self._archive is not None else []

    @contextmanager
    def serving(self) -> Iterator["ServedSource"]:
        """Answer while this lasts."""
        listeners = [listen(ADDRESS, 0, QUEUE) for _ in OTHER]
        http, https = (listener.getsockname()[1] for listener in listeners)
        self.rules = f"MAP *:80 {ADDRESS}:{http},MAP *:443 {ADDRESS}:{https},MAP * ~NOTFOUND"
        ports = [ServedPort(listener, _Web(self, scheme), "HTTP/1.1", self._tls() if scheme == "https" else None)
                 for listener, scheme in zip(listeners, OTHER, strict=True)]
        nowhere = RequestLog(Path(os.devnull))
        logs: Logs = defaultdict(lambda: nowhere)
        bodies = os.open(self._directory / BODIES, os.O_PATH | os.O_DIRECTORY)
        server = ReplayServer(ports, Bodies({BODIES: bodies}), {0.0: (logs, logs)}, self._mark)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            yield self
        finally:
            for listener in listeners:
                listener.shutdown(socket.SHUT_RDWR)
                listener.close()
            os.close(bodies)

    def site(self, scheme: str, host: str) -> "ArchivedSite":
        """Return what a host answers over http or https."""
        return ArchivedSite(self, self._recording, host, scheme, self._mark)

    def find(self, method: str, url: str) -> Recorded:
        """Return what the archive answers; MISSING where it has nothing, or where there is no archive."""
        found = self._archive.find(method, url) if self._archive is not None else None
        if found is None:
            return MISSING
        with self._lock:
            if url not in self._found:
                number = self.brought.keep(found, self._directory)
                # No replay has a host whose name is none, such as "-".
                self._found[url] = next(iter(recorded_of(PageExchanges("", [self.brought.numbered(number)]))), MISSING)
            return self._found[url]

    def _tls(self) -> ssl.SSLContext:
        """Return a context with a certificate for whichever host is asked for."""
        made: dict[str, ssl.SSLContext] = {}

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, host: str | None, _context: ssl.SSLContext) -> None:
            name = host or ADDRESS
            if name not in made:
                made[name] = self._authority.shared_context({name: HTTP_1})
            connection.context = made[name]

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        return context


class _Web(Sites):
    """All hosts that there are, over one scheme."""

    def __init__(self, source: ServedSource, scheme: str) -> None:
        super().__init__([source.site(scheme, "nobody.invalid")])
        self._source, self._scheme = source, scheme
        self._lock = threading.Lock()

    def named(self, authority: str) -> Site:
        """Return the site that a request is for, made when it is asked for first."""
        name = authority.partition(":")[0].lower()
        with self._lock:
            if name not in self._by_name:
                self._by_name[name] = self._source.site(self._scheme, name)
            return self._by_name[name]


class ArchivedSite(Site):
    """A host of a source over one scheme. What it lacks is looked for over the other, and then asked for."""

    def __init__(self, source: ServedSource, recording: Recording, host: str, scheme: str, mark: LoadMark) -> None:
        super().__init__(recording, host, scheme, mark)
        self._other, self._source = Site(recording, host, OTHER[scheme], mark), source

    def answer(self, target: str, method: str = "GET", asked: Asked | None = None) -> Recorded:
        """Return the answer to a request's target. A redirect from the other scheme to this one leads nowhere here."""
        found = super().answer(target, method, asked)
        url = f"{self.scheme}://{self.host}{path_and_query(target)}"
        if _is_recorded(found, method):
            return found
        other = self._other.answer(target, method, asked)
        if _is_recorded(other, method) and document_url(other.redirect_url) != document_url(url):
            return other
        return self._source.find(method, url)


def _is_recorded(answer: Recorded, method: str) -> bool:
    """Say whether the source has this answer. What one query got is no answer to another, which a recording would keep;
    a beacon's, which has no body, is.
    """
    if method not in ("GET", "HEAD") and answer.found == FoundAs.BEST_MATCH and answer.file is not None:
        return False
    return answer.found not in (FoundAs.MISSING, FoundAs.ENDED) and bool(header_in(answer.headers or (), NUMBER))
