"""The TCP connections and name look-ups of a net-log.

Look-ups are read from the connect jobs: with host-resolver rules Chrome maps a name to an address inside the job, and
no HOST_RESOLVER_MANAGER_REQUEST ever names it. The name stands in the job's group (``pm/http://a.test <...>``). The
time runs from TCP_CONNECT_JOB_CONNECT to the first address tried, or to the error. Measured with Chromium 156.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.files.hosts import PORTS
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, collecting, net_error, noting

GROUP = re.compile(r"(?P<scheme>https?|wss?)://(?P<host>\[[^\]]*\]|[^\s/:<]+)(?::(?P<port>\d+))?")
DEFAULT_PORTS = PORTS | {"ws": PORTS["http"], "wss": PORTS["https"]}
EARLY_REASONS = {2: True, 4: False, 6: False, 9: False}
"""Of Chrome's reasons (ssl_early_data_reason_t in BoringSSL's ssl.h) those of handshakes that early data was sent in:
it was accepted; or declined, with the session or the protocol. By all others none was sent, mostly for lack of a ticket
(5).
"""
NEVER = 0
"""A tick at which nothing was: Chrome's clock begins when the machine starts."""


@dataclass
class Connection:
    """One TCP socket, or one QUIC session (harness.netlog.carriers). Ticks in ms of Chrome's clock.

    `connect_ms` runs from connect() to its success, None when it failed or never ended; over QUIC that is the whole
    handshake, `ssl`, too, as far as requests had to wait for it. `requests` counts the requests sent on it; `jobs` are
    the stream jobs it was handed to.
    `connect_job` is the job that made it, `ssl_start` and `ssl_end` its TLS handshake (with early data, the end is when
    requests can be sent), `received` when bytes came, `sent` when they went.
    """

    id: int
    address: str = ""
    """``ip:port`` of the far end; the one tried last, where none answered."""
    connect_job: int = 0
    start: int = NEVER
    connect_ms: float | None = None
    error: int = 0
    jobs: list[int] = field(default_factory=list)
    ssl_start: int = NEVER
    ssl_end: int = NEVER
    received: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    requests: int = 0
    closed: int | None = None
    """When Chrome closed it, None where the log does not say."""
    quic: bool = False
    early: bool | None = None
    """Whether the server took the early data (0-RTT) that Chrome sent; None where it sent none."""
    confirmed: int | None = None
    """When the handshake was over, early data or not."""
    first_asked: int | None = None
    """When Chrome had written the first request that may travel in early data."""
    sent_again: int = 0
    """Packets of QUIC whose content Chrome had sent before: they were lost, or seemed so."""

    def made_by(self, job: "Job") -> None:
        """Note of a session of QUIC which job made it, and when it stood."""
        self.connect_job, job.addresses = job.id, [self.address] if self.address else []
        if job.connected is not None:       # how it ended later is no error of the connect
            self.connect_ms, self.error = float(job.connected - self.start), 0
            self.ssl_start, self.ssl_end = self.start, job.connected

    @property
    def ssl(self) -> tuple[int, int] | None:
        """The begin and the end of its TLS handshake, None if that was never over."""
        return (self.ssl_start, self.ssl_end) if self.ssl_start and self.ssl_end else None

    @property
    def connected(self) -> int | None:
        """The tick at which the connection stood, None if it never did."""
        return None if self.connect_ms is None else self.start + int(self.connect_ms)

    @property
    def asked_late(self) -> bool:
        """Tell whether Chrome could have asked in early data, and wrote its request when the handshake was over.

        Its network code runs in one thread, which on a busy machine takes longer for this than a short round trip.
        """
        return bool(self.early and self.first_asked is not None and self.confirmed is not None
                    and self.first_asked >= self.confirmed)


def host_and_port(url: str) -> str:
    """Return ``host:port`` of a URL or a socket-pool group, empty when it holds none."""
    match = GROUP.search(url.partition(" <")[0])
    if match is None:
        return ""
    return f"{match['host']}:{match['port'] or DEFAULT_PORTS[match['scheme']]}"


@dataclass
class Job:
    """A job that makes a connection, for the ``host:port`` `name`, and the look-up that it made, in ticks.

    `error` is 0 or Chrome's (negative) net error code; `addresses` are ``ip:port`` after mapping, none when the look-up
    failed. Over QUIC it makes a `session`, on which requests can be sent from `connected` on.
    """

    id: int
    name: str = ""
    start: int = NEVER
    end: int = NEVER
    error: int = 0
    addresses: list[str] = field(default_factory=list)
    session: int = 0
    connected: int | None = None

    @property
    def looked_up(self) -> bool:
        """Whether there was a look-up: not where it connects over another job, or was cut off before it had one."""
        return bool(self.name) and NEVER not in (self.start, self.end)


def _tries(job: Job, event: Event) -> None:
    job.end = job.end or event.tick
    if (address := str(event.params.get("address", ""))) not in ("", *job.addresses):
        job.addresses.append(address)


def _gave_up(job: Job, event: Event) -> None:
    if not job.addresses:
        job.end, job.error = event.tick, net_error(event)


OF_JOBS: Readers[Job] = {
    ("SOCKET_POOL_CONNECT_JOB_CREATED", POINT):
        noting("name", lambda event: host_and_port(str(event.params.get("group_id", ""))), first=True),
    ("TCP_CONNECT_JOB_CONNECT", BEGIN): noting("start"),
    ("TCP_CONNECT_JOB_CONNECTOR_CONNECT_START", POINT): _tries,
    ("TCP_CONNECT_JOB_CONNECT", END): _gave_up,
}


def _connected(connection: Connection, event: Event) -> None:
    """Note the end of its first try."""
    if connection.connect_ms is None and not connection.error:
        connection.error = net_error(event)
        if not connection.error:
            connection.connect_ms = float(event.tick - connection.start)
            connection.address = str(event.params.get("remote_address", ""))


def _tried(connection: Connection, event: Event) -> None:
    if connection.connect_ms is None:
        connection.address = str(event.params.get("address", ""))


def confirming(name: str, states: Callable[[Any], bool | None]) -> Callable[[Connection, Event], None]:
    """Return a reader of the end of a handshake, whose parameter `name` says what became of its early data."""
    def read(connection: Connection, event: Event) -> None:
        connection.early, connection.confirmed = states(event.params.get(name)), event.tick
    return read


OF_SOCKETS: Readers[Connection] = {
    ("TCP_CONNECT", BEGIN): noting("start", first=True),
    ("TCP_CONNECT_ATTEMPT", BEGIN): _tried,
    ("TCP_CONNECT", END): _connected,
    ("SOCKET_ALIVE", BEGIN): noting("connect_job", Event.dependency, first=True),
    ("SOCKET_ALIVE", END): noting("closed"),
    ("SSL_CONNECT", BEGIN): noting("ssl_start", first=True),
    ("SSL_CONNECT", END): noting("ssl_end", first=True),
    ("SSL_HANDSHAKE_EARLY_DATA_REASON", POINT): confirming("early_data_reason", EARLY_REASONS.get),
    ("SOCKET_IN_USE", BEGIN): collecting("jobs", Event.dependency),
    ("SOCKET_BYTES_RECEIVED", POINT): collecting("received"),
    ("SOCKET_BYTES_SENT", POINT): collecting("sent"),
}
