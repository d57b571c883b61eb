"""The TCP connections and name look-ups of a net-log.

Look-ups are read from the connect jobs: with host-resolver rules Chrome maps a name to an address inside the job, and
no HOST_RESOLVER_MANAGER_REQUEST ever names it. The name stands in the job's group (``pm/http://a.test <...>``). The
time runs from TCP_CONNECT_JOB_CONNECT to the first address tried, or to the error. Measured with Chromium 156; an older
one, that has TRANSPORT_CONNECT_JOB instead, gives connections but no look-ups.
"""

import re
from dataclasses import dataclass, field

from harness.files.hack_dns import PORTS
from harness.netlog.file import BEGIN, END, Event, NetLogFile
from harness.netlog.socket_bytes import RECEIVED, SENT

CONNECT_JOBS = ("TCP_CONNECT_JOB", "SSL_CONNECT_JOB", "TRANSPORT_CONNECT_JOB")
GROUP = re.compile(r"(?P<scheme>https?|wss?)://(?P<host>\[[^\]]*\]|[^\s/:<]+)(?::(?P<port>\d+))?")
DEFAULT_PORTS = PORTS | {"ws": PORTS["http"], "wss": PORTS["https"]}
EVENTS_READ = frozenset((
    RECEIVED, SENT,
    "SOCKET_POOL_CONNECT_JOB_CREATED", "TCP_CONNECT", "TCP_CONNECT_ATTEMPT", "SOCKET_ALIVE", "SSL_CONNECT",
    "SOCKET_IN_USE", "HTTP2_SESSION_INITIALIZED", "HTTP2_SESSION_SEND_HEADERS", "TCP_CONNECT_JOB_CONNECT",
    "TCP_CONNECT_JOB_CONNECTOR_CONNECT_START"))
"""The events that this module reads."""


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


def read_connections(log: NetLogFile) -> list[Connection]:
    """Return every socket that tried a TCP connect, in order of its start."""
    groups = {source: _group_of(events) for source, events in log.of_kind(*CONNECT_JOBS).items()}
    connections = []
    for source, events in log.of_kind("SOCKET").items():
        connection = _connection(source, events, groups)
        if connection is not None:
            connections.append(connection)
    return sorted(connections, key=lambda connection: connection.start)


def read_look_ups(log: NetLogFile) -> list[NameResolution]:
    """Return the look-up of every connect job, in order of its start."""
    look_ups = []
    for job, events in log.of_kind(*CONNECT_JOBS).items():
        look_up = _look_up(job, host_and_port(_group_of(events)[0]), events)
        if look_up is not None:
            look_ups.append(look_up)
    return sorted(look_ups, key=lambda look_up: look_up.start)


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


def read_carriers(log: NetLogFile, connections: list[Connection]) -> Carriers:
    """Return which of `connections` carried the request of each stream job."""
    by_id = {connection.id: connection for connection in connections}
    handed = {job: connection for connection in connections for job in connection.jobs}
    sent: dict[int, Connection] = {}
    for events in log.of_kind("HTTP2_SESSION").values():
        connection: Connection | None = None
        for event in events:
            if event.name == "HTTP2_SESSION_INITIALIZED":
                connection = by_id.get(event.dependency())
            elif event.name == "HTTP2_SESSION_SEND_HEADERS" and connection is not None:
                sent[event.dependency()] = connection
    return Carriers(handed, sent)


def _group_of(events: list[Event]) -> tuple[str, bool]:
    """Return a connect job's group and whether it is a backup job."""
    for event in events:
        if event.name == "SOCKET_POOL_CONNECT_JOB_CREATED":
            return str(event.params.get("group_id", "")), bool(event.params.get("backup_job", False))
    return "", False


def _connection(source: int, events: list[Event], groups: dict[int, tuple[str, bool]]) -> Connection | None:
    """Return the TCP connection that a socket made, None without one. `groups` say for which host each job connects."""
    first: dict[tuple[str, int], Event] = {}
    for event in events:
        first.setdefault((event.name, event.phase), event)
    begin, end = first.get(("TCP_CONNECT", BEGIN)), first.get(("TCP_CONNECT", END))
    if begin is None:
        return None
    tried = [str(event.params.get("address", "")) for event in events
             if event.name == "TCP_CONNECT_ATTEMPT" and event.phase == BEGIN]
    error = int(end.params.get("net_error", 0)) if end else 0
    alive, closed = first.get(("SOCKET_ALIVE", BEGIN)), first.get(("SOCKET_ALIVE", END))
    job = alive.dependency() if alive else 0
    group, backup = groups.get(job, ("", False))
    ssl_begin, ssl_end = first.get(("SSL_CONNECT", BEGIN)), first.get(("SSL_CONNECT", END))
    address = str(end.params.get("remote_address", "")) if end and not error else "".join(tried[-1:])
    return Connection(
        source, host_and_port(group), address, job, begin.tick,
        float(end.tick - begin.tick) if end and not error else None, error, backup,
        [event.dependency() for event in events if event.name == "SOCKET_IN_USE" and event.phase == BEGIN],
        (ssl_begin.tick, ssl_end.tick) if ssl_begin and ssl_end else None,
        received=[event.tick for event in events if event.name == RECEIVED],
        sent=[event.tick for event in events if event.name == SENT], closed=closed.tick if closed else None)


def _look_up(job: int, name: str, events: list[Event]) -> NameResolution | None:
    """Read one connect job; None for one that connects over another job or was cut off before the name was known."""
    start: int | None = None
    addresses: list[str] = []
    end, error = 0, 0
    for event in events:
        if event.name == "TCP_CONNECT_JOB_CONNECT" and event.phase == BEGIN:
            start = event.tick
        elif event.name == "TCP_CONNECT_JOB_CONNECTOR_CONNECT_START":
            end = end or event.tick
            addresses.append(str(event.params.get("address", "")))
        elif event.name == "TCP_CONNECT_JOB_CONNECT" and event.phase == END and not addresses:
            end, error = event.tick, int(event.params.get("net_error", 0))
    if start is None or not name or not end:
        return None
    return NameResolution(job, name, start, end, error, tuple(dict.fromkeys(addresses)))
