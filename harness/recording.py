"""What a recording holds: the answer to every recorded URL, from ``NAME/`` (bodies) and ``NAME.fetchlog/`` (heads).

A page's log may have a HAR beside it (recordings of this program); then that says everything. Otherwise (2013, and
pages made by the project itself) the text log does: it has the status line's words but no code, so the code is found
again from the words, and no scheme matters, since all was http.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from harness.errors import InputError
from harness.logs import Response, read_log
from harness.mirror import hosts, list_files, lookups, split_url
from harness.recording_har import Exchange, read_har
from harness.replay_headers import Headers, replayed

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
MOST_REDIRECTS = 20
"""Redirects a document is followed through: Chrome's limit (net::URLRequest::kMaxRedirects)."""
WITHOUT_BODY = (204, 205)
OLD_PHRASES = {"moved temporarily": 302, "object moved": 302, "redirect": 302, "temporary redirect": 307,
               "internal redirect": 307, "request timeout": 408, "request time-out": 408, "gateway time-out": 504,
               "request-uri too large": 414, "service temporarily unavailable": 503, "server error": 500}
"""Words of RFC 2616, RFC 1945 and of servers of the time, lower case, that http.HTTPStatus does not have."""
PHRASES = {status.phrase.lower(): int(status) for status in HTTPStatus} | OLD_PHRASES
SCHEMES = ("http", "https")
Origin = tuple[str, str]
"""Scheme and host."""
FILE_ANYWAY = (206, 304)
"""Codes that only make sense to the recording browser's request; a browser that replays gets the whole file."""


