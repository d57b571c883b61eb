"""What a HAR's entry says of times on the network: the TCP handshake, and the wait for the first byte."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

BESIDE_TLS = ("blocked", "dns", "connect", "send", "wait", "receive")
"""The parts of `timings` that come one after the other; `ssl` is a part of `connect` (HAR 1.2)."""


def time_ms(found: object) -> float | None:
    """Return a time of a HAR; None for -1, which says that there is none."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found) if found >= 0 else None


def handshake_ms(known: object, timings: Mapping[str, Any], time: object, protocol: str) -> float | None:
    """Return how long the TCP handshake of the connection took that an entry's request went over; None if not known.

    It is what is `known` or the connect time less the time for TLS, but where a browser (Firefox) counts TLS beside it:
    then the entry's `time` is the sum of all parts and TLS. QUIC does both at once: then all of it is one handshake's.
    """
    told, whole, tls, total = map(time_ms, (known, timings.get("connect"), timings.get("ssl"), time))
    if told is not None or whole is None:
        return told
    parts = sum(time_ms(timings.get(part)) or 0.0 for part in BESIDE_TLS)
    if not tls or protocol.lower().startswith(("h3", "http/3")) or (
            total is not None and abs(total - parts - tls) < abs(total - parts)):
        return whole
    return max(0.0, whole - tls)


def shortest_ms(times: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Return the shortest time of each host, of (host, ms) pairs; without the hosts of which none is known."""
    shortest: dict[str, float] = {}
    for host, found_ms in times:
        if found_ms is not None:
            shortest[host] = min(found_ms, shortest.get(host, found_ms))
    return shortest
