"""A source as the Web: the replay servers answer for every host on loopback, while Chrome loads a page of it.

Each answer carries its exchange's number (harness.record.sources.brought.NUMBER), by which `restore` knows afterwards
what was answered. What a source does not have is answered 404 at once, without a number. Archives file a URL under one
name for http and https alike, so what one scheme lacks the other answers.
"""

import os
import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import trustme

from harness.files.headers import header_in
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.server_log import FoundAs, RequestLog
from harness.files.urls import document_url
from harness.mirror.alike import path_and_query
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked
from harness.mirror.recording import Recording
from harness.record.sources.brought import NUMBER
from harness.replay.authority import HTTP_1, Authority
from harness.replay.body import Bodies
from harness.replay.connection import ServedPort
from harness.replay.server import Logs, ReplayServer
from harness.replay.site import MISSING, Site, Sites
from harness.system.tcp import QUEUE, listen

ADDRESS = "127.0.0.1"
OTHER = {"http": "https", "https": "http"}
Find = Callable[[str, str], Recorded | None]
"""Gives the answer to a method and a URL that the recording lacks, None when there is none. For threads at a time."""


class ServedSource:
    """Answers from a recording, and where that has nothing by asking `find`, while it is entered as a context."""

    def __init__(self, recording: Recording, mirror: Path, work_dir: Path, find: Find = lambda *_: None) -> None:
        """Bodies are below `mirror`, in a folder for each host. `work_dir` is where the mark of loads is made."""
        self._recording, self._mirror, self._find = recording, mirror, find
        self._mark_file = work_dir / "load-mark"
        make_mark(self._mark_file)
        self._mark = LoadMark(self._mark_file)
        self._authority = Authority(trustme.CA())
        self.trusted_key = self._authority.fingerprint
        self._stack = ExitStack()

    @property
    def rules(self) -> str:
        """Chrome's host-resolver rules that lead every host here."""
        http, https = (listener.getsockname()[1] for listener in self._listeners)
        return f"MAP *:80 {ADDRESS}:{http},MAP *:443 {ADDRESS}:{https},MAP * ~NOTFOUND"

    def begin_page(self, name: str) -> None:
        """Say that the page of this name is loaded now: what belongs to it comes first, and nothing was given yet."""
        mark_load(self._mark_file, name)

    def __enter__(self) -> "ServedSource":
        """Begin to answer."""
        self._listeners = [listen(ADDRESS, 0, QUEUE) for _ in OTHER]
        ports = [ServedPort(listener, _Web(self, scheme), "HTTP/1.1", self._tls() if scheme == "https" else None)
                 for listener, scheme in zip(self._listeners, OTHER, strict=True)]
        nowhere = RequestLog(Path(os.devnull))
        logs: Logs = defaultdict(lambda: nowhere)
        directories = {path.name: self._open(path) for path in self._mirror.iterdir() if path.is_dir()}
        server = ReplayServer(ports, Bodies(directories), {0.0: (logs, logs)}, self._mark)
        threading.Thread(target=server.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering."""
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self._stack.close()

    def site(self, scheme: str, host: str) -> "_ArchivedSite":
        """Return what a host answers over http or https."""
        return _ArchivedSite(self._recording, host, scheme, self._mark, self._find)

    def _open(self, directory: Path) -> int:
        """Return a descriptor of a host's folder."""
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._stack.callback(os.close, descriptor)
        return descriptor

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


class _ArchivedSite(Site):
    """A host of a source over one scheme. What it lacks is looked for over the other, and then asked for."""

    def __init__(self, recording: Recording, host: str, scheme: str, mark: LoadMark, find: Find) -> None:
        super().__init__(recording, host, scheme, mark)
        self._other, self._find = Site(recording, host, OTHER[scheme], mark), find

    def answer(self, target: str, method: str = "GET", asked: Asked | None = None) -> Recorded:
        """Return the answer to a request's target. A redirect from the other scheme to this one leads nowhere here."""
        found = super().answer(target, method, asked)
        url = f"{self.scheme}://{self.host}{path_and_query(target)}"
        if _is_recorded(found, method):
            return found
        other = self._other.answer(target, method, asked)
        if _is_recorded(other, method) and document_url(other.redirect_url) != document_url(url):
            return other
        return self._find(method, url) or MISSING


def _is_recorded(answer: Recorded, method: str) -> bool:
    """Say whether the source has this answer. What one query got is no answer to another, which a recording would keep;
    a beacon's, which has no body, is.
    """
    if method not in ("GET", "HEAD") and answer.found == FoundAs.BEST_MATCH and answer.file is not None:
        return False
    return answer.found not in (FoundAs.MISSING, FoundAs.ENDED) and bool(header_in(answer.headers or (), NUMBER))

