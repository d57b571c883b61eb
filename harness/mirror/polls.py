"""Long polls: requests of scripts that a site answered only when it had something to say, whatever --think says.

A page asks again as soon as such an answer is there. Answered at once it would ask hundreds of times a second, as
Socket.IO does. So a long poll takes as long as it did, and one that the recording has no answer to is left open
(harness.replay.site). What else a server took its time for is thinking, which tfo.py --think decides about.
"""

from collections.abc import Sequence
from statistics import median

from harness.files.exchange import Exchange
from harness.files.headers import EVENT_STREAM
from harness.mirror.answers import is_answered, redirect_of
from harness.mirror.asked import asked_of

SLOW_MS = 500.0
"""What takes less, beyond the round trip, keeps a page from asking more often than twice a second."""
SLOW_RATIO = 5.0
"""A long poll takes so many times as long as the page's other answers: some sites are slow throughout."""
OF_PARTS = ("image/", "text/css", "font/", "text/javascript", "application/javascript", "application/x-javascript")
"""How the types begin of what pages themselves are made of."""


def long_polls(exchanges: Sequence[Exchange]) -> dict[int, float]:
    """Return the long polls among the exchanges of a page by their `id`, and how long the site let each wait, in ms.

    The round trip, as long as its connection's handshake, is taken off.
    """
    waits = {id(exchange): exchange.phases.wait - (exchange.handshake_ms or 0.0) for exchange in exchanges
             if is_answered(exchange) and exchange.phases.wait >= 0 and not exchange.from_cache}
    slow = {id(exchange): waits[id(exchange)] for exchange in exchanges
            if waits.get(id(exchange), 0.0) >= SLOW_MS and _is_of_a_script(exchange)}
    others = [wait_ms for key, wait_ms in waits.items() if key not in slow]
    usual_ms = median(others) if others else 0.0
    return {key: wait_ms for key, wait_ms in slow.items() if wait_ms >= SLOW_RATIO * usual_ms}


def _is_of_a_script(exchange: Exchange) -> bool:
    """Say whether a script asked (fetch). Over http, where Chrome says no purpose, what is accepted and what came tell.

    What a recording without the requests' headers has is none.
    """
    asked = asked_of(exchange.request)
    if asked.navigation or exchange.request.method == "OPTIONS" or redirect_of(exchange):
        return False
    kind = exchange.answer.header("content-type").lower()
    purpose, accept = (asked.headers.get(name, "") for name in ("sec-fetch-dest", "accept"))
    if kind.startswith(EVENT_STREAM):
        return False
    return purpose == "empty" if purpose else bool(accept) and not (accept.startswith(OF_PARTS)
                                                                    or kind.startswith(OF_PARTS))
