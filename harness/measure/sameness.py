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
soon is: more than MOVED_RATIO of what the other loads got before it came after it in this load, and it took less than
EARLY_RATIO of the time that it took in the others with the same TFO (but for the warm-up with TFO, which begins without
cookies).

Requests to a host that the replay has no answer for count as one. Some recorded answers differ in volatile values
only: wsj asks for a script eight times, each time with another random number. Which of these is sent depends on the
order of arrival, so they count as the same answer.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from urllib.parse import urlsplit

from harness.analysis.answers import PARTS
from harness.files.load_parts import COMPARED, ReceivedAnswer
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Found
from harness.mirror.alike import mask_target

REST_RATIO = 0.05
"""So many answers that are not parts may differ: this share of the page's answers, or REST_LEAST if that is more.
docs/method.md says how often undisturbed loads differ."""
REST_LEAST = 1
MOVED_RATIO = 0.1
"""Seen: 2.1 s instead of 5.1 s for a page of which 45 of 197 answers were asked for after the load event, since it came
before a script had inserted them. In 256 loads that nobody disturbed no page's number varied by more than 8."""
EARLY_RATIO = 0.9
"""The real page of wsj.com of 2013 asks for much just when its load event comes: 9 of 83 answers came after it in one
load, whose PLT was 0.4% less than the others'."""
EXAMPLE_LENGTH = 80
MOST_MASKED = 2**14
"""So many URLs are remembered without their volatile values: all loads of a page ask for the same ones."""


@dataclass(frozen=True)
class Got:
    """How one recorded answer came: `outcome` is its status, bytes and error, `part` whether the page needs it.

    `no_matter`: it is not compared, since it came after the load event, or the page cancelled it, or it was cut, or
    Chrome asked for it on its own.
    """

    outcome: tuple[int, int, str]
    part: bool
    critical: bool
    url: str
    no_matter: bool
    late: bool = False
    """Only after the load event."""


FROM_CACHE = Got((0, 0, ""), part=False, critical=False, url="", no_matter=True)


def compared(loads: Sequence[LoadRecord], are_good: Sequence[bool]) -> list[list[Found]]:
    """Compare each of one page's loads with what most of them got; find for each load how it differs.

    Only good loads are compared, and only they decide what the page is; `are_good` says which loads have no other
    reason against them. A single load is the page. When there are two, the page is all that either of them got: if
    they differ, the one that got less is not the page.
    """
    all_got = [answers_by_identity(load) for load in loads]
    counted = [got for got, good in zip(all_got, are_good, strict=True) if got and good]
    if not counted:
        return [[] for _ in loads]
    usual = _usual(counted)
    times = Counter(key for got in counted for key in got)
    common = {key for key, seen in times.items() if 2 * seen >= len(counted) > 1}
    soon = [good and _came_soon(load, _others_of(number, loads, are_good))
            for number, (load, good) in enumerate(zip(loads, are_good, strict=True))]
    return [_compare(got, usual, common, came_soon=early) if good else []
            for got, good, early in zip(all_got, are_good, soon, strict=True)]


def _others_of(number: int, loads: Sequence[LoadRecord], are_good: Sequence[bool]) -> list[LoadRecord]:
    """Return the other good loads that were without TFO, or with it, as the load of this number was.

    A load with TFO is not held against the warm-up with it, which begins without cookies and so takes longer.
    """
    this = loads[number]
    return [load for other, (load, good) in enumerate(zip(loads, are_good, strict=True))
            if good and other != number and load.transport == this.transport
            and (load.run > 0 or this.run == 0 or not load.tfo)]


def _came_soon(load: LoadRecord, others: Sequence[LoadRecord]) -> bool:
    """Say whether the load event came much earlier than in the others."""
    plts_ms = [other.plt_ms for other in others if other.plt_ms]
    return bool(plts_ms) and (load.plt_ms or 0.0) < EARLY_RATIO * median(plts_ms)


