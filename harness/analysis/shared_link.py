"""How transfers that come at the same time share a server's link: the fluid model.

While n of them are under way each gets an n-th of the link (queueing theory: "processor sharing"): what TCP
connections with one round-trip time over one bottleneck come near to.
"""

import heapq
from collections.abc import Sequence

BITS = 8


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
