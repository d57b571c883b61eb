"""The load event as it would be with TCP Fast Open, from a load without: the dependency graph played again.

Each request is moved earlier by as much as everything it waited for has moved, and by its own handshake:

- it starts earlier by what its cause moved;
- it leaves its queue when one of the host's connections is free, whichever is first now, or gets its shared connection
  earlier by what the answer's begin moved of the request that made it (how long that one receives is all the same to
  the connection), but not before it started;
- its connection needs no round trip of its own when its request (over TLS: the ClientHello) fits into the SYN;
- then it waits for as long as before, and its answer keeps Chrome busy for as long as before;
- it receives for as long as before, but for what the other transfers of its server make of it: those that come at the
  same time share the server's link, and with TFO others may. While n of them are under way each gets an n-th of the
  link (queueing theory: "processor sharing"): what TCP connections with one round-trip time over one bottleneck come
  near to.

The load event moves by as much as the last of the requests it waits for lets it. So a saving that another chain of
requests hides is not counted. Held fixed, though TFO changes it a little: how scripts share the processor.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from harness.analysis.causes import FREED_MS, Cause, Dependencies, cause_of_load_event, holds_up_the_load_event
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.transport import Transport

SYN_BYTES = 1420
"""What a SYN can carry: an MTU of 1500, less 40 for the IP and TCP headers and 40 for TCP options (tcp_send_syn_data in
Linux's net/ipv4/tcp_output.c). Measured: requests of 1417 bytes went in one piece, of 1439 took a round trip more."""
BITS = 8


@dataclass(frozen=True)
class SharedLink:
    """The link that makes transfers wait for each other: each server's own, or one that is shared `by_all` servers."""

    bw_mbit: float
    by_all: bool = False


class _Moved(NamedTuple):
    """By how many ms a request's answer begins and ends earlier."""

    head_ms: float = 0.0
    end_ms: float = 0.0


@dataclass(frozen=True)
class Circumstances:
    """What a load was made in, as far as what TFO saves depends on it.

    `rtt_ms` is the RTT to all servers, but for those that have one of their own in `own_rtts_ms`, by name. `link` is
    what transfers share, None when it is not known: then all of them last as long as before. `small_client_hello` is
    False when Chrome's ClientHello is too long for a SYN (tfo.py --post-quantum).
    """

    rtt_ms: float
    own_rtts_ms: Mapping[str, float] = field(default_factory=dict)
    link: SharedLink | None = None
    small_client_hello: bool = True

    def rtt_to(self, url: str) -> float:
        """Return the RTT to the server of `url` in ms."""
        return self.own_rtts_ms.get(urlsplit(url).hostname or "", self.rtt_ms)

    def fits_syn(self, request: TimedRequest) -> bool:
        """Tell whether TFO saves the round trip of the connection that `request` makes: its first flight fits a SYN."""
        return self.small_client_hello if request.syn_bytes is None else request.syn_bytes <= SYN_BYTES


def saved_ms(timeline: Timeline, graph: list[Dependencies], made_in: Circumstances,
             over: Transport = Transport.TFO) -> float:
    """Return by how many ms TFO would bring the load event forward, or connections that begin `over` another one.

    `graph` is what harness.analysis.causes.dependencies returns.
    """
    requests, link = timeline.requests, made_in.link
    handshakes_ms = [handshake_ms(request, made_in, over) for request in requests]
    moved = _play(requests, graph, handshakes_ms, [0.0] * len(requests))
    if link:
        # When transfers come changes how long they take, and that when others come: played again, between the two.
        first_ms = _shorter_ms(requests, moved, link)
        second_ms = _shorter_ms(requests, _play(requests, graph, handshakes_ms, first_ms), link)
        moved = _play(requests, graph, handshakes_ms, [sum(each) / 2 for each in zip(first_ms, second_ms, strict=True)])
    awaited = [request for request in requests
               if request.end_ms <= timeline.plt_ms and holds_up_the_load_event(request)]
    return min([_at(cause_of_load_event(timeline), moved),
                *(moved[request.order].end_ms + timeline.plt_ms - request.end_ms for request in awaited)])


def _play(requests: Sequence[TimedRequest], graph: list[Dependencies], handshakes_ms: Sequence[float],
          shorter_ms: Sequence[float]) -> list[_Moved]:
    """Return by how much each request moves, by their order, when it saves these handshakes and receives for less."""
    moved: list[_Moved] = []
    held: dict[str, tuple[list[float], list[float]]] = {}       # until when each host's connections are, then and now
    for request, why in zip(requests, graph, strict=True):
        earlier = _at(why.cause, moved)
        here = held.setdefault(request.host, ([], []))
        if why.freed is not None:
            one_of_these = why.freed.host == request.host and not (request.shared or why.freed.shared)
            of_freed = moved[why.freed.order]
            freed = _free_earlier(*here, request.dispatched_ms) if one_of_these else \
                of_freed.head_ms if request.shared else of_freed.end_ms
            earlier = min(earlier + why.freed_at_ms - request.start_ms, freed)
        earlier += handshakes_ms[request.order]
        moved.append(_Moved(earlier, earlier + shorter_ms[request.order]))
        if request.connection and not request.shared:
            for ends, moved_ms in zip(here, (0.0, moved[-1].end_ms), strict=True):
                heapq.heappush(ends, request.end_ms - moved_ms)
    return moved


def _free_earlier(then: list[float], now: list[float], at_ms: float) -> float:
    """Return by how much earlier there is a connection for a request that got one at `at_ms`: it takes the first.

    Until when the host's connections are held in the load as it was stands in `then`, and played again in `now`. Which
    request that leaves to others is not asked. One that was free long before `at_ms` was not what it waited for.
    """
    while len(then) > 1 and then[0] < at_ms - FREED_MS:
        heapq.heappop(then)
        heapq.heappop(now)
    return heapq.heappop(then) - heapq.heappop(now)


def _at(cause: Cause, moved: list[_Moved]) -> float:
    """Return by how much earlier a cause comes."""
    return moved[cause.request.order].end_ms if cause.request else 0.0


def handshake_ms(request: TimedRequest, made_in: Circumstances, over: Transport = Transport.TFO) -> float:
    """Return by how much a request's wait for a connection is shorter when that begins `over` another transport.

    TFO saves the first, early data the second; QUIC has one for both, which takes no time with early data. Where Chrome
    began the first before it was needed, only a part of it was waited for; but TLS, which follows it, is over sooner by
    all of it.
    """
    if not (request.first and request.connect):
        return 0.0
    (begin, end), rtt_ms, saved_ms = request.connect, made_in.rtt_to(request.url), 0.0
    if (over.tfo and made_in.fits_syn(request)) or (over.quic and request.tls):
        saved_ms += min(rtt_ms, max(end - begin, min(request.tcp_ms, request.connected_ms - begin)))
    if over.early and request.tls:
        saved_ms += min(rtt_ms, request.tls[1] - request.tls[0])
    return saved_ms


def _shorter_ms(requests: Sequence[TimedRequest], moved: Sequence[_Moved], link: SharedLink) -> list[float]:
    """Return by how much each transfer is shorter when the answers begin as much earlier as they are `moved`."""
    shorter_ms = [0.0] * len(requests)
    servers: dict[str, list[TimedRequest]] = {}
    for request in requests:
        if request.connection:
            servers.setdefault("" if link.by_all else request.server, []).append(request)
    for transfers in servers.values():
        begun = [(request.head_ms, alone_ms(request.body_bytes, link.bw_mbit)) for request in transfers]
        earlier_ms = [moved[request.order].head_ms for request in transfers]
        begun_now = [(head - earlier, length) for (head, length), earlier in zip(begun, earlier_ms, strict=True)]
        ends = zip(ends_ms(begun), ends_ms(begun_now), strict=True)
        for request, earlier, (end, end_now) in zip(transfers, earlier_ms, ends, strict=True):
            shorter_ms[request.order] = min(end - end_now - earlier, request.end_ms - request.head_ms)
    return shorter_ms


def alone_ms(size_bytes: int, bw_mbit: float) -> float:
    """Return how long a link of `bw_mbit` Mbit/s takes for `size_bytes` when it has nothing else to do, in ms."""
    return size_bytes * BITS / (bw_mbit * 1000)


def ends_ms(transfers: Sequence[tuple[float, float]]) -> list[float]:
    """Return when each transfer ends that shares one link; each is its begin and how long it would take alone, in ms.

    What one of n transfers has got so far grows by dt / n: so it ends when that has grown by its own length since its
    begin, whatever n was meanwhile.
    """
    ends = [begin for begin, _ in transfers]
    waiting: list[tuple[float, int]] = []           # got when it ends, number
    now, got = 0.0, 0.0
    for begin, number in [*sorted((begin, number) for number, (begin, _) in enumerate(transfers)), (float("inf"), -1)]:
        while waiting and now + (waiting[0][0] - got) * len(waiting) <= begin:
            now += (waiting[0][0] - got) * len(waiting)
            got, done = heapq.heappop(waiting)
            ends[done] = now
        if number >= 0:
            got += (begin - now) / len(waiting) if waiting else 0.0
            now = begin
            heapq.heappush(waiting, (got + transfers[number][1], number))
    return ends
