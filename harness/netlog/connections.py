"""The TCP connections and name look-ups of a net-log.

Look-ups are read from the connect jobs: with host-resolver rules Chrome maps a name to an address inside the job, and
no HOST_RESOLVER_MANAGER_REQUEST ever names it. The name stands in the job's group (``pm/http://a.test <...>``). The
time runs from TCP_CONNECT_JOB_CONNECT to the first address tried, or to the error. Measured with Chromium 156; an older
one, that has TRANSPORT_CONNECT_JOB instead, gives connections but no look-ups.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.files.hack_dns import PORTS
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber, collecting, noting

GROUP = re.compile(r"(?P<scheme>https?|wss?)://(?P<host>\[[^\]]*\]|[^\s/:<]+)(?::(?P<port>\d+))?")
DEFAULT_PORTS = PORTS | {"ws": PORTS["http"], "wss": PORTS["https"]}
EARLY_REASONS = {2: True, 4: False, 6: False, 9: False}
"""Of Chrome's reasons (ssl_early_data_reason_t in BoringSSL's ssl.h) those of handshakes that early data was sent in:
it was accepted; or declined, with the session or the protocol. By all others none was sent, mostly for lack of a ticket
(5).
"""
NEVER = -1
"""A tick at which nothing was."""


@dataclass(frozen=True)
class NameResolution:
    """One name resolved by the connect job `job`: ticks in ms, `error` 0 or Chrome's (negative) net error code."""

    job: int
    name: str
    """``host:port``"""
    start: int
    end: int
    error: int
    addresses: tuple[str, ...]
    """``ip:port`` after mapping; empty when the look-up failed."""


@dataclass
class Connection:
    """One TCP socket, or one QUIC session (harness.netlog.quic). Ticks in ms of Chrome's clock.

    `connect_ms` runs from connect() to its success, None when it failed or never ended; over QUIC that is the whole
    handshake, `ssl`, too, as far as requests had to wait for it. `requests` counts the requests sent on it; `jobs` are
    the stream jobs it was handed to. `backup` marks the second try Chrome makes after 250 ms.
    `connect_job` is the job that made it, `ssl` the begin and end of its TLS handshake (with early data, the end is
    when requests can be sent), `received` when bytes came, `sent` when they went.
    """

    id: int
    name: str = ""
    """``host:port`` it was opened for, empty when the log does not say."""
    address: str = ""
    """``ip:port`` of the far end; the one tried last, where none answered."""
    connect_job: int = 0
    start: int = NEVER
    connect_ms: float | None = None
    error: int = 0
    backup: bool = False
    jobs: list[int] = field(default_factory=list)
    ssl: tuple[int, int] | None = None
    received: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    requests: int = 0
    closed: int | None = None
    """When Chrome closed it, None where the log does not say."""
    ssl_start: int | None = None
    quic: bool = False
    early: bool | None = None
    """Whether the server took the early data (0-RTT) that Chrome sent; None where it sent none."""
    confirmed: int | None = None
    """When the handshake was over, early data or not."""
    first_asked: int | None = None
    """When Chrome had written the first request that may travel in early data."""
    sent_again: int = 0
    """Packets of QUIC whose content Chrome had sent before: they were lost, or seemed so."""

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
class _Job:
    """A connect job: for which group of the socket pool it connects, and the look-up that it made."""

    id: int
    group: str = ""
    backup: bool = False
    start: int | None = None
    end: int = 0
    error: int = 0
    addresses: list[str] = field(default_factory=list)

    def look_up(self) -> NameResolution | None:
        """Return its look-up; None where it connects over another job or was cut off before the name was known."""
        name = host_and_port(self.group)
        if self.start is None or not name or not self.end:
            return None
        return NameResolution(self.id, name, self.start, self.end, self.error, tuple(dict.fromkeys(self.addresses)))


def _created(job: _Job, event: Event) -> None:
    if not job.group:
        job.group, job.backup = str(event.params.get("group_id", "")), bool(event.params.get("backup_job", False))


def _tries(job: _Job, event: Event) -> None:
    job.end = job.end or event.tick
    job.addresses.append(str(event.params.get("address", "")))


def _gave_up(job: _Job, event: Event) -> None:
    if not job.addresses:
        job.end, job.error = event.tick, int(event.params.get("net_error", 0))


_OF_JOBS: Readers[_Job] = {
    ("SOCKET_POOL_CONNECT_JOB_CREATED", POINT): _created,
    ("TCP_CONNECT_JOB_CONNECT", BEGIN): noting("start"),
    ("TCP_CONNECT_JOB_CONNECTOR_CONNECT_START", POINT): _tries,
    ("TCP_CONNECT_JOB_CONNECT", END): _gave_up,
}


