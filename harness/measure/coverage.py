"""How much of a page's recording a load got. What lacks a part loads fast.

A load is incomplete if it got less than WHOLE_RATIO of the answers, or of their bytes, that the recording holds for
the page. If even the page's best load gets less than the recording holds, the others are compared with that load: if a
page asks for 52 of 57 recorded answers, a load with 51 (a beacon less) is complete. But where the recording is what a
load asked for, no load gets enough if even the best one gets less than WHOLE_RATIO of it, and of any recording's
answers, if even the best one gets less than LEAST_RATIO: recordings of 2013 hold more than today's Chrome asks for, but
not that much more. So a load with less than LEAST_RATIO is incomplete beside a better one, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf
from pathlib import Path

from harness.errors import first_few
from harness.files.exchange import Fate
from harness.files.load_parts import NOT_MISSED, WHOLE_RATIO, Coverage, ReceivedAnswers
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.files.urls import is_asked_by_browser
from harness.measure.rule import Blame, Reason, Verdict
from harness.mirror.answers import Recorded
from harness.mirror.recording import Recording
from harness.replay.match import OF_PREFLIGHTS

LEAST_RATIO = 0.50
MOST_LOST = 20
"""So many URLs of what a load lost are kept in its record."""
GOT = ("exact", "stand-in")
WITH_LESS = (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED)
"""Answers that have less of a body than was recorded, since no more was asked for."""


@dataclass(frozen=True)
class RecordedPage:
    """What a recording holds for a page: the size of each answer's body by its identity.

    `of_a_load`: see Coverage. `answers` are all of the page by their identities, also those that no load is held to,
    with how long their server takes for them. `alike` are those that say the same to the same request as one of
    `sizes`: the identity of each, and which one it says again. `document_bytes` are the sizes that its document may
    have as Chrome shows it, `silent` the schemes and hosts that did not answer when it was recorded.
    """

    sizes: Mapping[str, int]
    of_a_load: bool = False
    answers: Mapping[str, Recorded] = field(default_factory=dict)
    alike: Mapping[str, str] = field(default_factory=dict)
    document_bytes: Sequence[int] = ()
    silent: frozenset[tuple[str, str]] = frozenset()


def recorded_page(recording: Recording, mirror: Path, page: str, document_bytes: Sequence[int] = ()) -> RecordedPage:
    """Return what the recording holds for the page of this name, whose document may have these sizes.

    Whether there was a load at all shows in the headers: a text log, which has none, lists what a scraper stored. What
    scripts ask for when a live connection tells them something is asked for before the load event or not as it happens,
    so of a page that was told something before its load event only what it had asked for before that is held against
    a load.

    The same answer to the same request counts once, however often it was asked for. How often is chance: Chrome asks
    for a style sheet a second time if an Early Hint came just in time for the first, and a second time whether it may
    ask an API as long as the first answer to that is under way.
    """
    logged = recording.transactions(page)
    first: dict[tuple[object, ...], Recorded] = {}
    for answer in _asked_for_by_a_load(logged):
        first.setdefault(_said(answer), answer)
    sizes = {answer.identity: _body_bytes(mirror, answer) for answer in first.values()}
    alike = {answer.identity: first[said].identity for answer in logged
             if (said := _said(answer)) in first and answer.identity not in sizes}
    return RecordedPage(
        sizes, bool(logged) and all(answer.headers is not None for answer in logged),
        {answer.identity: answer for answer in logged}, alike, document_bytes,
        frozenset(recording.silent.get(page, ())))


def _asked_for_by_a_load(logged: Sequence[Recorded]) -> list[Recorded]:
    """Return the answers that a load asks servers for up to its load event, and gets again if it is the same page.

    Requests after the load event may be due to scrolling, which no load does. Documents that a later one took the place
    of, and what they asked for, are not those of a load: it begins with the document that is shown. Nor does a server
    see what the browser answered itself. By what the browser asks for on its own time no load is judged, nor by what
    the mirror lacks (which is a 404), nor by long polls, which may still wait when a load ends.
    """
    asked = [answer for answer in logged if not (answer.after_load or answer.exchange.before_document or answer.internal
                                                 or answer.slow_ms or answer.lacks_body or answer.after_message
                                                 or is_asked_by_browser(answer.url))]
    last = {answer.url: answer.identity for answer in asked if answer.asked.navigation and not answer.redirect_url}
    return [answer for answer in asked if not answer.asked.navigation or answer.redirect_url
            or answer.identity == last[answer.url]]


def _said(answer: Recorded) -> tuple[object, ...]:
    """Return what an answer has in common with those that say the same to the same request.

    Without a body there are preflights, which say something to one origin.
    """
    headers = [answer.asked.headers.get(name) for name in ("origin", *OF_PREFLIGHTS)] if not answer.file else []
    return (answer.url, answer.asked.body, *headers, answer.method == "HEAD", answer.status, answer.redirect_url,
            answer.file)


def _body_bytes(mirror: Path, answer: Recorded) -> int:
    """Return how many bytes of an answer's body a load gets: of a stream those that came before the load event."""
    file = answer.file
    try:
        size = (mirror / file).stat().st_size if file else 0
    except OSError:
        return 0
    return min(size, answer.arrivals[-1][1]) if answer.arrivals else size