def answers_by_identity(load: LoadRecord) -> dict[str, Got]:
    """Return what the load got, by the identity of the recorded answer; by host and error where nothing is recorded.

    If an answer came several times, the worst one before the load event counts, and the page needs it if it needed it
    once. A page that loads itself again takes some answers from Chrome's cache, and chance decides which: these are in
    the result as FROM_CACHE. The result is empty when it is not known what the load got.
    """
    found: dict[str, Got] = {}
    for answer in load.answers.each if load.answers else ():
        got = Got((answer.status, answer.bytes, answer.error), answer.purpose in PARTS, bool(answer.critical),
                  answer.url, late=answer.late,
                  no_matter=not answer.is_one_of(COMPARED))
        key = answer.identity if answer.identity not in ("", "-") else _unrecorded(answer)
        known = found.get(key)
        if known is None or (known.no_matter and not got.no_matter):
            found[key] = got
        elif not got.no_matter:
            worst = got if got.outcome[2] and not known.outcome[2] else known
            found[key] = replace(worst, part=known.part or got.part, critical=known.critical or got.critical)
    for identity in load.answers.from_cache if load.answers else ():
        if identity:
            found.setdefault(identity, FROM_CACHE)
    return found


def _unrecorded(answer: ReceivedAnswer) -> str:
    parts = urlsplit(answer.url)
    return f"{parts.scheme}://{parts.netloc} {answer.status} {answer.error}"


def _usual(loads: Sequence[dict[str, Got]]) -> dict[str, Got]:
    """Return each answer that at least half of the loads got, with its most frequent outcome.

    It is a part if it was one in any load. An answer that failed in every load that has it must have failed in more
    than half of the loads: so of two loads, the one with the failure is not the page.
    """
    ways: dict[str, list[Got]] = defaultdict(list)
    for got in loads:
        for key, answer in got.items():
            if not answer.no_matter:
                ways[key].append(answer)
    usual = {}
    for key, seen in ways.items():
        worked = any(not answer.outcome[2] for answer in seen)
        if 2 * len(seen) >= len(loads) + (not worked):
            outcomes = Counter(answer.outcome for answer in seen)
            outcome = max(outcomes, key=lambda outcome: (outcomes[outcome], _rank(outcome)))
            critical = 2 * sum(answer.critical for answer in seen) > len(seen)
            usual[key] = Got(outcome, any(answer.part for answer in seen), critical, seen[0].url, no_matter=False)
    return usual


def _rank(outcome: tuple[int, int, str]) -> tuple[bool, bool, int]:
    """Return how good an outcome is: of two that are equally frequent, the better one is taken for the usual one."""
    status, size, error = outcome
    return not error, 0 < status < 400, size


def _compare(got: dict[str, Got], usual: dict[str, Got], common: Collection[str], *, came_soon: bool) -> list[Found]:
    """Find how a load differs that got `got`; `common` is what at least half of the loads got at any time.

    `came_soon`: its load event came much earlier than theirs.
    """
    alike = {_alike(answer) for answer in got.values()}
    missing = [answer for key, answer in usual.items() if key not in got and _alike(answer) not in alike]
    other = [key for key, answer in got.items()
             if key in usual and not answer.no_matter and answer.outcome != usual[key].outcome]
    usually = {_alike(answer) for answer in usual.values()}
    more = [answer for key, answer in got.items() if key not in usual and key not in common and not answer.no_matter
            and _alike(answer) not in usually]
    needed = [*(f"no {_short(answer)}" for answer in missing if answer.part or answer.critical),
              *(_told(got[key], usual[key]) for key in other if usual[key].part or usual[key].critical)]
    rest = len(missing) + len(other) + len(more)
    allowed = max(REST_LEAST, REST_RATIO * len(usual))
    late = [answer for key, answer in usual.items() if key in got and got[key].late]
    if came_soon and len(late) > max(REST_LEAST, MOVED_RATIO * len(usual)):
        return [Found(ReasonKind.EARLY_LOAD_EVENT, {"late": len(late), "usual": len(usual), "one": _short(late[0])})]
    if not needed and rest <= allowed:
        return []
    examples = [*needed, *(f"no {_short(answer)}" for answer in missing),
                *(f"also {_short(answer)}" for answer in more), *(_told(got[key], usual[key]) for key in other)]
    return [Found(ReasonKind.OTHER_ANSWERS, {"missing": len(missing), "other": len(other), "more": len(more),
                                             "one": examples[0]})]


_masked = lru_cache(MOST_MASKED)(mask_target)


def _alike(answer: Got) -> tuple[str, tuple[int, int, str]]:
    """Return what answers have in common that differ in volatile values only."""
    return _masked(answer.url), answer.outcome


def _short(answer: Got) -> str:
    return answer.url[:EXAMPLE_LENGTH]


def _told(answer: Got, usual: Got) -> str:
    return f"{_short(answer)}: {_outcome(answer)} instead of {_outcome(usual)}"


def _outcome(answer: Got) -> str:
    status, size, error = answer.outcome
    return error.removeprefix("net::") if error else f"{status} with {size} bytes"

