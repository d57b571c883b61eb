"""What a rule is: when a load does not count, with the threshold, where that comes from, and the words.

And the checks of one load for which a row of harness.measure.rules has no room.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from harness.files.exchange import UNFINISHED, Fate
from harness.files.load_parts import LateAnswer, Timekeeping
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.mirror.answers import DOCUMENT_IS_GOOD
from harness.network.cookies import DOMAIN, WARM
from harness.system.fastopen import OF_UDP

SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""

EARLY_SHARE = 0.90
"""With early data at least this share of the connections that could bring their request in it did."""


class Blame(Enum):
    """Who is to blame for a load that does not count."""

    ACCIDENT = "accident"
    """Something happened to this load: the machine, a lost packet, a race. Measured again it may well be valid."""
    PAGE = "page"
    """The recording or the page itself: every further load would meet the same."""


@dataclass(frozen=True)
class Reason:
    """One reason against one load. `text` is what people read, in the terminal, the report and the load's JSON."""

    kind: ReasonKind
    blame: Blame
    text: str


NO_TOLERANCE = "no tolerance"
"""The threshold of a rule that one case breaks: it needs no source."""
Verdict = list[Reason]
"""All reasons against a load; none if it counts."""
Values = Mapping[str, Any]
"""What a rule's words tell of a load, by name; as "blame" who is to blame, if not whom the rule blames."""
Check = Callable[[LoadRecord], bool | Sequence[Values]]
"""Tells whether a load breaks a rule or, for each time that it does, what the words tell besides the load itself."""
Compare = Callable[[Sequence[LoadRecord], Sequence[bool]], Sequence[Mapping[ReasonKind, Values]]]
Times = Callable[[Timekeeping], Mapping[str, float | None]]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What may be late or lost in ms: `rtt_ratio` of the RTT and `ms`; or `plt_ratio` of the page load time, if that is
    more, but of that no more than `most_ms`.
    """

    ms: float
    rtt_ratio: float = 0.0
    plt_ratio: float = 0.0
    most_ms: float = float("inf")

    def of(self, rtt_ms: float, plt_ms: float) -> float:
        """Return the limit for a load of `plt_ms` at `rtt_ms`."""
        return max(self.rtt_ratio * rtt_ms + self.ms, min(self.plt_ratio * plt_ms, self.most_ms))

    def __str__(self) -> str:
        of_rtt = f"{self.rtt_ratio:.0%} of the RTT + " if self.rtt_ratio else ""
        of_plt = f" and {self.plt_ratio:.0%} of the PLT" if self.plt_ratio else ""
        at_most = "" if self.most_ms == float("inf") else f" (or {self.most_ms:g} ms, if that is less)"
        return f"{of_rtt}{self.ms:g} ms{of_plt}{at_most}"


LATE = Limit(ms=3.0, rtt_ratio=0.10, plt_ratio=0.02, most_ms=50.0)
"""By how much an answer may be late that the load event waited for: docs/method.md tells how often undisturbed
loads are."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A row of harness/measure/rules.py.

    `check` looks at one load, `compare` at one page's loads, of which it is told which are good otherwise: it finds for
    each load which rules are broken. What one of the kinds `unless` says better is not said again. `forgives_warm_ups`:
    see harness.measure.rules.together. `measured` says what breaks it, or what is counted or timed against `threshold`;
    `source` says where that comes from. The `words` may name the `load`, and the values that were found.
    """

    kind: ReasonKind
    measured: str
    words: str
    blame: Blame = Blame.ACCIDENT
    threshold: Limit | str = NO_TOLERANCE
    source: str = ""
    check: Check | None = None
    compare: Compare | None = None
    unless: frozenset[ReasonKind] = frozenset()
    forgives_warm_ups: bool = False

    def reasons(self, load: LoadRecord, found: bool | Sequence[Values]) -> Verdict:
        """Return the reasons against a load in words."""
        each = ([{}] if found else []) if isinstance(found, bool) else found
        return [Reason(self.kind, values.get("blame", self.blame), self.words.format(load=load, **values))
                for values in each]


def too_long(limit: Limit, measured: Times) -> Check:
    """Return a check of times in ms, by names that the words may tell: none may be over `limit`."""
    return lambda load: [{"name": name, "ms": ms} for name, ms in measured(load.timekeeping).items()
                         if ms and ms > limit.of(load.rtt_ms, load.plt_ms)] \
        if load.timekeeping and load.plt_ms else []


def worth_another_try(reasons: Iterable[Reason]) -> bool:
    """Tell whether a load with these reasons should be measured again: there are some, and all are accidents."""
    return {reason.blame for reason in reasons} == {Blame.ACCIDENT}


def texts(reasons: Iterable[Reason]) -> list[str]:
    """Return the sentences, as they stand under "why_not" in a load's JSON."""
    return [reason.text for reason in reasons]


def some(count: int) -> Sequence[Values]:
    """Return that so many were found, if there are any."""
    return [{"count": count}] if count > 0 else []


def no_load_event(load: LoadRecord) -> Sequence[Values]:
    """Find out whether the load came to its end."""
    within = f" within {load.timed_out_s:g} s" if load.timed_out_s else ""
    return [{"within": within}] if load.plt_ms is None else []


def never_ended(load: LoadRecord) -> Sequence[Values]:
    """Count the requests that had got nothing of an answer when the load ended.

    Requests after the load event do not count, nor do answers that our time limit cut: a page may go on loading for
    ever after its load event.
    """
    return some(sum(answer.error == UNFINISHED and answer.is_one_of(frozenset((Fate.FAILED,)))
                    for answer in (load.answers.each if load.answers else ())))


