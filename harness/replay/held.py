"""Answers held back as long as a network would keep them: where servers and browser share a machine's loopback.

There a connect takes no time, and neither does a packet. So the server makes both round trips: the handshake's, which
the client would have waited for before it could ask, and that of the request and its answer.

    client   connect, request                              answer
    server   |------ handshake, 1 RTT ------|--- 1 RTT ---|          no TFO: two round trips after the connect
             |--- 1 RTT ---|                                         the SYN carried the request: one

A request on a connection that stands is held for one. Over TLS the ClientHello is the first that is asked, and the
request that comes with the end of the handshake is held for one round trip more. A connection that was opened ahead of
need has its handshake behind it when it is used. Transfers are not held: no slow start, no bandwidth.
"""

import time
from dataclasses import dataclass, field


@dataclass
class HeldConnection:
    """One accepted connection whose answers are held back for round trips of `rtt_s`; 0: not at all.

    `syn_data`: its SYN carried data that was taken. `begun_s` is when it began, by time.monotonic().
    """

    rtt_s: float
    syn_data: bool
    begun_s: float = field(default_factory=time.monotonic)

    def due_s(self, asked_s: float) -> float:
        """Return when the answer to what was asked at `asked_s` may begin; both by time.monotonic()."""
        stands_s = self.begun_s + (0.0 if self.syn_data else self.rtt_s)
        return max(stands_s, asked_s) + self.rtt_s

    def wait(self, asked_s: float) -> None:
        """Wait until the answer to what was asked at `asked_s` may begin."""
        time.sleep(max(0.0, self.due_s(asked_s) - time.monotonic()))
