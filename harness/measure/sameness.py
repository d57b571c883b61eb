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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from urllib.parse import urlsplit

from harness.analysis.asked_for import PARTS
from harness.files.exchange import UNFINISHED
from harness.files.load_parts import COMPARED, ReceivedAnswer
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Values
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
FROM_CACHE = ReceivedAnswer(url="", kind="exact", error=UNFINISHED)
"""As one that was cut: it is not compared."""


def compared(loads: Sequence[LoadRecord], are_good: Sequence[bool]) -> list[dict[ReasonKind, Values]]:
    """Compare each of one page's loads with what most of them got; find for each load how it differs.

    Only good loads are compared, and only they decide what the page is; `are_good` says which loads have no other
    reason against them. A single load is the page. When there are two, the page is all that either of them got: if
    they differ, the one that got less is not the page.
    """
    all_got = [_by_identity(load) for load in loads]
    counted = [got for got, good in zip(all_got, are_good, strict=True) if got and good]
    if not counted:
        return [{} for _ in loads]
    usual = _usual(counted)
    times = Counter(key for got in counted for key in got)
    common = {key for key, seen in times.items() if 2 * seen >= len(counted) > 1}
    return [_compare(got, usual, common) if good else {} for got, good in zip(all_got, are_good, strict=True)]


def _by_identity(load: LoadRecord) -> dict[str, ReceivedAnswer]:
    """Return what the load got, by the identity of the recorded answer; by host and error where nothing is recorded.

    If an answer came several times, the worst one before the load event counts, and the page needs it if it needed it
    once. A page that loads itself again takes some answers from Chrome's cache, and chance decides which: these are in
    the result as FROM_CACHE. The result is empty when it is not known what the load got.
    """
    came: dict[str, list[ReceivedAnswer]] = defaultdict(list)
    for answer in load.answers.each if load.answers else ():
        came[answer.identity if answer.identity not in ("", "-") else _unrecorded(answer)].append(answer)
    for identity in filter(None, load.answers.from_cache if load.answers else ()):
        came[identity] = came[identity] or [FROM_CACHE]
    return {key: _worst([answer for answer in answers if _matters(answer)] or answers[:1])
            for key, answers in came.items()}


def _worst(answers: Sequence[ReceivedAnswer]) -> ReceivedAnswer:
    """Return the answer that failed, if one did, as one that the page needs, if it needs one of them."""
    worst = next((answer for answer in answers if answer.error), answers[0])
    return _as_needed(worst, answers, critical=any(answer.critical for answer in answers))


def _as_needed(answer: ReceivedAnswer, alike: Iterable[ReceivedAnswer], *, critical: bool) -> ReceivedAnswer:
    """Return `answer` as one that was asked for as what one of those `alike` was that the page is made of."""
    part = next((each.purpose for each in alike if each.purpose in PARTS), answer.purpose)
    return replace(answer, purpose=part, critical=critical)


def _matters(answer: ReceivedAnswer) -> bool:
    return answer.is_one_of(COMPARED)


def _is_needed(answer: ReceivedAnswer) -> bool:
    return answer.purpose in PARTS or bool(answer.critical)


def _outcome(answer: ReceivedAnswer) -> Outcome:
    return answer.status, answer.bytes, answer.error


def _unrecorded(answer: ReceivedAnswer) -> str:
    parts = urlsplit(answer.url)
    return f"{parts.scheme}://{parts.netloc} {answer.status} {answer.error}"


def _usual(loads: Sequence[Mapping[str, ReceivedAnswer]]) -> dict[str, ReceivedAnswer]:
    """Return each answer that at least half of the loads got, with its most frequent outcome.

    It is a part if it was one in any load. An answer that failed in every load that has it must have failed in more
    than half of the loads: so of two loads, the one with the failure is not the page.
    """
    ways: dict[str, list[ReceivedAnswer]] = defaultdict(list)
    for got in loads:
        for key, answer in got.items():
            if _matters(answer):
                ways[key].append(answer)
    usual = {}
    for key, seen in ways.items():
        worked = any(not answer.error for answer in seen)
        if 2 * len(seen) >= len(loads) + (not worked):
            outcomes = Counter(map(_outcome, seen))
            best = max(seen, key=lambda answer: (outcomes[_outcome(answer)], _rank(answer)))
            usual[key] = _as_needed(best, seen, critical=2 * sum(bool(answer.critical) for answer in seen) > len(seen))
    return usual


def _rank(answer: ReceivedAnswer) -> tuple[bool, bool, int]:
    """Return how good an outcome is: of two that are equally frequent, the better one is taken for the usual one."""
    return not answer.error, 0 < answer.status < 400, answer.bytes


def _compare(got: Mapping[str, ReceivedAnswer], usual: Mapping[str, ReceivedAnswer],
             common: Collection[str]) -> dict[ReasonKind, Values]:
    """Find how a load differs that got `got`; `common` is what at least half of the loads got at any time."""
    late = [answer for key, answer in usual.items() if key in got and got[key].late]
    if len(late) > max(REST_LEAST, MOVED_RATIO * len(usual)):
        return {ReasonKind.EARLY_LOAD_EVENT: {"late": len(late), "usual": len(usual), "one": _short(late[0])}}
    alike, usually = (set(map(_alike, answers.values())) for answers in (got, usual))
    missing = [answer for key, answer in usual.items() if key not in got and _alike(answer) not in alike]
    other = [(answer, usual[key]) for key, answer in got.items()
             if key in usual and _matters(answer) and _outcome(answer) != _outcome(usual[key])]
    more = [answer for key, answer in got.items() if key not in usual and key not in common and _matters(answer)
            and _alike(answer) not in usually]
    told = [*((f"no {_short(answer)}", _is_needed(answer)) for answer in missing),
            *((_in_words(answer, wanted), _is_needed(wanted)) for answer, wanted in other),
            *((f"also {_short(answer)}", False) for answer in more)]
    if not any(needed for _, needed in told) and len(told) <= max(REST_LEAST, REST_RATIO * len(usual)):
        return {}
    example, _ = max(told, key=itemgetter(1))       # the first that the page needs
    return {ReasonKind.OTHER_ANSWERS: {"missing": len(missing), "other": len(other), "more": len(more),
                                       "one": example}}


_masked = lru_cache(MOST_MASKED)(mask_target)


def _alike(answer: ReceivedAnswer) -> tuple[str, Outcome]:
    """Return what answers have in common that differ in volatile values only."""
    return _masked(answer.url), _outcome(answer)


def _short(answer: ReceivedAnswer) -> str:
    return answer.url[:EXAMPLE_LENGTH]


def _in_words(answer: ReceivedAnswer, usual: ReceivedAnswer) -> str:
    came, wanted = (each.error.removeprefix("net::") or f"{each.status} with {each.bytes} bytes"
                    for each in (answer, usual))
    return f"{_short(answer)}: {came} instead of {wanted}"
