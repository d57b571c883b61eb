"""The TCP connections and name look-ups of a net-log.

Look-ups are read from the connect jobs: with host-resolver rules Chrome maps a name to an address inside the job, and
no HOST_RESOLVER_MANAGER_REQUEST ever names it. The name stands in the job's group (``pm/http://a.test <...>``). The
time runs from TCP_CONNECT_JOB_CONNECT to the first address tried, or to the error. Measured with Chromium 156; an older
one, that has TRANSPORT_CONNECT_JOB instead, gives connections but no look-ups.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.files.hack_dns import PORTS
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber

GROUP = re.compile(r"(?P<scheme>https?|wss?)://(?P<host>\[[^\]]*\]|[^\s/:<]+)(?::(?P<port>\d+))?")
EARLY_ACCEPTED = 2
"""Of Chrome's reasons why a handshake had early data or none, ssl_early_data_reason_t in BoringSSL's ssl.h: it had.
None was sent without a ticket: 5."""
DEFAULT_PORTS = PORTS | {"ws": PORTS["http"], "wss": PORTS["https"]}
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
    """One TCP socket. Ticks in ms of Chrome's clock.

    `connect_ms` runs from connect() to its success, None when it failed or never ended. `requests` counts the requests
    sent on it; `jobs` are the stream jobs it was handed to. `backup` marks the second try Chrome makes after 250 ms.
    `connect_job` is the job that made it, `ssl` the begin and end of its TLS handshake, `received` when bytes came,
    `sent` when they went.
    """

    id: int
    name: str
    """``host:port`` it was opened for, empty when the log does not say."""
    address: str
    """``ip:port`` of the far end."""
    connect_job: int
    start: int
    connect_ms: float | None
    error: int
    backup: bool
    jobs: list[int]
    ssl: tuple[int, int] | None
    received: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    requests: int = 0
    early: int | None = None
    """EARLY_ACCEPTED, or why its TLS handshake had no early data; None where Chrome did not try."""
    closed: int | None = None
    """When Chrome closed it, None where the log does not say."""

    @property
    def connected(self) -> int | None:
        """The tick at which the connection stood, None if it never did."""
        return None if self.connect_ms is None else self.start + int(self.connect_ms)


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


def _looks_up(job: _Job, event: Event) -> None:
    job.start = event.tick


def _tries(job: _Job, event: Event) -> None:
    job.end = job.end or event.tick
    job.addresses.append(str(event.params.get("address", "")))


def _gave_up(job: _Job, event: Event) -> None:
    if not job.addresses:
        job.end, job.error = event.tick, int(event.params.get("net_error", 0))


_OF_JOBS: Readers[_Job] = {
    ("SOCKET_POOL_CONNECT_JOB_CREATED", POINT): _created,
    ("TCP_CONNECT_JOB_CONNECT", BEGIN): _looks_up,
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


@dataclass
class _Socket:
    """The events of a socket: the first of those that happen once, and all of the others."""

    id: int
    first: dict[tuple[str, int], Event] = field(default_factory=dict)
    tried: str = ""
    jobs: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def connection(self, jobs: Mapping[int, _Job]) -> Connection | None:
        """Return the TCP connection that it made with one of `jobs`, None without one."""
        begin, end, alive, closed, ssl_begin, ssl_end, early = map(self.first.get, ONCE)
        if begin is None:
            return None
        error = int(end.params.get("net_error", 0)) if end else 0
        number = alive.dependency() if alive else 0
        job = jobs.get(number, _Job(0))
        return Connection(
            self.id, host_and_port(job.group),
            str(end.params.get("remote_address", "")) if end and not error else self.tried, number, begin.tick,
            float(end.tick - begin.tick) if end and not error else None, error, job.backup, self.jobs,
            (ssl_begin.tick, ssl_end.tick) if ssl_begin and ssl_end else None, self.received, self.sent,
            early=int(early.params.get("early_data_reason", 0)) if early else None,
            closed=closed.tick if closed else None)


ONCE = (("TCP_CONNECT", BEGIN), ("TCP_CONNECT", END), ("SOCKET_ALIVE", BEGIN), ("SOCKET_ALIVE", END),
        ("SSL_CONNECT", BEGIN), ("SSL_CONNECT", END), ("SSL_HANDSHAKE_EARLY_DATA_REASON", POINT))


def _once(socket: _Socket, event: Event) -> None:
    for number in ("net_error", "early_data_reason"):
        int(event.params.get(number, 0))        # raise now where they make no sense
    event.dependency()
    socket.first.setdefault((event.name, event.phase), event)


def _tried(socket: _Socket, event: Event) -> None:
    socket.tried = str(event.params.get("address", ""))


_OF_SOCKETS: Readers[_Socket] = {
    **dict.fromkeys(ONCE, _once),
    ("TCP_CONNECT_ATTEMPT", BEGIN): _tried,
    ("SOCKET_IN_USE", BEGIN): lambda socket, event: socket.jobs.append(event.dependency()),
    ("SOCKET_BYTES_RECEIVED", POINT): lambda socket, event: socket.received.append(event.tick),
    ("SOCKET_BYTES_SENT", POINT): lambda socket, event: socket.sent.append(event.tick),
}


class Sockets(Subscriber[_Socket]):
    """Reads the life of sockets."""

    def __init__(self) -> None:
        super().__init__(("SOCKET",), _Socket, _OF_SOCKETS)

    def connections(self, jobs: ConnectJobs) -> list[Connection]:
        """Return every socket that tried a TCP connect, in order of its start."""
        connections = [socket.connection(jobs.found) for socket in self.found.values()]
        return sorted(filter(None, connections), key=lambda connection: connection.start)


@dataclass
class _Session:
    """An HTTP/2 session: its socket, and for which stream jobs it sent headers over which socket."""

    id: int
    socket: int = 0
    sent: list[tuple[int, int]] = field(default_factory=list)


def _initialized(session: _Session, event: Event) -> None:
    session.socket = event.dependency()


_OF_SESSIONS: Readers[_Session] = {
    ("HTTP2_SESSION_INITIALIZED", POINT): _initialized,
    ("HTTP2_SESSION_SEND_HEADERS", POINT):
        lambda session, event: session.sent.append((event.dependency(), session.socket)),
}


class Http2Sessions(Subscriber[_Session]):
    """Reads which requests went over which HTTP/2 connection."""

    def __init__(self) -> None:
        super().__init__(("HTTP2_SESSION",), _Session, _OF_SESSIONS)


@dataclass(frozen=True)
class Carriers:
    """Which connection carried the request of a stream job.

    Over HTTP/1 it is the socket that the job was handed. Over HTTP/2 that one may stay idle: where Chrome does not know
    yet what a server speaks it opens a socket for each request, and then sends all of them over the first that stands.
    There the session, which belongs to a socket, says for which jobs it sent headers.
    """

    handed: dict[int, Connection]
    sent_over_http2: dict[int, Connection]

    def connection_of(self, job: int, *, http2: bool) -> Connection | None:
        """Return the connection that carried the request of `job`; None when there was none."""
        return (self.sent_over_http2 if http2 else self.handed).get(job)


def read_carriers(sessions: Http2Sessions, connections: list[Connection]) -> Carriers:
    """Return which of `connections` carried the request of each stream job."""
    by_id = {connection.id: connection for connection in connections}
    handed = {job: connection for connection in connections for job in connection.jobs}
    sent = {job: by_id[socket] for session in sessions.found.values() for job, socket in session.sent
            if socket in by_id}
    return Carriers(handed, sent)
