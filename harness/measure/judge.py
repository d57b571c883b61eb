"""Judges loads by harness.measure.rules: the verdict on a load is the reasons against it, none if it counts.

Nothing but records goes in: a load that was measured long ago is judged like one that was measured just now.
"""

from collections.abc import Callable, Iterable, Sequence

from harness.files.exchange import Fate
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.reason import Blame, Reason
from harness.measure.rule import Found, Rule
from harness.measure.rules import RULES

Verdict = list[Reason]


def judge(loads: Sequence[LoadRecord], rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """Return the verdict on each load of a page, all tries of all runs at one RTT in the order in which they were made.

    What only other loads can tell is said at once, also of earlier ones.
    """
    return together(loads, [alone(load, rules) for load in loads], rules)


def alone(load: LoadRecord, rules: Sequence[Rule] = RULES) -> Verdict:
    """Return the verdict on a load by those rules that need no other load.

    Of a load that broke off only a part came: whatever is wrong with that part is an accident, not the page's fault.
    """
    found = _broken(rules, lambda rule: rule.check(load) if rule.check else ())
    if _broke_off(load) and not any(reason.kind is ReasonKind.LED_ON for reason in found):
        return [Reason(reason.kind, Blame.ACCIDENT, reason.text) for reason in found]
    return found


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
    compared = {rule.compare: rule.compare(loads, are_good) for rule in rules if rule.compare}

    def more(place: int) -> Verdict:
        return _broken([rule for rule in rules if not (rule.forgives_warm_ups and place in forgiven)],
                       lambda rule: compared[rule.compare][place] if rule.compare else ())

    return [[*verdict, *more(place)] for place, verdict in enumerate(verdicts)]


def judged_alone(load: LoadRecord, rules: Sequence[Rule] = RULES) -> Verdict:
    """Return the verdict on the only load of a page."""
    return judge([load], rules)[0]


def _broken(rules: Iterable[Rule], look: Callable[[Rule], Iterable[Found]]) -> Verdict:
    """Return what `look` finds of each rule, in their order."""
    reasons: Verdict = []
    for rule in rules:
        if not any(reason.kind in rule.unless for reason in reasons):
            reasons += [rule.reason(found) for found in look(rule) if found.kind is rule.kind]
    return reasons


def _broke_off(load: LoadRecord) -> bool:
    """Tell whether the load, or its document's answer, ended before its time, or never began.

    A page may ask for its document's URL again, later, or take that back: this says nothing of the first answer.
    """
    document, each = load.document, load.answers.each if load.answers else ()
    return (load.plt_ms is None or document is None or not document.status
            or any(answer.error and answer.url == document.url and not answer.late
                   and answer.fate is not Fate.CANCELLED for answer in each))
