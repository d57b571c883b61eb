"""What may be wrong with a load that is looked at alone, where a row of harness.measure.rules has no room to say it."""

from collections.abc import Sequence

from harness.files.exchange import UNFINISHED, Fate
from harness.files.load_record import LoadRecord
from harness.measure.rule import Values
from harness.measure.timekeeping import is_too_late
from harness.mirror.answers import DOCUMENT_IS_GOOD
from harness.network.cookies import DOMAIN, WARM
from harness.system.fastopen import OF_UDP

SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""

EARLY_SHARE = 0.90
"""With early data at least this share of the connections that could bring their request in it did."""


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
    if load.answers is None:
        return some((load.failed_requests or {}).get(UNFINISHED, 0))
    return some(sum(answer.error == UNFINISHED and answer.is_one_of(frozenset((Fate.FAILED,)))
                    for answer in load.answers.each))


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
    return [{"givers": "sites" if cookies.mode == DOMAIN else "servers",
             "lost": ", as far as is known: not all that arrived could be noted" if cookies.lost else ""}]


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
    return [{"possible": in_time, "others": ", ".join(counts.others)}]


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


def _is_lossy(load: LoadRecord) -> bool:
    """Tell whether packets were lost because the buffers of user's own narrow link (--paper, --bwhome) overflowed.

    Such losses belong to that network. If loads with losses were refused, only the fast ones would be left.
    """
    return bool(load.buffer_drops and any(load.buffer_drops.values()))
