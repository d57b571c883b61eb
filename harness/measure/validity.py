"""What may be wrong with a load that is looked at alone: its content, its network, its TFO."""

from collections.abc import Iterable

from harness.files.exchange import UNFINISHED, Fate
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Found
from harness.measure.timekeeping import is_too_late
from harness.mirror.answers import DOCUMENT_IS_GOOD
from harness.network.cookies import DOMAIN, WARM
from harness.system.fastopen import OF_UDP

SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""

EARLY_SHARE = 0.90
"""With early data at least this share of the connections that could bring their request in it did."""


def browser(load: LoadRecord) -> Iterable[Found]:
    """Find what Chrome's side says that went wrong."""
    for error in load.errors:
        yield Found(ReasonKind.BROWSER, {"error": error})
    if load.moved_on_to:
        yield Found(ReasonKind.LED_ON, {"url": load.moved_on_to})


def load_event(load: LoadRecord) -> Iterable[Found]:
    """Find out whether the load came to its end. Where nothing tells what it got, nothing else can speak against it."""
    if load.plt_ms is None:
        within = f" within {load.timed_out_s:g} s" if load.timed_out_s else ""
        yield Found(ReasonKind.NO_LOAD_EVENT, {"within": within})
    elif load.answers is None:
        yield Found(ReasonKind.UNKNOWN_ANSWERS)
    if unanswered := _unanswered(load):
        yield Found(ReasonKind.NEVER_ENDED, {"count": unanswered})


def _unanswered(load: LoadRecord) -> int:
    """Return how many requests had got nothing of an answer when the load ended.

    Requests after the load event do not count, nor do answers that our time limit cut: a page may go on loading for
    ever after its load event.
    """
    if load.answers is None:
        return (load.failed_requests or {}).get(UNFINISHED, 0)
    return sum(answer.error == UNFINISHED and answer.is_one_of(frozenset((Fate.FAILED,)))
               for answer in load.answers.each)


def document(load: LoadRecord) -> Iterable[Found]:
    """Find out whether the document is the recorded one."""
    shown = load.document
    if shown is None or not shown.status:    # status 0: it was asked for, and no head of an answer came
        yield Found(ReasonKind.NO_DOCUMENT)
    elif shown.status not in DOCUMENT_IS_GOOD:
        yield Found(ReasonKind.DOCUMENT_STATUS, {"status": shown.status})
    elif shown.bytes not in shown.recorded_bytes:
        sizes = " or ".join(map(str, shown.recorded_bytes)) or "none"
        yield Found(ReasonKind.DOCUMENT_BYTES, {"bytes": shown.bytes, "sizes": sizes})


def network(load: LoadRecord) -> Iterable[Found]:
    """Find each SYN that was sent again, or dropped from a full queue: the page did not cause that.

    A SYN is sent again after 1 s (RFC 6298, section 2.1). Chrome may be done before that, since it opens a spare
    connection after 250 ms. So a load ends only when each SYN is answered (harness.browser.completion), or after 1.5 s
    of silence, in which such a SYN is seen.
    """
    dropped = load.middlebox.dropped if load.middlebox else 0      # each of these is sent again, by user
    for where, counters in load.counters.items():
        again = counters["TCPSynRetrans"] - (dropped if where == "user" else 0)
        if again > 0 and not _is_lossy(load):
            yield Found(ReasonKind.SYN_AGAIN, {"where": where, "count": again})
        for name in ("ListenOverflows", "TCPFastOpenListenOverflow", OF_UDP):
            if counters.get(name):
                yield Found(ReasonKind.FULL_QUEUE, {"name": name, "where": where, "count": counters[name]})
    if load.delay_line_drops:
        yield Found(ReasonKind.DROPPED_PACKETS, {"count": load.delay_line_drops})