def document_status(load: LoadRecord) -> int | None:
    """Return the document's status; None when no head of an answer came."""
    return load.document.status or None if load.document else None


def document_bytes(load: LoadRecord) -> Sequence[Values]:
    """Find out whether a document that answered well is as large as the recorded one."""
    shown = load.document
    if shown is None or shown.status not in DOCUMENT_IS_GOOD or shown.bytes in shown.recorded_bytes:
        return []
    return [{"sizes": " or ".join(map(str, shown.recorded_bytes)) or "none"}]


def syn_again(load: LoadRecord) -> Sequence[Values]:
    """Find each SYN that was sent again, which the page did not cause.

    A SYN is sent again after 1 s (RFC 6298, section 2.1). Chrome may be done before that, since it opens a spare
    connection after 250 ms. So a load ends only when each SYN is answered (harness.browser.page), or after 1.5 s
    of silence, in which such a SYN is seen.
    """
    dropped = load.middlebox.dropped if load.middlebox else 0      # each of these is sent again, by user
    again = {where: counters["TCPSynRetrans"] - (dropped if where == "user" else 0)
             for where, counters in load.counters.items() if not _is_lossy(load)}
    return [{"where": where, "count": count} for where, count in again.items() if count > 0]


def full_queue(load: LoadRecord) -> Sequence[Values]:
    """Find what was dropped from a full queue."""
    return [{"name": name, "where": where, "count": counters[name]} for where, counters in load.counters.items()
            for name in ("ListenOverflows", "TCPFastOpenListenOverflow", OF_UDP) if counters.get(name)]


def data_without_tfo(load: LoadRecord) -> Sequence[Values]:
    """Count the connections of a load without TFO that carried data in the SYN."""
    used = max(load.syn_data_connections or 0, load.counters.get("servers", {}).get("TCPFastOpenPassive", 0))
    return some(0 if load.tfo else used)


def no_cookie(load: LoadRecord) -> Sequence[Values]:
    """Find out whether a load that began without cookies got one from each server (for "domain": one of each site)."""
    cookies = load.cookies
    if not load.tfo or cookies is None or cookies.mode == WARM or cookies.first >= cookies.visited:
        return []
    return [{"givers": "sites" if cookies.mode == DOMAIN else "servers"}]


def no_data_with_tfo(load: LoadRecord) -> Sequence[Values]:
    """Find out whether a load with TFO used it: each connection carried data, or is known to have had no chance.

    A load that begins without cookies has to use each that it got. How many connections asked for a cookie is what the
    servers' kernels counted, not how many cookies were given: for "domain" a server may stop giving them while some
    have asked already.
    """
    is_warm, others, words = load.cookies is None or load.cookies.mode == WARM, 0, ""
    if not load.tfo or (is_warm and load.run == 0):
        return []
    if not is_warm:
        others, words = load.counters["servers"]["TCPFastOpenCookieReqd"], ", and {} asked for a cookie"
    elif load.middlebox:
        others, words = load.middlebox.touched, ", and the middlebox touched {} SYNs"
    elif load.balancer > 1:
        others, words = load.counters["servers"]["TCPFastOpenPassiveFail"], ", and the cookies of {} did not fit"
    carried, in_syn = load.connections_with_request or 0, load.syn_data_connections or 0
    return [{"asked": words.format(others)}] if in_syn + others < SYN_DATA_SHARE * carried else []


def early_unasked(load: LoadRecord) -> Sequence[Values]:
    """Count the connections with early data in a load that is to have none."""
    counts = load.early_data
    return some(max(counts.sent, counts.accepted) if counts and not load.early else 0)


def little_early(load: LoadRecord) -> Sequence[Values]:
    """Find out whether a load with early data used it wherever it could."""
    counts = load.early_data
    in_time = counts.possible - counts.too_late if counts and load.early else 0
    if counts is None or counts.sent >= EARLY_SHARE * in_time:
        return []
    return [{"possible": in_time}]


def not_logged(load: LoadRecord) -> Sequence[Values]:
    """Check that the servers' logs have every connection that brought Chrome something: by these logs TFO is judged."""
    logged, used = load.connections_with_request or 0, sum(used.answered for used in load.connections or ())
    return [{"logged": logged, "used": used}] if logged < used else []


def late_answers(load: LoadRecord) -> Sequence[Values]:
    """Find the latest answer of those that the page waited for.

    Where a buffer of the simulated network lost something, or a middlebox a SYN or its data, an answer may be late for
    as long as TCP takes to notice.
    """
    touched = load.middlebox.touched if load.middlebox else 0
    if load.timekeeping is None or not load.plt_ms or touched or _is_lossy(load):
        return []
    return [{"host": answer.host, "ms": answer.late_ms} for answer in load.timekeeping.late
            if is_too_late(answer, load.rtt_ms, load.plt_ms)][:1]


def is_too_late(answer: LateAnswer, rtt_ms: float, plt_ms: float) -> bool:
    """Tell whether the page waited for an answer that was later than it may be in a load of `plt_ms` at `rtt_ms`.

    If each server has an RTT of its own (tfo.py --rtt), it is judged by its server's. Late answers that the page did
    not wait for do not count: when it asks dozens of servers at once, they wait for each other, and it for none.
    """
    return answer.critical and answer.late_ms > LATE.of(rtt_ms if answer.rtt_ms is None else answer.rtt_ms, plt_ms)


def _is_lossy(load: LoadRecord) -> bool:
    """Tell whether packets were lost because the buffers of user's own narrow link (--paper, --bwhome) overflowed.

    Such losses belong to that network. If loads with losses were refused, only the fast ones would be left.
    """
    return bool(load.buffer_drops and any(load.buffer_drops.values()))
