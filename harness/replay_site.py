"""What one recorded host answers to a URL: the recorded answer, else that of the most similar URL, else 404."""

import dataclasses
from collections.abc import Iterable
from os.path import commonprefix
from urllib.parse import unquote, urlsplit

from harness.recording import Recorded, Recording, answer_key

MISSING = Recorded(404, found="missing")


class Site:
    """One host of a recording over one scheme. Everything is indexed at the start: a request reads no directory."""

    def __init__(self, recording: Recording, host: str, scheme: str = "http") -> None:
        self.host, self.scheme = host, scheme
        self.files = recording.files.get(host, frozenset())
        self.http2 = scheme == "https" and host in recording.http2_hosts
        self._recording = recording
        answers = recording.answers.get((scheme, host), {})
        self.has_headers = any(recorded.headers is not None for recorded in answers.values())
        """Whether the recording has headers: then only what they allow is allowed."""
        self._by_path: dict[str, list[str]] = {}
        """Path -> the known URLs (path and query) that have it; with their method, see harness.recording."""
        for known in sorted({*answers, *_plain_urls(self.files)}):
            self._by_path.setdefault(known.partition("?")[0], []).append(known)

    def answer(self, target: str, method: str = "GET") -> Recorded:
        """Return the answer to a request's target: path and query, as received or as an absolute URL."""
        key = _path_and_query(target)
        for form in dict.fromkeys((key, unquote(key, errors="surrogateescape"))):
            recorded = self._exact(form, method)
            if recorded is not None:
                return recorded
        return self._best_match(answer_key(method, key)) or self._best_match(key) or MISSING

    def recorded_preflight(self, target: str) -> Recorded | None:
        """Return the recorded answer to what a browser asked before it asked (CORS preflight, method OPTIONS)."""
        answers = self._recording.answers.get((self.scheme, self.host), {})
        return answers.get(answer_key("OPTIONS", _path_and_query(target)))

    def _exact(self, key: str, method: str = "GET") -> Recorded | None:
        recorded = self._recording.lookup(self.host, key, self.scheme, method)
        if recorded is not None and recorded.status == 200 and recorded.file is None and recorded.content_bytes != 0:
            return None    # recorded, but its body never reached the mirror
        return recorded

    def _best_match(self, key: str) -> Recorded | None:
        path, _, query = key.partition("?")
        known = self._by_path.get(path, [])
        for similar in sorted(known, key=lambda url: _common_query(query, url.partition("?")[2]), reverse=True):
            recorded = self._exact(similar)
            if recorded is not None:
                return dataclasses.replace(recorded, found="best-match")
        return None


def _common_query(one: str, other: str) -> tuple[int, int]:
    """Return how much two queries share: characters in equal parameters, then in their common beginning."""
    shared = set(one.split("&")) & set(other.split("&"))
    return sum(map(len, shared)), len(commonprefix([one, other]))  # noqa: RUF071 (characters are what is compared)


def _plain_urls(files: Iterable[str]) -> Iterable[str]:
    """Return the paths and queries of the files, as far as their names show them."""
    for name in files:
        yield "/" if name == "index.html" else "/" + name.partition("#")[0]


def _path_and_query(target: str) -> str:
    if not target.startswith("/") and "://" in target:
        try:
            parts = urlsplit(target)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        except ValueError:
            pass
    return target.partition("#")[0]
