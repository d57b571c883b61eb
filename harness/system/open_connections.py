"""How many TCP connections the servers hold, and waiting until those of a page load are closed.

A server notes a connection that sent nothing when it ends. Chrome closes its last connections as it ends, and the news
takes half an RTT to the servers: until then their logs do not tell all of the load.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

POLL_S = 0.01
CLOSING_LIMIT_S = 2.0
"""How long servers may take to close what has been closed on the other side, besides the RTT."""


def open_sockets(pids: Iterable[int]) -> int:
    """Return how many TCP sockets there are in the namespaces of the processes `pids`, listening ones included.

    That is "inuse" of /proc/net/sockstat (proc(5)), which leaves out those in TIME_WAIT. About 0.1 ms a namespace.
    """
    return sum(parse_sockstat(Path(f"/proc/{pid}/net/sockstat").read_text()) for pid in pids)


def parse_sockstat(text: str) -> int:
    """Return "inuse" of the line ``TCP: inuse 3 orphan 0 tw 0 alloc 5 mem 0``."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == "TCP:":
            return int(fields[fields.index("inuse") + 1])
    raise ValueError("no line for TCP in sockstat")


def wait_for_close(count: Callable[[], int], before: int, rtt_ms: float) -> bool:
    """Wait until `count()` is not over `before`; tell whether it was so before the limit.

    The limit is CLOSING_LIMIT_S and 2 RTTs: half of one for the client's FIN, one for the server's and its
    acknowledgement. It is met only by a server that hangs.
    """
    deadline = time.monotonic() + CLOSING_LIMIT_S + 2 * rtt_ms / 1000
    while count() > before:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