def fastopen(load: LoadRecord) -> Iterable[Found]:
    """Find out whether TFO was used as the load's side of the experiment says.

    A load that begins without cookies has to get one from each server (for "domain": one server of each site), and to
    use it from then on. How many connections asked for a cookie is what the servers' kernels counted, not how many
    cookies were given: for "domain" a server may stop giving them while some have asked already.
    """
    carried, in_syn = load.connections_with_request or 0, load.syn_data_connections or 0
    cookies, box = load.cookies, load.middlebox
    off_but_used = max(in_syn, load.counters.get("servers", {}).get("TCPFastOpenPassive", 0))
    if load.tfo == 0 and off_but_used:
        yield Found(ReasonKind.DATA_WITHOUT_TFO, {"count": off_but_used})
    if box and box.passed:
        yield Found(ReasonKind.BOX_PASSED, {"count": box.passed, "box": box.box.value})
    if load.tfo == 0:
        return
    if cookies and cookies.mode != WARM:
        if cookies.first < cookies.visited:
            yield Found(ReasonKind.NO_COOKIE, {
                "mode": cookies.mode, "first": cookies.first, "visited": cookies.visited,
                "givers": "sites" if cookies.mode == DOMAIN else "servers",
                "lost": ", as far as is known: not all that arrived could be noted" if cookies.lost else ""})
        others, words = load.counters["servers"]["TCPFastOpenCookieReqd"], ", and {} asked for a cookie"
    elif load.run == 0:
        return
    elif box:
        others, words = box.touched, ", and the middlebox touched {} SYNs"
    elif load.balancer > 1:
        others, words = load.counters["servers"]["TCPFastOpenPassiveFail"], ", and the cookies of {} did not fit"
    else:
        others, words = 0, ""
    if in_syn + others < SYN_DATA_SHARE * carried:
        yield Found(ReasonKind.NO_DATA_WITH_TFO, {"in_syn": in_syn, "carried": carried, "asked": words.format(others)})


def early_data(load: LoadRecord) -> Iterable[Found]:
    """Find out whether early data was used as the load's side of the experiment says, and both ends agree on it."""
    counts = load.early_data
    if counts is None:
        return
    if counts.sent > counts.accepted:      # where Chrome was slow, early data were no request: then only Chrome's count
        yield Found(ReasonKind.EARLY_DISPUTED, {"servers": counts.sent, "chrome": counts.accepted})
    if not load.early and (unasked := max(counts.sent, counts.accepted)):
        yield Found(ReasonKind.EARLY_UNASKED, {"count": unasked})
    in_time = counts.possible - counts.too_late
    if load.early and counts.sent < EARLY_SHARE * in_time:
        yield Found(ReasonKind.LITTLE_EARLY, {"sent": counts.sent, "possible": in_time,
                                              "others": ", ".join(counts.others)})
    if counts.over_tcp:
        yield Found(ReasonKind.TCP_BESIDE_QUIC, {"count": counts.over_tcp})


def server_logs(load: LoadRecord) -> Iterable[Found]:
    """Check that the servers' logs have every connection that brought Chrome something: by these logs TFO is judged."""
    logged, used = load.connections_with_request or 0, sum(used.answered for used in load.connections or ())
    if logged < used:
        yield Found(ReasonKind.NOT_LOGGED, {"logged": logged, "used": used})


def late_answers(load: LoadRecord) -> Iterable[Found]:
    """Find the latest answer of those that the page waited for.

    Where a buffer of the simulated network lost something, or a middlebox a SYN or its data, an answer may be late for
    as long as TCP takes to notice.
    """
    touched = load.middlebox.touched if load.middlebox else 0
    if load.timekeeping and load.plt_ms and not touched and not _is_lossy(load):
        late = [answer for answer in load.timekeeping.late if is_too_late(answer, load.rtt_ms, load.plt_ms)]
        for answer in late[:1]:
            yield Found(ReasonKind.LATE_ANSWER, {"host": answer.host, "ms": answer.late_ms})


def _is_lossy(load: LoadRecord) -> bool:
    """Tell whether packets were lost because the buffers of user's own narrow link (--paper, --bwhome) overflowed.

    Such losses belong to that network. If loads with losses were refused, only the fast ones would be left.
    """
    return bool(load.buffer_drops and any(load.buffer_drops.values()))
