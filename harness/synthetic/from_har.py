"""The shape of a page from a HAR without bodies, whoever recorded it: its figures are all that there is.

Who caused what is read from the Referer, which over https may name a site only: then, as without one, it was the
page's document. What an answer was asked for as follows from its type. How long the page's scripts worked before they
asked is in no HAR: the synthetic page's work for no time, so what was asked for after the load event would come before
it, and is left out. So is what comes from a host that no server of a replay can be named after, such as an IPv6
address. A size that nobody wrote down is 0. A host that spoke HTTP/3 counts as one of HTTP/2's, as in a recording: the
replay has no HTTP/3.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from harness.analysis.asked_for import DATA, DOCUMENT, IMAGE, SCRIPT, STYLE, kind_of_type
from harness.files.exchange import Exchange, Fate
from harness.files.har_entry import shortest_ms
from harness.files.hosts import is_host_name
from harness.files.urls import without_fragment
from harness.synthetic.shape import TAG, UNKNOWN_MONTH, PageShape, Resource, followed, resource_of

UNKNOWN_TYPES = ("", "x-unknown", "text/plain")
"""What HARs say of a document whose type nobody wrote down; x-unknown is Chrome's word."""


def shapes_of_har(entries: Sequence[Exchange], pages: Mapping[str, str]) -> list[PageShape]:
    """Return the shape of each page of a HAR whose document was answered, in its order; without what never was.

    `pages` are the URLs of the pages by what the exchanges call them.
    """
    of_pages: dict[str, list[Exchange]] = {}
    for entry in entries:
        if (entry.answer.status not in (0, HTTPStatus.NOT_MODIFIED) and entry.fate is not Fate.AFTER_LOAD
                and is_host_name(urlsplit(entry.request.url).hostname or "")):
            of_pages.setdefault(entry.page, []).append(entry)
    shapes = []
    for page, url in pages.items():
        answered = of_pages.get(page, [])
        begin = next((at for at, entry in enumerate(answered)
                      if without_fragment(entry.request.url) == without_fragment(url)), None)
        loaded = _Loaded(answered[begin:]) if begin is not None else None
        if loaded and _is_document(loaded.entries[loaded.end()]):
            shapes.append(_shape(url, loaded))
    return shapes


class _Loaded:
    """What was answered to a page, from its document on, and which of it followed the redirect of which, by index."""

    def __init__(self, entries: list[Exchange]) -> None:
        self.entries = entries
        self.redirect_to = followed((entry.request.url, entry.answer.redirect_url) for entry in entries)
        self._led_by = {target: index for index, target in self.redirect_to.items()}
        self._first: dict[str, int] = {}
        for index, entry in enumerate(entries):
            self._first.setdefault(without_fragment(entry.request.url), index)

    def end(self) -> int:
        """Return the index of the answer that ends the redirects of a page's document."""
        index = 0
        while index in self.redirect_to:
            index = self.redirect_to[index]
        return index

    def parent(self, index: int) -> int | None:
        """Return which earlier request caused one: what redirected to it, else its Referer, else the first."""
        if index == 0:
            return None
        referer = self._first.get(without_fragment(self.entries[index].request.header("referer")), index)
        return self._led_by.get(index, referer if referer < index else 0)


def rtts_of_har(entries: Sequence[Exchange], shapes: Sequence[PageShape]) -> dict[str, float]:
    """Return how far away the hosts of `shapes` were, in ms: the shortest TCP handshake; without those not told of."""
    hosts = {resource.host for shape in shapes for resource in shape.resources}
    found = shortest_ms((urlsplit(entry.request.url).hostname or "", entry.handshake_ms) for entry in entries)
    return {host: rtt_ms for host, rtt_ms in found.items() if host in hosts}


def _is_document(entry: Exchange) -> bool:
    """Tell whether an answer can be a page's document, which it is not known not to be: no API's, no stream's."""
    kind = entry.answer.mime_type.partition(";")[0].strip().lower()
    return entry.answer.status == HTTPStatus.OK and ("html" in kind or kind in UNKNOWN_TYPES)


def _shape(url: str, loaded: _Loaded) -> PageShape:
    """Return the figures of a page."""
    entries = loaded.entries
    first = next((entry.started for entry in entries if entry.started is not None), None)
    resources = [_resource(index, entry, loaded.parent(index), loaded.redirect_to.get(index), first)
                 for index, entry in enumerate(entries)]
    resources[0] = replace(resources[0], size_bytes=resources[loaded.end()].size_bytes)     # of all that leads to it
    http2_hosts = {resource.host for resource, entry in zip(resources, entries, strict=True)
                   if resource.scheme == "https" and entry.answer.http2}
    month = first.isoformat()[:len("2013-03")] if first else UNKNOWN_MONTH      # strftime has no four digits for year 1
    return PageShape(url, month, _with_tags(resources), http2_hosts=frozenset(http2_hosts))


def _with_tags(resources: Sequence[Resource]) -> list[Resource]:
    """Return the resources, what documents asked for as tags that stand as far apart: where they stood is in no HAR.

    A script that was asked for while its document came in stops the parser.
    """
    children: dict[int, list[int]] = defaultdict(list)
    led_to = {resource.redirect_to for resource in resources}
    for resource in resources:
        if resource.parent is not None and resource.index not in led_to:
            children[resource.parent].append(resource.index)
    placed = list(resources)
    for parent in (resource for resource in resources if resource.kind == DOCUMENT):
        for place, index in enumerate(children[parent.index], start=1):
            placed[index] = replace(
                placed[index], way=TAG, offset=parent.size_bytes * place // (len(children[parent.index]) + 1),
                blocking=placed[index].kind == SCRIPT and placed[index].start_ms <= parent.end_ms)
    return placed


def _resource(index: int, entry: Exchange, parent: int | None, redirect_to: int | None,
              first: datetime | None) -> Resource:
    """Return the figures of one request; `first` is when the first of the page was asked for."""
    size = next((size for size in (entry.answer.body_bytes, entry.answer.content_bytes) if size >= 0), 0)
    start = max(0, round((entry.started - first).total_seconds() * 1000)) if entry.started and first else 0
    found = resource_of(entry.request.url, entry.answer.mime_type, index=index, size_bytes=size, parent=parent,
                        redirect_to=redirect_to, start_ms=start, end_ms=start + round(entry.time_ms or 0.0), kind=DATA)
    return replace(found, kind=DOCUMENT if index == 0 else _kind(found.mime or ""))


def _kind(mime_type: str) -> str:
    """Return what an answer of this type is most often asked for as (one of harness.synthetic.shape.KINDS)."""
    if mime_type.startswith("image/"):
        return IMAGE
    return kind_of_type(mime_type) or {"text/css": STYLE, "text/html": DOCUMENT}.get(mime_type, DATA)
