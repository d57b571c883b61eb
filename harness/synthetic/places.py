"""Where a load's requests stand in the texts of its documents: Chrome names a line and a column of the decoded text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from harness.analysis.asked_for import DOCUMENT
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.encoding import decode
from harness.files.headers import header_in
from harness.files.urls import without_fragment
from harness.mirror.recording import Recording
from harness.synthetic.shape import path_of
from harness.system.untrusted import read_untrusted

NEARBY = 4000
"""How many characters before and after the place that Chrome names a tag's address may stand."""

Place = tuple[str, int, int]
"""The URL of a document, style sheet or script, line and column."""


def place_of(request: TimedRequest) -> Place | None:
    """Return where a request stands, as Chrome says; None where it does not."""
    said = request.initiator
    return (said.by, said.line, said.column) if said is not None and said.by else None


def document_texts(load: Timeline, recording: Recording, mirror: Path) -> dict[str, str]:
    """Return the text of each document of a load, a character a byte; what came compressed is decoded."""
    found: dict[str, str] = {}
    for url in (without_fragment(request.url) for request in load.requests if request.kind == DOCUMENT):
        for answer in recording.exact_url(url)[:1]:
            if answer.file is not None:
                encoding = header_in(answer.headers or (), "content-encoding")
                body, is_decoded = decode(read_untrusted(mirror / answer.file), encoding)
                found |= {url: body.decode("latin-1")} if is_decoded else {}
    return found


class Texts:
    """The texts of a load's documents by URL, and which places its `requests`, those that were answered, name."""

    def __init__(self, texts: Mapping[str, str], requests: Iterable[TimedRequest]) -> None:
        self._texts = texts
        self._lines = {url: [0, *accumulate(len(line) + 1 for line in text.split("\n"))] for url, text in texts.items()}
        led_to = {without_fragment(request.redirect_to) for request in requests if request.redirect_to}
        self._named = Counter(place_of(request) for request in requests if without_fragment(request.url) not in led_to)

    def offset(self, request: TimedRequest, document: TimedRequest) -> int:
        """Return how many bytes of a document had come with a request's place: fewer where it was compressed."""
        _, line, column = place_of(request) or ("", 0, 0)
        lines = self._lines.get(without_fragment(document.url), [0])
        offset = lines[min(line, len(lines) - 1)] + (column if line < len(lines) - 1 else 0)
        text_bytes = lines[-1] - 1
        return round(offset * document.body_bytes / text_bytes) if 0 < document.body_bytes < text_bytes else offset

    def has_tag(self, request: TimedRequest, document: TimedRequest) -> bool:
        """Tell whether a request's address stands in a document's text, in whatever form, where Chrome says.

        An image that a script makes is asked for a little later, and Chrome only knows where the parser stands by then:
        several requests have one place.
        """
        place, url = place_of(request), without_fragment(document.url)
        if place is None or self._named[place] > 1:
            return False
        if url not in self._texts:
            return True
        lines, path = self._lines[url], path_of(request.url)
        at = lines[min(place[1], len(lines) - 1)] + place[2]
        name = path if len(path) > 1 else f"//{urlsplit(request.url).netloc}"
        around = self._texts[url][max(0, at - NEARBY):at + NEARBY]
        return name in around or escape(name) in around
