"""Which recorded answers a request may get, the best first. docs/replay.md has the rules, their sources and cases.

1. exact: this URL (however its characters are encoded) and method, and for a request with a body the same body;
2. masked: the same when volatile values (harness.mirror.masks) are left out of URL and body;
3. best-match: the same path (without volatile values and an image's size, if need be) with most parameters in common,
   of those that were answered when recorded, if any was; else the same font or image in another format.

An answer found by 2 or 3 is a stand-in. Where a recorded redirect leads to a URL that was not recorded, what was
recorded ends: there no redirect stands in unless it is known to end, so no chain of stand-ins leads back to itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import unquote

from harness.files.server_log import FoundAs
from harness.files.urls import decoded
from harness.mirror.answers import RecordedAnswer
from harness.mirror.asked import Asked, BodyHash
from harness.mirror.forms import may_be_in_another_format, without_format
from harness.mirror.masks import mask_target
from harness.mirror.paths import INDEX, is_md5_name
from harness.mirror.recording import Recording
from harness.mirror.targets import alike_path, in_common, parameters, path_and_query
from harness.mirror.text_redirects import MOST_REDIRECTS
from harness.mirror.transactions import answer_key

EXACT = "exact"
RECORDED, UNRECORDED, LOOP = "recorded", "unrecorded", "loop"


@dataclass(frozen=True)
class Request:
    """A request as it decides its answer: method, path and query as received, headers and body."""

    method: str
    target: str
    asked: Asked


class Matcher:
    """The recorded answers of one host over one scheme, indexed for all the ways in which they are found."""

    def __init__(self, recording: Recording, scheme: str, host: str) -> None:
        self._recording, self._scheme, self._host = recording, scheme, host
        self._masked: dict[str, list[str]] = {}
        """Key without volatile values -> the keys (harness.mirror.transactions.answer_key) that have it."""
        self._decoded: dict[str, list[str]] = {}
        """Path and query without percent-encoding -> as they were recorded."""
        self._by_path: dict[str, list[str]] = {}
        self._by_form: dict[str, list[str]] = {}
        """Path without its format, of fonts and images."""
        self._ends = recording.unrecorded_ends      # worked out now: each server's first stand-in would wait for it
        files = recording.unasked_files(host)
        for key in {**dict.fromkeys(recording.answers.get((scheme, host), {})), **dict.fromkeys(_plain_urls(files))}:
            self._masked.setdefault(mask_target(key), []).append(key)
            target = key if key.startswith("/") else key.partition(" ")[2]
            self._decoded.setdefault(decoded(target), []).append(target)
            self._by_path.setdefault(alike_path(key), []).append(key)
            if form := self._form(key):
                self._by_form.setdefault(form, []).append(key)

    def tiers(self, request: Request) -> Iterator[tuple[str, list[RecordedAnswer]]]:
        """Yield the candidates for `request`, the most alike first, each group with how it was found."""
        target = path_and_query(request.target)
        exact: list[RecordedAnswer] = []
        unquoted = unquote(target, errors="surrogateescape")        # as files are named
        for form in dict.fromkeys((target, unquoted, *self._decoded.get(decoded(target), ()))):
            exact = exact or self._exact(form, request.method)
        yield EXACT, [answer for answer in exact if _same_body(answer.asked.body, request.asked.body)]
        yield FoundAs.MASKED, [answer for answer in exact
                               if answer.asked.body and _alike_body(answer.asked.body, request.asked.body)]
        yield EXACT, [answer for answer in exact if answer.asked.body is None]      # it had none, or nobody knows it
        key = answer_key(request.method, target)
        for wanted in dict.fromkeys((key, target)):
            alike = self._answers(self._masked.get(mask_target(wanted), ()))
            alike = [answer for answer in alike if _alike_body(answer.asked.body, request.asked.body)]
            for known in (True, False):     # those whose body is the same or alike come before those without one
                same = [answer for answer in alike if (answer.asked.body is not None) == known]
                yield from ((FoundAs.MASKED, group) for group in _most_in_common(target, same))
        for wanted in dict.fromkeys((key, target)):
            similar = self._answers(self._by_path.get(alike_path(wanted), ()))
            similar = [answer for answer in similar if answer.found != FoundAs.UNANSWERED] or similar
            yield from ((FoundAs.BEST_MATCH, group) for group in _most_in_common(target, similar))
        yield from ((FoundAs.BEST_MATCH, group) for group in _most_in_common(target, self._in_another_format(target)))

    def _form(self, target: str) -> str | None:
        return without_format(self._host, alike_path(target))

    def _in_another_format(self, target: str) -> list[RecordedAnswer]:
        """Return the answers that are the font or image asked for, but in another format than the one asked for."""
        form = self._form(target)
        if form is None or not may_be_in_another_format(parameters(target)[0]):
            return []
        return [answer for answer in self._answers(self._by_form.get(form, ())) if answer.status == HTTPStatus.OK]

    def is_unrecorded_end(self, request: Request) -> bool:
        """Say whether a recorded redirect leads to this URL, and the URL itself was not recorded."""
        return f"{self._scheme}://{self._host}{path_and_query(request.target)}" in self._ends

    def end_of(self, answer: RecordedAnswer) -> str:
        """Return where following a redirect through recorded URLs comes to: RECORDED, UNRECORDED or LOOP."""
        for _ in range(MOST_REDIRECTS):
            if answer.redirect_url is None:
                return RECORDED
            recorded = self._recording.exact_url(answer.redirect_url)
            if not recorded:
                return UNRECORDED
            answer = recorded[-1]
        return LOOP

    def _exact(self, target: str, method: str) -> list[RecordedAnswer]:
        """Return the answers to this URL and method. A text log tells no methods: there every answer is to all."""
        answers = self._recording.exact(self._scheme, self._host, target, method)
        if method in ("GET", "HEAD") or answer_key(method, target) in self._recording.answers.get(
                (self._scheme, self._host), {}):
            return list(answers)
        return [answer for answer in answers if answer.headers is None]

    def _answers(self, keys: Iterable[str]) -> list[RecordedAnswer]:
        answers: list[RecordedAnswer] = []
        for key in keys:
            method, space, target = key.partition(" ")
            if not space or key.startswith("/"):
                method, target = "GET", key
            answers += self._recording.exact(self._scheme, self._host, target, method)
        return answers


def _same_body(recorded: BodyHash | None, asked: BodyHash | None) -> bool:
    """Say whether the bodies are the same; a recording may not know its own."""
    return (recorded.sha256 if recorded else "") == (asked.sha256 if asked else "")


def _alike_body(recorded: BodyHash | None, asked: BodyHash | None) -> bool:
    if recorded is None or asked is None:
        return recorded is None
    return recorded.sha256 == asked.sha256 or recorded.masked_sha256 == asked.masked_sha256 != ""


def _most_in_common(target: str, answers: list[RecordedAnswer]) -> list[list[RecordedAnswer]]:
    """Return the answers in groups that have as much in common with a request's target, the most first."""
    groups: dict[tuple[int, ...], list[RecordedAnswer]] = {}
    for answer in answers:
        groups.setdefault(in_common(target, path_and_query(answer.url)), []).append(answer)
    return [groups[rank] for rank in sorted(groups, reverse=True)]


def _plain_urls(files: Iterable[str]) -> Iterable[str]:
    """Return the paths and queries of the files, as far as their names show them: a long URL's is its MD5."""
    for name in sorted(files):
        if not is_md5_name(name):
            yield "/" if name == INDEX else "/" + name.partition("#")[0]
