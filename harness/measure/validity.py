"""Whether a load is valid. Each rule that a load breaks gives a reason in words; a load with a reason is not counted.

Each reason also says whether another try can help (harness.measure.reason).
"""

from collections.abc import Collection, Iterable

from harness.files.har import UNFINISHED
from harness.files.load_parts import CookieCounts
from harness.files.load_record import LoadRecord
from harness.measure import coverage, timekeeping
from harness.measure.reason import Reason, accident, of_the_page
from harness.measure.received import is_cancelled, is_cut, is_judged
from harness.mirror.answers import DOCUMENT_IS_GOOD
from harness.netlog.moved_on import LED_ON
from harness.network.cookies import DOMAIN, WARM

SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""


def reasons(load: LoadRecord, recorded_bytes: Collection[int]) -> list[Reason]:
    """Return why `load` is not valid; an empty list when it is.

    `recorded_bytes` are the sizes that the page's document may have (harness.measure.preflight.document_bytes).
    """
    return [*of_the_content(load, recorded_bytes), *_network(load), *_fastopen(load), *_server_logs(load),
            *_timekeeping(load)]


def of_the_content(load: LoadRecord, recorded_bytes: Collection[int]) -> list[Reason]:
    """Return what is wrong with the content that the load got, whatever the network and the machine did.

    Of a load that broke off only a part came. Whatever is wrong with that part is an accident, not the page's fault.
    Where the page led on to another one, all that is known of the load is about that one.
    """
    if any(error.startswith(LED_ON) for error in load.errors):
        return [(of_the_page if error.startswith(LED_ON) else accident)(error) for error in load.errors]
    found = [*map(accident, load.errors), *_no_load_event(load), *_document(load, recorded_bytes), *_unknown(load),
             *coverage.reasons(load)]
    return [accident(reason.text) for reason in found] if _broke_off(load) else found


def _broke_off(load: LoadRecord) -> bool:
    """Tell whether the load, or its document's answer, ended before its time, or never began.

    A page may ask for its document's URL again, later, or take that back: this says nothing of the first answer.
    """
    document, each = load.document, load.answers.each if load.answers else ()
    return (load.plt_ms is None or document is None or not document.status
            or any(answer.error and answer.url == document.url and not answer.late and not is_cancelled(answer)
                   for answer in each))


def _unknown(load: LoadRecord) -> Iterable[Reason]:
    """Give a reason if nothing tells what the load got: then nothing else can speak against it either."""
    if load.plt_ms is not None and load.answers is None:
        yield accident("what it got is not known: its HAR cannot be read")


def _no_load_event(load: LoadRecord) -> Iterable[Reason]:
    if load.plt_ms is None and not load.errors:
        yield accident("no load event")
    if unanswered := _unanswered(load):
        yield accident(f"requests that never ended: {unanswered}")


def _unanswered(load: LoadRecord) -> int:
    """Return how many requests had got nothing of an answer when the load ended.

    Requests after the load event do not count, nor do answers that our time limit cut: a page may go on loading for
    ever after its load event.
    """
    if load.answers is None:
        return (load.failed_requests or {}).get(UNFINISHED, 0)
    return sum(answer.error == UNFINISHED and is_judged(answer) and not is_cut(answer) for answer in load.answers.each)


def _document(load: LoadRecord, recorded_bytes: Collection[int]) -> Iterable[Reason]:
    document = load.document
    if document is None or not document.status:    # status 0: it was asked for, and no head of an answer came
        if not load.errors:
            yield accident("the document never answered")
    elif document.status not in DOCUMENT_IS_GOOD:
        yield of_the_page(f"the document answered {document.status}")
    elif document.bytes not in recorded_bytes:
        sizes = " or ".join(map(str, recorded_bytes)) or "none"
        yield of_the_page(f"the document had {document.bytes} bytes, the recorded one has {sizes}")


def _network(load: LoadRecord) -> Iterable[Reason]:
    """Give a reason for each SYN that was sent again, or dropped from a full queue: the page did not cause that.

    A SYN is sent again after 1 s (RFC 6298, section 2.1). Chrome may be done before that, since it opens a spare
    connection after 250 ms. So a load ends only when each SYN is answered (harness.browser.completion), or after 1.5 s
    of silence, in which such a SYN is seen.
    """
    for where, counters in load.counters.items():
        if counters["TCPSynRetrans"] and not _is_lossy(load):
            yield accident(f"SYN retransmitted by {where}: {counters['TCPSynRetrans']}")
        for name in ("ListenOverflows", "TCPFastOpenListenOverflow"):
            if counters[name]:
                yield accident(f"{name} at {where}: {counters[name]}")
    if load.delay_line_drops:
        yield accident(f"packets dropped by the delay line: {load.delay_line_drops}")


def _fastopen(load: LoadRecord) -> Iterable[Reason]:
    carried, in_syn = load.connections_with_request or 0, load.syn_data_connections or 0
    off_but_used = max(in_syn, load.counters.get("servers", {}).get("TCPFastOpenPassive", 0))
    if load.tfo == 0 and off_but_used:
        yield accident(f"TFO is off, but {off_but_used} connections carried data in the SYN")
    if load.tfo == 1 and load.cookies and load.cookies.mode != WARM:
        yield from _new_cookies(load, load.cookies)
    elif load.tfo == 1 and load.run > 0 and in_syn < SYN_DATA_SHARE * carried:
        yield accident(f"TFO is on, but only {in_syn} of {carried} connections carried their request in the SYN")


def _new_cookies(load: LoadRecord, cookies: CookieCounts) -> Iterable[Reason]:
    """Check a load that began without cookies: each server (for "domain": one server of each site) had to give one.

    From then on connections had to use the cookie. How many connections asked for a cookie is what the servers' kernels
    counted, not how many cookies were given: for "domain" a server may stop giving them while some have asked already.
    """
    carried, in_syn = load.connections_with_request or 0, load.syn_data_connections or 0
    asked = load.counters["servers"]["TCPFastOpenCookieReqd"]
    if cookies.first < cookies.visited:
        givers = "sites" if cookies.mode == DOMAIN else "servers"
        yield accident(f"--cookies {cookies.mode}: only {cookies.first} of {cookies.visited} {givers} gave a cookie"
                       f"{', as far as is known: not all that arrived could be noted' if cookies.lost else ''}")
    if in_syn + asked < SYN_DATA_SHARE * carried:
        yield accident(f"TFO is on, but of {carried} connections only {in_syn} carried their request in the SYN, and "
                       f"{asked} asked for a cookie")


def _server_logs(load: LoadRecord) -> Iterable[Reason]:
    """Check that the servers' logs have every connection that Chrome used: by these logs TFO is judged."""
    logged, used = load.connections_with_request or 0, len(load.connections or ())
    if logged < used and not load.errors:
        yield accident(f"the servers' logs know of {logged} of the {used} connections that carried a request")


def _timekeeping(load: LoadRecord) -> Iterable[Reason]:
    if load.timekeeping and load.plt_ms:
        yield from timekeeping.reasons(load.timekeeping, load.rtt_ms, load.plt_ms, lossy=_is_lossy(load))


def _is_lossy(load: LoadRecord) -> bool:
    """Tell whether packets were lost because the buffers of user's own narrow link (--paper, --bwhome) overflowed.

    Such losses belong to that network. If loads with losses were refused, only the fast ones would be left.
    """
    return bool(load.buffer_drops and any(load.buffer_drops.values()))
