"""Which connections TFO saves nothing, since nobody knew a cookie of their server when they began (--cookies)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from harness.analysis.timeline import TimedRequest
from harness.files.hosts import joined, site_of
from harness.files.load_parts import CookieMode


def without_a_cookie(requests: Sequence[TimedRequest], mode: CookieMode) -> frozenset[int]:
    """Return the `order` of each request whose connection began before a cookie for its server had come.

    A cookie comes with the first SYN-ACK of the server, or of any server of its site; sites that share a server are one
    (harness.network.cookies). With TFO requests come earlier,
    but in the same order: so a load without TFO tells which of them will have one.
    """
    if mode == "warm":
        return frozenset()
    sites = joined([[request.server, f"site {site_of(urlsplit(request.url).hostname or '')}"] for request in requests])
    made = [(request, sites[request.server] if mode == "domain" else request.server)
            for request in requests if request.first and request.connect]
    known_at: dict[str, float] = {}
    for request, giver in made:
        assert request.connect is not None
        known_at[giver] = min(known_at.get(giver, float("inf")), request.connect[1])
    return frozenset(request.order for request, giver in made
                     if request.connect is not None and request.connect[0] < known_at[giver])