class ConnectJobs(Subscriber[_Job]):
    """Reads the jobs that open connections."""

    def __init__(self) -> None:
        super().__init__(("TCP_CONNECT_JOB", "SSL_CONNECT_JOB", "TRANSPORT_CONNECT_JOB"), _Job, _OF_JOBS)

    def look_ups(self) -> list[NameResolution]:
        """Return the look-up of every job, in order of its start."""
        look_ups = [job.look_up() for job in self.found.values()]
        return sorted(filter(None, look_ups), key=lambda look_up: look_up.start)


def _connects(connection: Connection, event: Event) -> None:
    if connection.start == NEVER:
        connection.start = event.tick


def _connected(connection: Connection, event: Event) -> None:
    """Note the end of its first try."""
    if connection.connect_ms is None and not connection.error:
        connection.error = int(event.params.get("net_error", 0))
        if not connection.error:
            connection.connect_ms = float(event.tick - connection.start)
            connection.address = str(event.params.get("remote_address", ""))


def _tried(connection: Connection, event: Event) -> None:
    if connection.connect_ms is None:
        connection.address = str(event.params.get("address", ""))


def _secured(connection: Connection, event: Event) -> None:
    if connection.ssl is None and connection.ssl_start is not None:
        connection.ssl = connection.ssl_start, event.tick


def confirming(name: str, states: Callable[[Any], bool | None]) -> Callable[[Connection, Event], None]:
    """Return a reader of the end of a handshake, whose parameter `name` says what became of its early data."""
    def read(connection: Connection, event: Event) -> None:
        connection.early, connection.confirmed = states(event.params.get(name)), event.tick
    return read


_OF_SOCKETS: Readers[Connection] = {
    ("TCP_CONNECT", BEGIN): _connects,
    ("TCP_CONNECT_ATTEMPT", BEGIN): _tried,
    ("TCP_CONNECT", END): _connected,
    ("SOCKET_ALIVE", BEGIN): noting("connect_job", Event.dependency, first=True),
    ("SOCKET_ALIVE", END): noting("closed"),
    ("SSL_CONNECT", BEGIN): noting("ssl_start", first=True),
    ("SSL_CONNECT", END): _secured,
    ("SSL_HANDSHAKE_EARLY_DATA_REASON", POINT): confirming("early_data_reason", EARLY_REASONS.get),
    ("SOCKET_IN_USE", BEGIN): collecting("jobs", Event.dependency),
    ("SOCKET_BYTES_RECEIVED", POINT): collecting("received"),
    ("SOCKET_BYTES_SENT", POINT): collecting("sent"),
}


class Sockets(Subscriber[Connection]):
    """Reads the life of sockets."""

    def __init__(self) -> None:
        super().__init__(("SOCKET",), Connection, _OF_SOCKETS)

    def connections(self, jobs: ConnectJobs) -> list[Connection]:
        """Return every socket that tried a TCP connect, in order of its start."""
        tried = [connection for connection in self.found.values() if connection.start != NEVER]
        for connection in tried:
            if job := jobs.found.get(connection.connect_job):
                connection.name, connection.backup = host_and_port(job.group), job.backup
        return sorted(tried, key=lambda connection: connection.start)


@dataclass
class _Session:
    """An HTTP/2 session: its socket, and for which stream jobs it sent headers over which socket."""

    id: int
    socket: int = 0
    sent: list[tuple[int, int]] = field(default_factory=list)


_OF_SESSIONS: Readers[_Session] = {
    ("HTTP2_SESSION_INITIALIZED", POINT): noting("socket", Event.dependency),
    ("HTTP2_SESSION_SEND_HEADERS", POINT):
        lambda session, event: session.sent.append((event.dependency(), session.socket)),
}


class Http2Sessions(Subscriber[_Session]):
    """Reads which requests went over which HTTP/2 connection."""

    def __init__(self) -> None:
        super().__init__(("HTTP2_SESSION",), _Session, _OF_SESSIONS)


Carriers = dict[tuple[int, bool], Connection]
"""Which connection carried the request of a stream job, over HTTP/2 or not.

Over HTTP/1 it is the socket that the job was handed. Over HTTP/2 that one may stay idle: where Chrome does not know yet
what a server speaks it opens a socket for each request, and then sends all of them over the first that stands. There
the session, which belongs to a socket, says for which jobs it sent headers.
"""


def read_carriers(sessions: Http2Sessions, connections: list[Connection]) -> Carriers:
    """Return which of `connections` carried the request of each stream job."""
    by_id = {connection.id: connection for connection in connections}
    handed = {(job, False): connection for connection in connections for job in connection.jobs}
    return handed | {(job, True): by_id[socket] for session in sessions.found.values() for job, socket in session.sent
                     if socket in by_id}
