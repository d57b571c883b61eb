"""Redirects in text logs: where they end, and whose file is the body at their end.

The scraper of 2013 asked once more for each URL of its log, followed redirects on the way, and stored the body that
came at the end under the URL it had asked for: ``www.wsj.com/index.html`` is the body of ``online.wsj.com/home-page``.
So

- the end of a redirect that was recorded, but has no file, has the file of the URL that led to it;
- a file for the URL wins over a recorded redirect whose end is not in the mirror: it is the body of that end.
"""

import dataclasses
from urllib.parse import urljoin

from harness.files.server_log import FoundAs
from harness.files.text_log import Response
from harness.mirror.answers import Recorded, find_file
from harness.mirror.paths import split_url
from harness.mirror.transactions import Origin, Sequences

MOST_STEPS = 20


def absolute_redirect(response: Response) -> Response:
    """Return the response with an absolute URL where it leads to: some servers sent a path only."""
    if response.redirect_url is None:
        return response
    try:
        return dataclasses.replace(response, redirect_url=urljoin(response.url, response.redirect_url))
    except ValueError:
        return response


def end_redirects(answers: Sequences, files: dict[str, frozenset[str]]) -> Sequences:
    """Return `answers` with the redirects of text logs brought to an end; `files` are each host's."""
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


def _is_text_redirect(answer: Recorded) -> bool:
    return answer.redirect_url is not None and answer.headers is None


def _here(answer: Recorded, file: tuple[str, str]) -> Recorded:
    """Return the answer to a redirect's own URL that its end is, as far as the mirror has it: a file."""
    return dataclasses.replace(answer, status=200, mime_type="", redirect_url=None, file=file[0], found=file[1])


def _end(answers: Sequences, answer: Recorded) -> tuple[Origin, str] | None:
    """Return where a redirect comes to: scheme and host, and the key, of the first recorded URL that does not redirect.

    None when it comes to a URL that was not recorded, or to no end.
    """
    for _ in range(MOST_STEPS):
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


def _in_mirror(answer: Recorded, end: tuple[Origin, str], files: dict[str, frozenset[str]]) -> bool:
    return not answer.lacks_body or find_file(files.get(end[0][1], frozenset()), end[1]) is not None


def _with_file(sequence: tuple[Recorded, ...], file: str, host: str) -> tuple[Recorded, ...]:
    return tuple(dataclasses.replace(answer, file=file, file_host=host, found=FoundAs.PLAIN)
                 if answer.lacks_body else answer for answer in sequence)
