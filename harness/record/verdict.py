"""What came of recording a page, in words: is it fit for the experiment, and what could not be recorded?

It is not fit where it is incomplete, another one than was asked for, or empty when replayed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus, client
from urllib.parse import urlsplit

from harness.errors import first_few, many
from harness.files.exchange import UNFINISHED, Fate
from harness.files.headers import EVENT_STREAM
from harness.files.pages import sanitise
from harness.mirror.answers import DOCUMENT_IS_GOOD, FAILED_RATIO
from harness.netlog.page import led_on_in_words, moved_on_to
from harness.record.page import PageRecording, Seen
from harness.record.sources.brought import Brought, mask

MOST_RELOADS = 3
LEAST_AGAIN = 0.5
"""A page that others recorded asks for at least this share of the URLs again, or it is not that page."""
FEWEST_RECORDED = 10
"""Of fewer URLs a share says little: an image in another size can be half of it."""
ENDLESS = "answer without an end"
NOT_COUNTED = (Fate.AFTER_LOAD, Fate.CANCELLED, Fate.BROWSERS_OWN)


@dataclass
class Verdict:
    """A page's figures; `reasons` say why it is not fit, `remarks` what else a student should know."""

    requests: int = 0
    hosts: int = 0
    bytes: int = 0
    failures: int = 0
    not_recordable: dict[str, int] = field(default_factory=dict)
    """By what stood in the way."""
    reasons: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def fit(self) -> bool:
        """Whether the experiment can use the page."""
        return not self.reasons

    @property
    def figures(self) -> str:
        """How much was asked for, of whom, how much crossed the network, and what failed."""
        return (f"{many(self.requests, 'request')}, {many(self.hosts, 'host')}, {size(self.bytes)}, "
                f"{self.failures} failed")

    def line(self, url: str, seconds: float) -> str:
        """Return the one line of progress, of a page that took so many seconds."""
        return f"{url}: {self.figures}, {seconds:.1f} s{'' if self.fit else f': NOT FIT: {self.reasons[0]}'}"

    def lines(self, url: str) -> list[str]:
        """Return the verdict in full."""
        body = [*(f"because {reason}" for reason in self.reasons), self.figures]
        if self.not_recordable:
            body.append(f"{sum(self.not_recordable.values())} not recordable: {counted(self.not_recordable)}")
        return [f"{url}: {'fit' if self.fit else 'NOT fit'} for the experiment",
                *(f"    {line}" for line in body + self.remarks)]


def judge(recording: PageRecording) -> Verdict:
    """Judge one page."""
    requests, (lost, replayed) = recording.requests, live_connections(recording)
    answered = {seen.url for seen in requests if seen.status}
    # One whose URL answered another time did not fail.
    failed = [seen for seen in requests if seen.over and not seen.status and seen.url not in answered]
    return Verdict(
        requests=sum(not seen.exchange.from_cache for seen in requests),
        hosts=len({urlsplit(url).hostname for url in answered}), bytes=sum(map(_network_bytes, requests)),
        failures=len(failed), not_recordable=dict(lost + _not_recordable(recording)),
        reasons=_no_page(recording) or _another_page(recording) or [*filter(None, (
            taken_over(recording), incompleteness(recording), went_elsewhere(recording)))],
        remarks=[*_remarks(recording, failed, lost, replayed)])


def _network_bytes(seen: Seen) -> int:
    """Return how much of an answer's body crossed the network."""
    return max(0, seen.exchange.answer.body_bytes)


def _no_page(recording: PageRecording) -> list[str]:
    """Say why what was asked for gave no page; nothing where it did."""
    documents = recording.documents()
    bad = [seen for seen in documents if seen.status and seen.status not in DOCUMENT_IS_GOOD]
    if bad:
        status = bad[-1].status
        return [f"the server answered {status} {client.responses.get(status, '')}: it does not give the page to us"]
    brought = recording.brought
    if brought and documents and (archived := documents[-1].archived) and not documents[-1].status:
        if archived.error:
            return [f"{brought.name} has {documents[-1].url} without its body: {archived.error}"]
        return [f"{brought.name} does not have {documents[-1].url} as a page"]
    reasons = list(recording.visit.errors)
    if recording.visit.document_uri.startswith("chrome-error://"):
        reasons.append("Chrome shows an error page")
    most = max(Counter(seen.url for seen in documents).values(), default=0)
    if most > MOST_RELOADS:
        reasons.insert(0, f"it keeps loading itself anew, {most} times until the limit")     # why the others are
    if not reasons and not any(seen.exchange.answer.content for seen in documents):
        reasons.append("the page itself never arrived")
    return reasons


