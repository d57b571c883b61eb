"""Whether a recorded page is the one that was asked for: not incomplete, not another one, not empty when replayed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from harness.errors import first_few
from harness.files.exchange import Fate
from harness.files.headers import EVENT_STREAM
from harness.files.urls import document_url
from harness.mirror.answers import FAILED_RATIO
from harness.mirror.live import left_out
from harness.netlog.websockets import MOST_BYTES
from harness.record.page import PageRecording, Seen
from harness.record.sources.brought import mask

LEAST_AGAIN = 0.5
"""A page that others recorded asks for at least this share of the URLs again, or it is not that page."""
FEWEST_RECORDED = 10
"""Of fewer URLs a share says little: an image in another size can be half of it."""
ENDLESS = "answer without an end"
NOT_COUNTED = (Fate.AFTER_LOAD, Fate.CANCELLED, Fate.BROWSERS_OWN)
TOO_MUCH = f"WebSocket with more than {MOST_BYTES // 1_000_000} MB"


def incompleteness(recording: PageRecording) -> str:
    """Return in words that too many requests up to the load event failed, or too many bytes are missing, "" when not.

    They will fail in every load of the replay, too, and a page without its parts is a fast page.
    """
    asked = [seen for seen in recording.requests if seen.over and _counts(seen)]
    failed = [seen for seen in asked if not seen.status]
    if len(failed) <= FAILED_RATIO * len(asked):
        return _lost(asked, failed)
    errors = Counter(seen.exchange.error.removeprefix("net::") for seen in failed)
    hosts = [host for host, _ in Counter(urlsplit(seen.url).hostname or "" for seen in failed).most_common()]
    said = ", ".join(f"{count} x {error}" for error, count in errors.most_common())
    return f"{len(failed)} of {len(asked)} requests failed: {said} ({first_few(hosts)})"


def _lost(asked: Sequence[Seen], failed: Sequence[Seen]) -> str:
    """Return in words that too much of a page's bytes is missing where it comes from, "" when not."""
    lost = sorted(((seen.lost.bytes, seen.url) for seen in failed if seen.lost and seen.lost.bytes), reverse=True)
    missing = sum(bytes_ for bytes_, _ in lost)
    total = missing + sum(seen.body_bytes for seen in asked)
    if missing <= FAILED_RATIO * total:
        return ""
    named = first_few(list(dict.fromkeys(url for _, url in lost)))
    return f"{size(missing)} of its {size(total)} are missing where it comes from ({named})"


def went_elsewhere(recording: PageRecording) -> str:
    """Return in words that a page of others' asked for little of what it asked for when they recorded it, "" if not.

    A page whose first script does not work any more fails no request: it makes none.
    """
    recorded = set(recording.brought.asked_for.get(document_url(recording.url), ()) if recording.brought else ())
    got = {mask(seen.url) for seen in recording.requests if seen.status}
    again = len(recorded & got)
    if len(recorded) < FEWEST_RECORDED or again >= LEAST_AGAIN * len(recorded):
        return ""
    return f"it asked for {again} of the {len(recorded)} URLs that it got when it was recorded"


def taken_over(recording: PageRecording) -> str:
    """Return in words that no server was asked for the document that is shown, "" if one was, by Chrome or a worker."""
    if any(document.transaction.start >= recording.navigated_tick for document in recording.documents()):
        return ""
    return "it loads itself anew, and no server is asked for its URL then: its service worker, or a script, answers"


def live_connections(recording: PageRecording) -> tuple[Counter[str], Counter[str]]:
    """Return what a page keeps open for what the site sends later, by kind: what no replay can send again, and what
    every replay does.
    """
    asked = sum(recording.netlog.left_out[scheme] for scheme in ("ws:", "wss:"))
    lost, replayed = Counter({"WebSocket": asked - len(recording.websockets)}), Counter[str]()
    for websocket in recording.websockets:
        if websocket.answer.partial:
            lost[TOO_MUCH] += 1
        else:
            replayed["WebSocket"] += websocket.answer.status == HTTPStatus.SWITCHING_PROTOCOLS
    for seen in recording.requests:
        is_events = seen.exchange.answer.mime_type.lower().startswith(EVENT_STREAM)
        if is_events or seen.endless or seen.stays_open:
            (replayed if seen.stays_open else lost)["EventSource" if is_events else ENDLESS] += 1
    return +lost, +replayed


def is_mostly_late(recording: PageRecording) -> bool:
    """Tell whether most of what came over the replayed connections came after the load event: no replay has it."""
    event = recording.load_event
    exchanges = [*(seen.exchange for seen in recording.requests), *recording.websockets]
    return event is not None and left_out(exchanges, recording.moment(event.end_ms).timestamp()) is not None


def _counts(seen: Seen) -> bool:
    """Say whether a load is judged by a request: not by what came late, was cancelled, or is Chrome's own."""
    return seen.exchange.fate not in NOT_COUNTED and not seen.exchange.before_document


def size(count: int) -> str:
    """Return a number of bytes: ``1.2 MB``."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} KB"


def counted(counts: Mapping[str, int]) -> str:
    """Return ``2 x this, 1 x that``."""
    return ", ".join(f"{count} x {what}" for what, count in counts.items())
