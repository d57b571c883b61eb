"""What a HAR's entry says of times on the network: the TCP handshake, and the wait for the first byte."""

import math
from collections.abc import Iterable
from typing import Any

BESIDE_TLS = ("blocked", "dns", "connect", "send", "wait", "receive")
"""The parts of `timings` that come one after the other; `ssl` is a part of `connect` (HAR 1.2)."""


def time_ms(found: object) -> float | None:
    """Return a time of a HAR; None for -1, which says that there is none."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found) if found >= 0 else None


def handshake_ms(entry: dict[str, Any]) -> float | None:
    """Return how long the TCP handshake of the connection took that an entry's request went over; None if not known.

    It is the connect time less the time for TLS, but where a browser (Firefox) counts TLS beside it: then the entry's
    `time` is the sum of all parts and TLS. QUIC does both at once: then all of it is the time of one handshake.
    """
    timings = entry.get("timings") or {}
    known, whole, tls = (time_ms(found) for found in (entry.get("_connectMs"), timings.get("connect"),
                                                      timings.get("ssl")))
    if known is not None or whole is None:
        return known
    is_quic = str((entry.get("response") or {}).get("httpVersion")).lower().startswith(("h3", "http/3"))
    if not tls or is_quic or _counts_tls_beside(entry, timings, tls):
        return whole
    return max(0.0, whole - tls)


def shortest_ms(times: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Return the shortest time of each host, of (host, ms) pairs; without the hosts of which none is known."""
    shortest: dict[str, float] = {}
    for host, found_ms in times:
        if found_ms is not None:
            shortest[host] = min(found_ms, shortest.get(host, found_ms))
    return shortest


def _counts_tls_beside(entry: dict[str, Any], timings: dict[str, Any], tls_ms: float) -> bool:
    total = time_ms(entry.get("time"))
    parts = sum(time_ms(timings.get(part)) or 0.0 for part in BESIDE_TLS)
    return total is not None and abs(total - parts - tls_ms) < abs(total - parts)
