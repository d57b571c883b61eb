"""NETWORK: the rules of what the simulated network did to a load, and of whether it used TCP Fast Open as it should."""

from collections.abc import Iterator

from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Rule, rule
from harness.network.cookies import DOMAIN, WARM
from harness.system.fastopen import OF_UDP

NETWORK: list[Rule] = []
SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""
EARLY_SHARE = 0.90
"""With early data at least this share of the connections that could bring their request in it did."""


def is_lossy(load: LoadRecord) -> bool:
    """Tell whether packets were lost because the buffers of user's own narrow link (--paper, --bwhome) overflowed.

    Such losses belong to that network. If loads with losses were refused, only the fast ones would be left.
    """
    return bool(load.buffer_drops and any(load.buffer_drops.values()))


@rule(NETWORK, ReasonKind.SYN_AGAIN, "a SYN was sent again that no full buffer of user's narrow link had lost",
      source="RFC 6298, section 2.1: after 1 s")
def _syn_again(load: LoadRecord) -> Iterator[str]:
    """Chrome may be done before that second, since it opens a spare connection after 250 ms.

    So a load ends only when each SYN is answered (harness.browser.page), or after 1.5 s of silence, in which such a SYN
    is seen. What a middlebox dropped is sent again by user.
    """
    for where, counters in load.counters.items():
        dropped = load.middlebox.dropped if load.middlebox and where == "user" else 0
        if (count := counters["TCPSynRetrans"] - dropped) > 0 and not is_lossy(load):
            yield f"SYN retransmitted by {where}: {count}"


@rule(NETWORK, ReasonKind.FULL_QUEUE, "the queue of a listening socket, or of UDP, was full")
def _full_queue(load: LoadRecord) -> Iterator[str]:
    for where, counters in load.counters.items():
        for name in ("ListenOverflows", "TCPFastOpenListenOverflow", OF_UDP):
            if counters.get(name):
                yield f"{name} at {where}: {counters[name]}"


@rule(NETWORK, ReasonKind.DROPPED_PACKETS, "the delay line dropped a packet")
def _dropped_packets(load: LoadRecord) -> Iterator[str]:
    if load.delay_line_drops:
        yield f"packets dropped by the delay line: {load.delay_line_drops}"


@rule(NETWORK, ReasonKind.DATA_WITHOUT_TFO, "with TFO off, a SYN carried data")
def _data_without_tfo(load: LoadRecord) -> Iterator[str]:
    used = max(load.syn_data_connections or 0, load.counters.get("servers", {}).get("TCPFastOpenPassive", 0))
    if used and not load.tfo:
        yield f"TFO is off, but {used} connections carried data in the SYN"


@rule(NETWORK, ReasonKind.NO_COOKIE,
      "with `--cookies cold` or `domain`, a server (site) that Chrome used gave no cookie")
def _no_cookie(load: LoadRecord) -> Iterator[str]:
    cookies = load.cookies
    if load.tfo and cookies and cookies.mode != WARM and cookies.first < cookies.visited:
        givers = "sites" if cookies.mode == DOMAIN else "servers"
        yield f"--cookies {cookies.mode}: only {cookies.first} of {cookies.visited} {givers} gave a cookie"


@rule(NETWORK, ReasonKind.NO_DATA_WITH_TFO, "with TFO on, connections that carried their request in the SYN, or for a "
      "known reason did not: they asked for a cookie, a `--middlebox` touched their SYN, or a `--balancer` led to a "
      "server with another key", threshold=f"under {SYN_DATA_SHARE:.0%}",
      source="RFC 7413, section 3: a SYN with a cookie carries data; docs/data/middleboxes.tsv: 30 of 30 without a box")
def _no_data_with_tfo(load: LoadRecord) -> Iterator[str]:
    """A load that begins without cookies has to use each that it got.

    How many connections asked for a cookie is what the servers' kernels counted, not how many cookies were given: for
    "domain" a server may stop giving them while some have asked already.
    """
    is_warm, others, words = load.cookies is None or load.cookies.mode == WARM, 0, ""
    if not load.tfo or (is_warm and load.run == 0):
        return
    if not is_warm:
        others, words = load.counters["servers"]["TCPFastOpenCookieReqd"], ", and {} asked for a cookie"
    elif load.middlebox:
        others, words = load.middlebox.touched, ", and the middlebox touched {} SYNs"
    elif load.balancer > 1:
        others, words = load.counters["servers"]["TCPFastOpenPassiveFail"], ", and the cookies of {} did not fit"
    carried, in_syn = load.connections_with_request or 0, load.syn_data_connections or 0
    if in_syn + others < SYN_DATA_SHARE * carried:
        yield (f"TFO is on, but only {in_syn} of {carried} connections carried their request in the SYN"
               f"{words.format(others)}")


@rule(NETWORK, ReasonKind.BOX_PASSED, "a request in the SYN reached a server behind the `--middlebox`")
def _box_passed(load: LoadRecord) -> Iterator[str]:
    if (box := load.middlebox) and box.passed:
        yield f"{box.passed} requests came in the SYN to servers behind the middlebox ({box.box.value})"


@rule(NETWORK, ReasonKind.EARLY_UNASKED,
      "without early data, a connection's first request came before the TLS handshake was over")
def _early_unasked(load: LoadRecord) -> Iterator[str]:
    counts = load.early_data
    if counts and not load.early and (used := max(counts.sent, counts.accepted)):
        yield f"early data is off, but {used} connections brought their request in it"


@rule(NETWORK, ReasonKind.LITTLE_EARLY, "with early data, connections that brought their request in it",
      threshold=f"under {EARLY_SHARE:.0%} of those that could, and on which Chrome wrote it before the handshake was "
      "over", source="docs/data/transports.tsv: all of these, in each row")
def _little_early(load: LoadRecord) -> Iterator[str]:
    counts = load.early_data
    if counts and load.early and counts.sent < EARLY_SHARE * (in_time := counts.possible - counts.too_late):
        yield f"early data is on, but only {counts.sent} of {in_time} connections brought their request in it"


@rule(NETWORK, ReasonKind.EARLY_DISPUTED, "the servers' logs and Chrome's net-log differ in the number of connections "
      "with early data")
def _early_disputed(load: LoadRecord) -> Iterator[str]:
    if (counts := load.early_data) and counts.sent > counts.accepted:
        yield (f"servers got early data on {counts.sent} connections, and Chrome says that it was accepted on "
               f"{counts.accepted}")


@rule(NETWORK, ReasonKind.TCP_BESIDE_QUIC, "with `--http h3`, a TCP connection carried a request of https; WebSockets "
      "(wss) may use TCP")
def _tcp_beside_quic(load: LoadRecord) -> Iterator[str]:
    if (counts := load.early_data) and counts.over_tcp:
        yield f"it is to go over QUIC, but {counts.over_tcp} TCP connections carried requests of https"


@rule(NETWORK, ReasonKind.NOT_LOGGED, "the servers' logs lack a connection over which Chrome got something",
      unless=(ReasonKind.BROWSER, ReasonKind.NO_LOAD_EVENT))
def _not_logged(load: LoadRecord) -> Iterator[str]:
    """By these logs TFO is judged."""
    logged, used = load.connections_with_request or 0, sum(used.answered for used in load.connections or ())
    if logged < used:
        yield f"the servers' logs know of {logged} of the {used} connections over which answers came"