@dataclass(frozen=True)
class Recorded:
    """The recorded answer to one URL. `file` is relative to the host's directory of the mirror."""

    status: int
    mime_type: str = ""
    charset: str = ""
    redirect_url: str | None = None
    file: str | None = None
    found: str = "status"
    """How the answer was found, in the server log's words: plain, md5, redirect or status."""
    headers: Headers | None = None
    """The headers to send; None when none were recorded, and `mime_type` and `charset` are all there is."""
    content_bytes: int | None = None
    """Size of the body when decoded, where the recording tells. With 0, that there is no file is right."""
    without: "tuple[frozenset[str], Recorded] | None" = None
    """Cookies, and what is answered to a request that lacks one of them: the redirect that led to where they are set.
    """

    @property
    def encoded(self) -> bool:
        """Whether the file holds the body compressed, as it was on the wire."""
        return any(name == "content-encoding" for name, _ in self.headers or ())


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (make_tiny.py)."""

    source: str = "recorded"
    seed: int | None = None
    note: str = ""

    @property
    def synthetic(self) -> bool:
        """Whether the pages were made by the project itself."""
        return self.source == "synthetic"


@dataclass
class Recording:
    """All of a recording but its bodies. `problems` says in one line each what could not be read."""

    files: dict[str, frozenset[str]] = field(default_factory=dict)
    answers: dict[Origin, dict[str, Recorded]] = field(default_factory=dict)
    """By scheme and host, then by path and query as in the URL; for methods other than GET with the method before it
    (``POST /path``)."""
    http2_hosts: set[str] = field(default_factory=set)
    """Hosts that spoke HTTP/2 when they were recorded."""
    manifest: Manifest = field(default_factory=Manifest)
    problems: list[str] = field(default_factory=list)

    def hosts(self) -> list[str]:
        """Return every host that has a file or a recorded answer, sorted: some only ever redirect."""
        return sorted(self.files.keys() | {host for _, host in self.answers})

    def schemes(self, host: str) -> tuple[str, ...]:
        """Return the schemes the host is to be served over: http, https or both, in this order."""
        return tuple(scheme for scheme in SCHEMES if (scheme, host) in self.answers) or ("http",)

    def lookup(self, host: str, path_and_query: str, scheme: str = "http", method: str = "GET") -> Recorded | None:
        """Return the recorded answer to exactly this URL and method, else to a GET of it, or None.

        A file without a recorded answer is a 200.
        """
        answers = self.answers.get((scheme, host), {})
        recorded = answers.get(answer_key(method, path_and_query)) or answers.get(path_and_query)
        if recorded is not None or scheme not in self.schemes(host):
            return recorded
        found = _find_file(self.files.get(host, frozenset()), path_and_query)
        return Recorded(200, file=found[0], found=found[1]) if found else None

    def document(self, url: str) -> str | None:
        """Return the URL that `url` leads to through recorded redirects if it is a 200 whose body is in the mirror.

        None otherwise: the page cannot be replayed.
        """
        for _ in range(MOST_REDIRECTS + 1):
            try:
                host, target = split_url(url)
            except ValueError:
                return None
            recorded = self.lookup(host, target.partition("#")[0], url.partition(":")[0].lower())
            if recorded is None or recorded.redirect_url is None:
                return url if recorded is not None and recorded.status == 200 and recorded.file else None
            url = recorded.redirect_url
        return None


def answer_key(method: str, path_and_query: str) -> str:
    """Return under which key of `Recording.answers` the answer to a request stands."""
    return path_and_query if method == "GET" else f"{method} {path_and_query}"


def read_recording(mirror_dir: Path, fetchlog_dir: Path | None) -> Recording:
    """Read the index of the mirror in `mirror_dir` and of all logs in `fetchlog_dir` (None: the mirror has none).

    Raises InputError when a directory is missing or the manifest is newer than this program; every smaller problem is
    kept in the recording's `problems`.
    """
    recording = Recording({host: list_files(mirror_dir / host) for host in hosts(mirror_dir)})
    if fetchlog_dir is None:
        return recording
    recording.manifest = read_manifest(fetchlog_dir, recording.problems)
    heard = _Heard(recording)
    for path in _logs(fetchlog_dir):
        har = path.with_name(f"{path.name}.har")
        exchanges = read_har(har, recording.problems) if har.is_file() else None
        if exchanges is not None:
            heard.exchanges(exchanges, har)
        else:
            heard.responses(path)
    heard.settle()
    return recording


def read_manifest(fetchlog_dir: Path, problems: list[str]) -> Manifest:
    """Read ``manifest.json``; recordings of 2013 have none. Adds to `problems` what is wrong with it.

    Raises InputError when its format is newer than this program.
    """
    path = fetchlog_dir / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["format"]
        manifest = Manifest(str(content.get("source", "recorded")), content.get("seed"), str(content.get("note", "")))
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        problems.append(f"{path}: not a manifest ({error!r}); taken as recorded")
        return Manifest()
    if not isinstance(version, int) or version > MANIFEST_FORMAT:
        raise InputError(f"{path}:1: format {version!r} is newer than this program; update it")
    return manifest


def status_code(status: str, redirect_url: str | None, in_mirror: bool) -> int:
    """Return the code to a status line's words.

    Words nobody knows are 302 with a redirect, else 200 if the body is in the mirror, else 404.
    """
    text = " ".join(status.lower().split())
    number = re.match(r"([2-5]\d\d)\b", text)
    code = int(number.group(1)) if number else PHRASES.get(text)
    if redirect_url is not None:
        return code if code in (301, 302, 303, 307, 308) else 302
    if code is None or code < 200 or code in FILE_ANYWAY or code // 100 == 3:    # a redirect to nowhere has a body
        return 200 if in_mirror else 404
    return code


def _answer(heard: list[tuple[Response, str]], files: frozenset[str], host: str, key: str) -> Recorded:
    """Return what to answer to a URL with these recorded responses, each with the URL's path, query and fragment.

    A URL that redirected at first and then answered (it set a cookie in between) answers: a redirect would never end.
    """
    final = [(response, target) for response, target in heard if not _redirects(response, host, key)]
    response, target = final[-1] if final else heard[-1]
    found = _find_file(files, target)
    redirect_url = None if final else response.redirect_url
    status = status_code(response.status, redirect_url, found is not None)
    if redirect_url is not None:
        return Recorded(status, redirect_url=redirect_url, found="redirect")
    file = found[0] if found and status not in WITHOUT_BODY else None
    return Recorded(status, response.mime_type, response.charset, None, file,
                    found[1] if found and status == 200 else "status")


class _Heard:
    """Gathers what the logs of all pages say of each URL, and then decides its answer."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._responses: dict[tuple[str, str], list[tuple[Response, str]]] = {}
        self._exchanges: dict[tuple[Origin, str], list[tuple[Exchange, str]]] = {}

    def responses(self, path: Path) -> None:
        """Read a text log."""
        log = read_log(path)
        self._recording.problems += log.problems
        for response in log.responses:
            split = self._split(response.url, path)
            if split is not None:
                host, target = split
                self._responses.setdefault((host, target.partition("#")[0]), []).append((response, target))

    def exchanges(self, exchanges: Iterable[Exchange], path: Path) -> None:
        """Take what a HAR has."""
        for exchange in exchanges:
            split = self._split(exchange.url, path)
            if split is not None:
                host, target = split
                key = answer_key(exchange.method, target.partition("#")[0])
                self._exchanges.setdefault(((exchange.scheme, host), key), []).append((exchange, target))

    def settle(self) -> None:
        """Write the answers into the recording."""
        recording = self._recording
        for (host, key), heard in self._responses.items():
            files = recording.files.get(host, frozenset())
            recording.answers.setdefault(("http", host), {})[key] = _answer(heard, files, host, key)
        # A host that never answered does not get a server: in the replay, too, nobody can reach it.
        alive = {origin for (origin, _), heard in self._exchanges.items() if any(one.status for one, _ in heard)}
        for (origin, key), exchanged in self._exchanges.items():
            scheme, host = origin
            if origin in alive:
                files = recording.files.get(host, frozenset())
                recording.answers.setdefault(origin, {})[key] = _exchanged(exchanged, files)
                if scheme == "https" and any(one.http2 for one, _ in exchanged):
                    recording.http2_hosts.add(host)

    def _split(self, url: str, path: Path) -> tuple[str, str] | None:
        try:
            return split_url(url)
        except ValueError:
            self._recording.problems.append(f"{path}: not a URL: {url!r}")
            return None