def _another_page(recording: PageRecording) -> list[str]:
    """Say that scripts led on to another page, which is shown."""
    since = recording.origin_tick
    other = moved_on_to(recording.netlog, recording.url, since) if since else ""
    return [led_on_in_words(other)] if other else []


def _not_recordable(recording: PageRecording) -> Counter[str]:
    """Count by what stood in the way what no replay has, but for live connections."""
    return Counter(seen.exchange.note or UNFINISHED for seen in recording.requests
                   if not (seen.stays_open or seen.endless) and not (seen.over and (seen.whole or not seen.status)))


def _remarks(recording: PageRecording, failed: Sequence[Seen], lost: Counter[str], replayed: Counter[str]
             ) -> Iterator[str]:
    if failed:
        yield f"{len(failed)} failed: {counted(Counter(seen.exchange.error for seen in failed))}"
    if lost:
        yield (f"live connections are not replayed ({counted(lost)}): what comes over them is missing, and the page "
               "may be empty without it")
    if replayed:
        yield (f"live connections ({counted(replayed)}): what came over them is replayed, with its times up to the "
               "load event; what came later is not, so a replay may show less than the page")
    if any(seen.exchange.before_document for seen in recording.requests):
        yield ("another document came before the one that is shown (a question for consent, say): its loads are timed "
               "from there, and some connections stand by then")
    if recording.brought:
        yield from _of_source(recording, recording.brought)
    if recording.visit.loaded and not recording.visit.quiet:
        yield "it never stopped loading things; what came until the limit is recorded"


def _of_source(recording: PageRecording, brought: Brought) -> Iterator[str]:
    """Say from where and when the answers are, and what stands in for what."""
    answers = [seen.archived for seen in recording.requests if seen.archived and seen.status]
    days = sorted({str(answer.started.date()) for answer in answers if answer.started is not None})
    when = f", captured on {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    yield f"brought from {brought.name}{when}; its times are unknown"
    yield from brought.remarks
    if notes := Counter(answer.note for answer in answers if answer.note):
        yield f"br or gzip stands for the coding of {many(notes.total(), 'answer')}: {counted(notes)}"
    if stand_ins := sum(seen.stands_in for seen in recording.requests if seen.status):
        yield f"{stand_ins} answered by what was recorded for a similar URL"


def incompleteness(recording: PageRecording) -> str:
    """Return in words that too many requests up to the load event failed, or too many bytes are missing where it comes
    from, "" when not.

    They will fail in every load of the replay, too, and a page without its parts is a fast page.
    """
    asked = [seen for seen in recording.requests if seen.over and _counts(seen)]
    failed = [seen for seen in asked if not seen.status]
    missing = sum(max(0, seen.archived.answer.body_bytes) for seen in failed if seen.archived)
    total = missing + sum(map(_network_bytes, asked))
    if len(failed) <= FAILED_RATIO * len(asked) and missing <= FAILED_RATIO * total:
        return ""
    errors = Counter(seen.exchange.error for seen in failed)
    return (f"{len(failed)} of {len(asked)} requests failed{f', {size(missing)} of {size(total)}' if missing else ''}: "
            f"{counted(errors)} ({first_few(list(dict.fromkeys(seen.url for seen in failed)))})")


def went_elsewhere(recording: PageRecording) -> str:
    """Return in words that a page of others' asked for little of what it asked for when they recorded it, "" if not.

    A page whose first script does not work any more fails no request: it makes none.
    """
    recorded = recording.brought.asked_for(sanitise(recording.url)) if recording.brought else set[str]()
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
    whole = [websocket.answer.status for websocket in recording.websockets if not websocket.answer.partial]
    lost = Counter({"WebSocket": asked - len(whole)})
    replayed = Counter({"WebSocket": whole.count(HTTPStatus.SWITCHING_PROTOCOLS)})
    for seen in recording.requests:
        is_events = seen.exchange.answer.mime_type.lower().startswith(EVENT_STREAM)
        if is_events or seen.endless or seen.stays_open:
            (replayed if seen.stays_open else lost)["EventSource" if is_events else ENDLESS] += 1
    return +lost, +replayed


def _counts(seen: Seen) -> bool:
    """Say whether a load is judged by a request: not by what came late, was cancelled, or is Chrome's own."""
    return seen.exchange.fate not in NOT_COUNTED and not seen.exchange.before_document


def size(count: int) -> str:
    """Return a number of bytes: ``1.2 MB``."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} KB"


def counted(counts: Mapping[str, int]) -> str:
    """Return ``2 x this, 1 x that``."""
    return ", ".join(f"{count} x {what}" for what, count in counts.items())
