"""RULES: all that can speak against a load, in the order in which it is said, and how loads are judged by it.

The verdict on a load is the reasons against it, none if it counts. Nothing but records goes in: a load that was
measured long ago is judged like one that was measured just now. docs/method.md prints the table.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.files.exchange import Fate
from harness.files.load_parts import WHOLE_RATIO
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure import coverage, sameness
from harness.measure.content_rules import CONTENT
from harness.measure.network_rules import NETWORK
from harness.measure.rule import Blame, Rule, Verdict
from harness.measure.time_rules import TIME

BESIDE_OTHERS = (
    Rule(kind=ReasonKind.EARLY_LOAD_EVENT, threshold=f"over {sameness.MOVED_RATIO:.0%} of these",
         source="benchmarks/sameness.py, docs/method.md (Another page): 0 of 207 unspoiled loads; wsj.com's of 2013 "
         "asks for 9 of 83 answers on either side of its load event",
         measured="answers that the page's other loads received before their load events, and this one after its own"),
    Rule(kind=ReasonKind.OTHER_ANSWERS,
         threshold=f"one document, frame, script, style sheet or answer on the critical path; of the rest over "
         f"{sameness.REST_RATIO:.0%}, one at least",
         source="benchmarks/sameness.py, docs/method.md (Another page): 0 of 207 unspoiled loads differ by more",
         measured="answers differ from those of the page's other loads (a warm-up's may, once a load is measured)"),
    Rule(kind=ReasonKind.TOO_LITTLE,
         threshold=f"under {WHOLE_RATIO:.0%} of what the recording holds; where no load receives all of it, of what "
         "the page's best load received. The page's fault where the recording has HARs, and no load receives so much "
         "of what was recorded before the first message of a live connection; or where no load receives "
         f"{coverage.LEAST_RATIO:.0%} of any recording's answers, under which no load counts",
         measured="recorded answers that the load received, by number and by bytes (what the page cancelled or had in "
         "its cache counts; the same body for the same request counts once)",
         source="tests/corpus/loads/star.jsonl: real loads that were left alone got all of it"),
)
RULES: tuple[Rule, ...] = (*CONTENT, *NETWORK, *TIME, *BESIDE_OTHERS)


def judge(loads: Sequence[LoadRecord], rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """Return the verdict on each load of a page, all tries of all runs at one RTT in the order in which they were made.

    What only other loads can tell is said at once, also of earlier ones.
    """
    return together(loads, [alone(load, rules) for load in loads], rules)


def alone(load: LoadRecord, rules: Sequence[Rule] = RULES) -> Verdict:
    """Return the verdict on a load by those rules that need no other load.

    Of a load that was led on, all else that is known is about the page to which it was led. Of one that broke off only
    a part came: whatever is wrong with that part is an accident, not the page's fault.
    """
    found: Verdict = []
    for each in rules:
        if not any(reason.kind in each.unless for reason in found):
            found += each.reasons(load)
        if any(reason.kind is ReasonKind.LED_ON for reason in found):
            return found
    return [replace(reason, blame=Blame.ACCIDENT) for reason in found] if _broke_off(load) else found


def together(loads: Sequence[LoadRecord], verdicts: Sequence[Verdict],
             rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """Return `verdicts`, and what else is wrong with the good loads of a page beside each other.

    Once there is a good measured load, the last try of a warm-up may have got other answers than the page's other
    loads: it is never counted, and without cookies and caches a page may take another turn.
    """
    are_good = [not verdict for verdict in verdicts]
    last = {(load.run, load.transport): place for place, load in enumerate(loads)}
    is_measured = any(load.run > 0 and good for load, good in zip(loads, are_good, strict=True))
    forgiven = {place for (run, _), place in last.items() if is_measured and run == 0}
    differ, lack = sameness.compared(loads, are_good), coverage.compared(loads, are_good)
    kinds = {each.kind for each in rules}
    return [[*verdict, *(reason for reason in (*(() if place in forgiven else differ[place]), *lack[place])
                         if reason.kind in kinds)] for place, verdict in enumerate(verdicts)]


def _broke_off(load: LoadRecord) -> bool:
    """Tell whether the load, or its document's answer, ended before its time, or never began.

    A page may ask for its document's URL again, later, or take that back: this says nothing of the first answer.
    """
    document, each = load.document, load.answers.each if load.answers else ()
    return (load.plt_ms is None or document is None or not document.status
            or any(answer.error and answer.url == document.url and not answer.late
                   and answer.fate is not Fate.CANCELLED for answer in each))