def _without(heard: list[tuple[Exchange, str]], final: Exchange) -> tuple[frozenset[str], Recorded] | None:
    """Return the redirect that stood before the final answer, and the cookies that tell the two apart."""
    for exchange, _ in heard:
        cookies = final.cookies - exchange.cookies
        if exchange.redirect_url is not None and cookies:
            headers = replayed(exchange.headers, exchange.started, body=False)
            return cookies, Recorded(exchange.status, redirect_url=exchange.redirect_url, found="redirect",
                                     headers=headers)
    return None


def _exchanged(heard: list[tuple[Exchange, str]], files: frozenset[str]) -> Recorded:
    """Return what to answer where these responses were recorded, each with the URL's path, query and fragment.

    The last whole one that did not redirect to the same URL again (see `_answer`); a 304 or a part only where nothing
    else came, since it lacks headers of the whole body. One that never came is answered as a proxy does whose server
    does not: 504, at once, since a load that hangs cannot be measured.
    """
    whole = [one for one in heard if one[0].status and not one[0].failed]
    final = [one for one in whole if one[0].redirect_url is None]
    full = [one for one in final if one[0].status not in FILE_ANYWAY]
    exchange, target = (full or final or whole or [one for one in heard if one[0].status] or heard)[-1]
    if not exchange.status:
        return Recorded(504, headers=())
    if exchange.redirect_url is not None:
        headers = replayed(exchange.headers, exchange.started, body=False)
        return Recorded(exchange.status, redirect_url=exchange.redirect_url, found="redirect", headers=headers)
    found = (exchange.file, "plain") if exchange.file in files else _find_file(files, target)
    status = exchange.status
    if status in FILE_ANYWAY:
        status = 200 if found else 404
    if status in WITHOUT_BODY or (exchange.content_bytes == 0 and exchange.method != "GET" and not exchange.file):
        found = None    # the file is what a GET got
    headers = replayed(exchange.headers, exchange.started, body=found is not None)
    return Recorded(status, file=found[0] if found else None, headers=headers, without=_without(heard, exchange),
                    found="status" if status != 200 else found[1] if found else "plain",
                    content_bytes=exchange.content_bytes)


def _redirects(response: Response, host: str, key: str) -> bool:
    """Say whether the response leads elsewhere. From http to https of the same URL does not: a mirror has one file."""
    if response.redirect_url is None:
        return False
    try:
        there, target = split_url(response.redirect_url)
    except ValueError:
        return True
    return (there, target.partition("#")[0]) != (host, key)


def _find_file(files: frozenset[str], target: str) -> tuple[str, str] | None:
    return next(((name, kind) for name, kind in lookups(target) if name in files), None)


def _logs(fetchlog_dir: Path) -> list[Path]:
    try:
        entries = sorted(fetchlog_dir.iterdir())
    except OSError as error:
        raise InputError(f"{fetchlog_dir}: no logs can be read here ({error.strerror}); "
                         "record or make the pages first") from None
    return [path for path in entries if path.suffix not in (".json", ".har") and path.is_file()]
