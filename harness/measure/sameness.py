"""Which of a page's loads are the same page: those that got the same recorded answers, whatever their URLs said.

URLs of real pages have times and random numbers in them, so no two loads ask for quite the same URLs. But the replay
answers with what was recorded, and says which recorded answer it sent. What most loads of a page got is the page.
Another load is the same page if it got this, too:

    parts      documents, frames, scripts, style sheets, and whatever lies on the critical path: all of them, with the
               same status, the same bytes, and no error
    the rest   pictures, fonts, beacons: up to REST_RATIO of the page's answers may be missing, different or additional

Four kinds of answers are not compared: those to requests after the load event, those that the page itself cancelled,
those that our time limit cut, and those to what Chrome asks for on its own (/favicon.ico, a manifest). Some loads ask
for a thing just before the load event and others just after it, which is nobody's fault. But a load event that came too
soon is: more than MOVED_RATIO of what the other loads got before it came after it in this load.

Requests to a host that the replay has no answer for count as one. Some recorded answers differ in volatile values
only: wsj asks for a script eight times, each time with another random number. Which of these is sent depends on the
order of arrival, so they count as the same answer.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from harness.analysis.asked_for import PARTS
from harness.files.load_parts import COMPARED, ReceivedAnswer
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Blame, Reason, Verdict
from harness.mirror.alike import mask_target

REST_RATIO = 0.05
"""So many answers that are not parts may differ: this share of the page's answers, or REST_LEAST if that is more.
docs/method.md says how often undisturbed loads differ."""
REST_LEAST = 1
MOVED_RATIO = 0.15
"""Seen: 2.1 s instead of 5.1 s for a page of which 45 of 197 answers were asked for after the load event, since it came
before a script had inserted them. In 256 loads that nobody disturbed no page's number varied by more than 8; the real
page of wsj.com of 2013 asks for much just when its load event comes: 9 of 83 answers came after it in one load."""
EXAMPLE_LENGTH = 80
MOST_MASKED = 2**14
"""So many URLs are remembered without their volatile values: all loads of a page ask for the same ones."""

Outcome = tuple[int, int, str]
"""An answer's status, bytes and error."""
Got = Mapping[str, Sequence[ReceivedAnswer]]
"""What a load got, by the identity of the recorded answer, or by host and error where nothing is recorded; an answer
that is not compared stands there, too, and for one that came from Chrome's cache there is an empty list."""


def compared(loads: Sequence[LoadRecord], are_good: Sequence[bool]) -> list[Verdict]:
    """Compare each of one page's loads with what most of them got; find for each load how it differs.

    Only good loads are compared, and only they decide what the page is; `are_good` says which loads have no other
    reason against them. A single load is the page. When there are two, the page is all that either of them got: if
    they differ, the one that got less is not the page.
    """
    each = [_by_identity(load) if good else {} for load, good in zip(loads, are_good, strict=True)]
    counted = [got for got in each if got]
    ways: dict[str, list[list[ReceivedAnswer]]] = defaultdict(list)
    for got in counted:
        for key, answers in _came(got).items():
            ways[key].append(answers)
    # What failed in every load that has it must have failed in more than half of them.
    usual = {key: _most_frequent([answers[0] for answers in seen]) for key, seen in ways.items()
             if 2 * len(seen) >= len(counted) + all(answers[0].error for answers in seen)}
    needed = {key for key in usual
              if 2 * sum(any(answer.critical for answer in answers) for answers in ways[key]) > len(ways[key])
              or any(answer.purpose in PARTS for answers in ways[key] for answer in answers)}
    times = Counter(key for got in counted for key in got)
    common = {key for key, seen in times.items() if 2 * seen >= len(counted) > 1}
    return [_compare(got, usual, needed, common) if good else [] for got, good in zip(each, are_good, strict=True)]


def _by_identity(load: LoadRecord) -> Got:
    """Return what the load got; nothing when that is not known."""
    if load.answers is None:
        return {}
    came: dict[str, list[ReceivedAnswer]] = {identity: [] for identity in load.answers.from_cache if identity}
    for answer in load.answers.each:
        parts = urlsplit(answer.url)
        unrecorded = f"{parts.scheme}://{parts.netloc} {answer.status} {answer.error}"
        came.setdefault(answer.identity if answer.identity not in ("", "-") else unrecorded, []).append(answer)
    return came


def _came(got: Got) -> dict[str, list[ReceivedAnswer]]:
    """Return what of it is compared; where there are several answers, those that failed come first."""
    found = {key: [answer for answer in answers if answer.is_one_of(COMPARED)] for key, answers in got.items()}
    return {key: sorted(answers, key=lambda answer: not answer.error) for key, answers in found.items() if answers}


def _most_frequent(seen: Sequence[ReceivedAnswer]) -> ReceivedAnswer:
    """Return an answer with the most frequent outcome; of two that are equally frequent, the better one."""
    outcomes = Counter(map(_outcome, seen))
    return max(seen, key=lambda answer: (outcomes[_outcome(answer)], not answer.error, 0 < answer.status < 400,
                                         answer.bytes))


def _outcome(answer: ReceivedAnswer) -> Outcome:
    return answer.status, answer.bytes, answer.error


def _compare(got: Got, usual: Mapping[str, ReceivedAnswer], needed: Collection[str],
             common: Collection[str]) -> Verdict:
    """Find how a load differs that got `got`; `common` is what at least half of the loads got at any time."""
    came = {key: answers[0] for key, answers in _came(got).items()}
    late = [answer for key, answer in usual.items() if key not in came and any(each.late for each in got.get(key, ()))]
    if len(late) > max(REST_LEAST, MOVED_RATIO * len(usual)):
        return [_of_another_page(ReasonKind.EARLY_LOAD_EVENT, f"its load event came before {len(late)} of the "
                                 f"{len(usual)} answers that the others wait for ({_short(late[0])})")]
    alike, usually = {_alike(answer) for each in got.values() for answer in each}, set(map(_alike, usual.values()))
    differ = {key: f"no {_short(answer)}" for key, answer in usual.items()
              if key not in got and _alike(answer) not in alike}
    differ |= {key: f"{_short(answer)}, elsewhere {_came_as(usual[key])}" for key, answer in came.items()
               if key in usual and _outcome(answer) != _outcome(usual[key])}
    differ |= {key: f"also {_short(answer)}" for key, answer in came.items()
               if key not in usual and key not in common and _alike(answer) not in usually}
    if not differ.keys() & needed and len(differ) <= max(REST_LEAST, REST_RATIO * len(usual)):
        return []
    one = next((text for key, text in differ.items() if key in needed), next(iter(differ.values())))
    return [_of_another_page(ReasonKind.OTHER_ANSWERS, f"{len(differ)} of {len(usual)} ({one})")]


def _of_another_page(kind: ReasonKind, text: str) -> Reason:
    return Reason(kind, Blame.ACCIDENT, f"got other answers than the page's other loads: {text}")


_masked = lru_cache(MOST_MASKED)(mask_target)


def _alike(answer: ReceivedAnswer) -> tuple[str, Outcome]:
    """Return what answers have in common that differ in volatile values only."""
    return _masked(answer.url), _outcome(answer)


def _short(answer: ReceivedAnswer) -> str:
    return f"{answer.url[:EXAMPLE_LENGTH]}: {_came_as(answer)}"


def _came_as(answer: ReceivedAnswer) -> str:
    return answer.error.removeprefix("net::") or f"{answer.status} with {answer.bytes} bytes"