def coverage(answers: ReceivedAnswers, recorded: RecordedPage) -> Coverage:
    """Return how much of what was `recorded` a load got, at whatever time.

    A page that loads itself again takes from Chrome's cache what it got the first time. Answers to requests that the
    page itself cancelled need not be there: whether they arrive before that is chance, and whether they are sent.
    """
    came: dict[str, float] = defaultdict(float)
    for answer in answers.each:
        identity = recorded.alike.get(answer.identity, answer.identity)
        if answer.fate in NOT_MISSED:
            came[identity] = inf        # as much as there was for it
        elif answer.kind in GOT:
            came[identity] += inf if answer.wire_bytes is None or answer.status in WITH_LESS else answer.wire_bytes
    came |= dict.fromkeys((recorded.alike.get(identity, identity) for identity in answers.from_cache), inf)
    unsent = {answer.url for answer in answers.each if answer.fate is Fate.CANCELLED and not answer.identity}
    urls = {identity: recorded.answers[identity].url for identity in recorded.sizes}
    came |= dict.fromkeys((identity for identity, url in urls.items() if url in unsent), inf)
    got = {identity: int(min(size, came[identity])) for identity, size in recorded.sizes.items() if identity in came}
    lost = [url for identity, url in urls.items() if identity not in got]
    return Coverage(len(recorded.sizes), sum(recorded.sizes.values()), len(got), sum(got.values()), recorded.of_a_load,
                    tuple(lost[:MOST_LOST]))


def compared(loads: Sequence[LoadRecord], are_good: Sequence[bool]) -> list[Verdict]:
    """Find for each load of a page what it lacks, compared with the page's best load.

    Only loads that `are_good` otherwise can be the best one. It may be the only one, if there is no other load.
    """
    found = [load.answers.coverage if load.answers and good else None
             for load, good in zip(loads, are_good, strict=True)]
    most = max((cover.got for cover in found if cover), default=0)
    most_bytes = max((cover.got_bytes for cover in found if cover), default=0)
    return [_too_little(cover, most, most_bytes) if cover else [] for cover in found]


def _too_little(cover: Coverage, most_answers: int, most_bytes: int) -> Verdict:
    """Tell how a load got too little, beside the most of each that any good load of the page got."""
    for got, held, most, unit in ((cover.got, cover.recorded, most_answers, "answers"),
                                  (cover.got_bytes, cover.recorded_bytes, most_bytes, "bytes")):
        least_ratio = WHOLE_RATIO if cover.of_a_load else LEAST_RATIO if unit == "answers" else 0.0
        in_no_load = most < least_ratio * held
        wanted = held if in_no_load else min(held, most)
        if got < WHOLE_RATIO * wanted or (not cover.of_a_load and got < least_ratio * held):
            whose = f"the recording holds, and no load got more than {most}" if in_no_load else \
                "the recording holds" if most >= held else "the page's best load got"
            without = f", without {first_few(cover.lost)}" if cover.lost else ""
            return [Reason(ReasonKind.TOO_LITTLE, Blame.PAGE if in_no_load else Blame.ACCIDENT,
                           f"got {got} of the {wanted} {unit} that {whose}{without}")]
    return []
