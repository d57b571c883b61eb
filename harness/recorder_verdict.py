"""What came of recording a page, in words: is it fit for the experiment, and what could not be recorded?"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import client
from urllib.parse import urlsplit

from harness.hack_dns import PORTS
from harness.recorder_page import PageRecording

DOCUMENT_IS_GOOD = (200, 304)
MOST_RELOADS = 3
SCHEMES_WITHOUT_RECORDING = {"ws:": "websocket (a live connection)", "wss:": "websocket (a live connection)",
                             "ftp:": "ftp: address"}


@dataclass
class Verdict:
    """A page's figures; `reasons` say why it is not fit, `remarks` what else a student should know."""

    requests: int = 0
    hosts: int = 0
    bytes: int = 0
    failures: int = 0
    seconds: float = 0.0
    not_recordable: dict[str, int] = field(default_factory=dict)
    """By what stood in the way."""
    reasons: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def fit(self) -> bool:
        """Whether the experiment can use the page."""
        return not self.reasons

    def line(self, url: str) -> str:
        """Return the one line of progress."""
        figures = (f"{url}: {_many(self.requests, 'request')}, {_many(self.hosts, 'host')}, {size(self.bytes)}, "
                   f"{self.failures} failed, {self.seconds:.1f} s")
        return figures if self.fit else f"{figures}: NOT FIT: {self.reasons[0]}"

    def lines(self, url: str) -> list[str]:
        """Return the verdict in full."""
        head = f"{url}: {'fit for the experiment' if self.fit else 'NOT fit for the experiment'}"
        body = [f"because {reason}" for reason in self.reasons]
        body.append(f"{_many(self.requests, 'request')}, answered by {_many(self.hosts, 'host')}, "
                    f"{size(self.bytes)} over the network")
        if self.not_recordable:
            total = sum(self.not_recordable.values())
            body.append(f"{total} not recordable: " + counted(self.not_recordable))
        return [head, *(f"    {line}" for line in body + self.remarks)]


def judge(recording: PageRecording) -> Verdict:
    """Judge one page. `seconds` is left to the caller."""
    answers = recording.answers
    verdict = Verdict(
        requests=len(answers), hosts=len({urlsplit(answer.url).hostname for answer in answers if answer.status}),
        bytes=sum(answer.one.body_bytes for answer in answers), reasons=_reasons(recording))
    _find_failures(recording, verdict)
    _find_not_recordable(recording, verdict)
    _find_remarks(recording, verdict)
    return verdict


def size(count: int) -> str:
    """Return a number of bytes in the words of a person."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} KB"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def counted(counts: Mapping[str, int]) -> str:
    """Return ``2 x this, 1 x that``."""
    return ", ".join(f"{count} x {what}" for what, count in counts.items())


def _reasons(recording: PageRecording) -> list[str]:
    documents = recording.documents()
    bad = [answer for answer in documents if answer.status and answer.status not in DOCUMENT_IS_GOOD]
    if bad:
        status = bad[-1].status
        words = "asks for a login" if status == 401 else "does not give the page to us"
        return [f"the server answered {status} {client.responses.get(status, '')}: it {words}"]
    reasons = list(recording.visit.errors)
    if recording.visit.document_uri.startswith("chrome-error://"):
        reasons.append("Chrome shows an error page")
    most = max(Counter(answer.url for answer in documents).values(), default=0)
    if most > MOST_RELOADS:
        reasons.append(f"it keeps loading itself anew, {most} times until the limit")
    if not reasons and not any(answer.file or answer.body for answer in documents):
        reasons.append("the page itself never arrived")
    return reasons


def _find_failures(recording: PageRecording, verdict: Verdict) -> None:
    """Count by error the URLs that never answered; one that answered another time did not fail."""
    answered = {answer.url for answer in recording.answers if answer.status}
    failed = {answer.url: answer.one.error for answer in recording.answers
              if answer.over and not answer.status and answer.url not in answered}
    verdict.failures = len(failed)
    if failed:
        verdict.remarks.append(f"{len(failed)} failed, as they do for a visitor: {counted(Counter(failed.values()))}")
    errors = Counter(f"{answer.status} {client.responses.get(answer.status, '')}".strip()
                     for answer in recording.answers if answer.status >= 400)
    if errors:
        verdict.remarks.append(f"{errors.total()} answered with an error, which is recorded: {counted(errors)}")


def _find_not_recordable(recording: PageRecording, verdict: Verdict) -> None:
    found: Counter[str] = Counter()
    for scheme, words in SCHEMES_WITHOUT_RECORDING.items():
        if recording.netlog.left_out[scheme]:
            found[words] += recording.netlog.left_out[scheme]
    for answer in recording.answers:
        if not answer.over:
            found["streaming (the answer had no end)" if answer.status else "hanging (no answer came)"] += 1
        elif answer.status and not answer.whole:
            found["given up half way"] += 1
    verdict.not_recordable = dict(found)


def _find_remarks(recording: PageRecording, verdict: Verdict) -> None:
    visit = recording.visit
    inline = Counter({scheme: count for scheme, count in visit.inline.items() if count})
    if inline:
        verdict.remarks.append(f"nothing to record, they need no network: {counted(inline)}")
    refetched = sum(answer.refetched is not None for answer in recording.answers)
    if refetched:
        verdict.remarks.append(f"{refetched} fetched a second time, since Chrome gave up half way")
    ports = {urlsplit(answer.url).netloc for answer in recording.answers
             if urlsplit(answer.url).port not in (None, *PORTS.values())}
    if ports:
        verdict.remarks.append(f"on a port of their own, which is not replayed: {', '.join(sorted(ports))}")
    if visit.popups:
        verdict.remarks.append(f"{visit.popups} popups closed")
    if visit.loaded and not visit.quiet:
        verdict.remarks.append("it never stopped loading things; what came until the limit is recorded")
