"""What each request of a page was asked for as, and by whom.

Chrome tells the first with each request. Who asked for it Chrome says of run 0 only, which never counts, since to note
it takes time. Other loads got recorded answers, too: a request is known again by the answer that it got
(ReceivedAnswer.identity) where its URL differs, as one does with the time in it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from harness.files.exchange import Exchange, Request
from harness.files.load_parts import Initiator
from harness.files.load_record import LoadRecord, read_load_record
from harness.files.results import load_file
from harness.files.urls import without_fragment
from harness.system.untrusted import UnreadableFileError

IMAGE, STYLE, DOCUMENT, SCRIPT, DATA, FONT, MEDIA = "image", "style", "document", "script", "data", "font", "media"
PARTS = frozenset((DOCUMENT, SCRIPT, STYLE))
"""What a page is made of: without one of these it is another page."""
FETCHED = "empty"
"""Sec-Fetch-Dest of what is for no element of a page: fetch(), XMLHttpRequest, beacons."""
OF_SCRIPTS = "x-requested-with"
"""A header that only scripts send (jQuery and others, with what they fetch from their own site)."""
FONT_NAMES = (".woff2", ".woff", ".ttf", ".otf", ".eot")
FETCHED_WITH = frozenset(("origin", "range", "purpose", "sec-purpose"))
"""Headers of what is no script of another origin: fetched by a script, a part of a film, fetched ahead for later."""
WARM_UPS = "*-0-tfo-*"
"""The folders of run 0 (harness.files.results.cell_directory)."""


def read_warm_up(client_dir: Path, page: str) -> LoadRecord | None:
    """Return a record that tells the initiators of `page`; None without one. At which delay it was is all the same."""
    files = [load_file(cell, page) for cell in sorted(client_dir.glob(WARM_UPS))]
    records = (_read(path, path.stat().st_mtime_ns) for path in files if path.is_file())
    return next((record for record in records if record and record.initiators), None)


def initiators_of(record: LoadRecord, warm_up: LoadRecord | None) -> Sequence[Initiator]:
    """Return the initiators of the requests of the load of `record`, in Chrome's order; none without a `warm_up`."""
    if record.initiators is not None or warm_up is None:
        return record.initiators or ()
    then, now = _urls(warm_up), _urls(record)
    known = {*now.values()}
    other = {url: now[answer] for answer, url in then.items() if url not in known and answer in now}
    return [replace(said, url=other.get(said.url, said.url), by=other.get(said.by, said.by))
            for said in warm_up.initiators or ()]


def _urls(record: LoadRecord) -> dict[str, str]:
    """Return by its identity the URL that got each answer."""
    each = record.answers.each if record.answers else ()
    return {answer.identity: without_fragment(answer.url) for answer in each if answer.identity}


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> LoadRecord | None:
    try:
        return read_load_record(path)
    except UnreadableFileError:
        return None


def kind_of(exchange: Exchange) -> str:
    """Return what an exchange was for, from what Chrome says with the request and from the answer's type.

    Chrome says it with Accept, of what it loads itself, and over https with Sec-Fetch-Dest (Fetch Metadata). A script
    may say any Accept with what it fetches: text/html for a part of a page (jQuery's load(), Turbo).
    """
    asked = exchange.request
    accept, dest = asked.header("accept"), asked.header("sec-fetch-dest")
    if dest == FETCHED or asked.header(OF_SCRIPTS):
        return DATA         # whatever its type and its Accept are: no load event waits for what a script reads
    for prefix, kind in (("text/html", DOCUMENT), ("text/css", STYLE), ("image/", IMAGE)):
        if accept.startswith(prefix):
            return kind
    mime_type = exchange.answer.mime_type
    for word, kind in (("javascript", SCRIPT), ("ecmascript", SCRIPT), ("font", FONT)):
        if word in mime_type:
            return kind
    return MEDIA if mime_type.startswith(("audio/", "video/")) else _kind_of_any_type(exchange)


def _kind_of_any_type(exchange: Exchange) -> str:
    """Return what a request was for whose answer's type does not say it: scripts and fonts are taken whatever it is.

    JSONP often is text/html, a font application/octet-stream, a 404 anything. Over http a script shows where it is of
    another origin: what scripts themselves fetch from there (XMLHttpRequest, fetch) says for whom it is (Origin, RFC
    6454), a part of a film has a Range. A font shows by its name.
    """
    asked = exchange.request
    if dest := asked.header("sec-fetch-dest"):
        return {"script": SCRIPT, "font": FONT}.get(dest, DATA)
    if asked.method != "GET" or asked.header("accept") != "*/*":
        return DATA
    url, by = urlsplit(asked.url), urlsplit(exchange.initiator or asked.header("referer"))
    if url.path.lower().endswith(FONT_NAMES):
        return FONT
    is_of_another_origin = by[:2] not in (("", ""), url[:2])
    return SCRIPT if is_of_another_origin and not any(map(asked.header, FETCHED_WITH)) else DATA


def is_unread(asked: Request) -> bool:
    """Tell whether nothing on the page gets to know a request's answer: navigator.sendBeacon(), <a ping>, prefetch.

    Such a request is for no element of the page ("empty"), and may not be read across origins ("no-cors"); what scripts
    read says "cors" or "same-origin" (Fetch Metadata). Beacons and pings are posted: a GET or HEAD of this kind is a
    fetch() whose answer is not read, but heard of, as by scripts that look for a blocker of advertisements. Chrome says
    of what is fetched ahead that it is (Sec-Purpose), over http of nothing else.
    """
    return asked.header("sec-purpose").startswith("prefetch") or (
        asked.method == "POST" and asked.header("sec-fetch-dest") == FETCHED
        and asked.header("sec-fetch-mode") == "no-cors")
