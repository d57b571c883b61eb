"""Redirects in text logs: where they end, and which file has the body that is at their end.

The scraper of 2013 asked for each URL of its log once more and followed redirects. It stored the body that it got in
the end under the URL that it had asked for: ``www.wsj.com/index.html`` is the body of ``online.wsj.com/home-page``. So

- if a redirect ends at a recorded URL without a file, that URL gets the file of the URL that led to it;
- if a redirect leads to a URL that was not recorded, the file of the first URL is the answer to the first URL.
"""

import dataclasses
from urllib.parse import urljoin

from harness.files.server_log import FoundAs
from harness.files.text_log import Response
from harness.files.urls import split_url
from harness.mirror.answers import RecordedAnswer, find_file
from harness.mirror.transactions import Origin, Sequences

MOST_REDIRECTS = 20
"""Redirects one after the other that are followed: Chrome's limit (net::URLRequest::kMaxRedirects)."""


def absolute_redirect(response: Response) -> Response:
    """Return the response, with its redirect as an absolute URL: some servers sent a path only."""
    if response.redirect_url is None:
        return response
    try:
        return dataclasses.replace(response, redirect_url=urljoin(response.url, response.redirect_url))
    except ValueError:
        return response


def end_redirects(answers: Sequences, files: dict[str, frozenset[str]]) -> Sequences:
    """Return `answers`, with each redirect of a text log made to end somewhere; `files` has each host's files."""
    ended = {origin: dict(of_origin) for origin, of_origin in answers.items()}
    for origin, of_origin in answers.items():
        for key, sequence in of_origin.items():
            file = find_file(files.get(origin[1], frozenset()), key)
            if file is None or not any(map(_is_text_redirect, sequence)):
                continue
            for answer in filter(_is_text_redirect, sequence):
                end = _end(ended, answer)
                if end is None:
                    ended[origin][key] = tuple(_here(other, file) if other is answer else other
                                               for other in ended[origin][key])
                elif not _in_mirror(ended[end[0]][end[1]][-1], end, files):
                    ended[end[0]][end[1]] = _with_file(ended[end[0]][end[1]], file[0], origin[1])
    return ended


def _is_text_redirect(answer: RecordedAnswer) -> bool:
    return answer.redirect_url is not None and answer.headers is None


def _here(answer: RecordedAnswer, file: tuple[str, str]) -> RecordedAnswer:
    """Return the answer to a redirect's own URL when its end was not recorded: the file, which is the end's body."""
    return dataclasses.replace(answer, status=200, mime_type="", redirect_url=None, file=file[0], found=file[1])


def _end(answers: Sequences, answer: RecordedAnswer) -> tuple[Origin, str] | None:
    """Return where a redirect ends: scheme and host, and key, of the first recorded URL that does not redirect.

    None when it leads to a URL that was not recorded, or goes in a circle.
    """
    for _ in range(MOST_REDIRECTS):
        try:
            host, target = split_url(answer.redirect_url or "")
        except ValueError:
            return None
        origin, key = ((answer.redirect_url or "").partition(":")[0].lower(), host), target.partition("#")[0]
        sequence = answers.get(origin, {}).get(key)
        if sequence is None:
            return None
        if sequence[-1].redirect_url is None:
            return origin, key
        answer = sequence[-1]
    return None


def _in_mirror(answer: RecordedAnswer, end: tuple[Origin, str], files: dict[str, frozenset[str]]) -> bool:
    return not answer.lacks_body or find_file(files.get(end[0][1], frozenset()), end[1]) is not None


def _with_file(sequence: tuple[RecordedAnswer, ...], file: str, host: str) -> tuple[RecordedAnswer, ...]:
    return tuple(dataclasses.replace(answer, file=file, file_host=host, found=FoundAs.PLAIN)
                 if answer.lacks_body else answer for answer in sequence)
