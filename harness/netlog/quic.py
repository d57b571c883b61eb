"""The QUIC connections of a net-log: sessions, the jobs that made them, and the requests that they carried.

A session begins with its first datagram. It stands once requests can be sent: when the handshake is over or, with early
data (0-RTT), as soon as its keys are known. Both is the end of its job's QUIC_SESSION_POOL_JOB_CONNECT, or what the log
of a session itself says where its job was left out.

    QUIC_SESSION_ZERO_RTT_STATE     NotAttempted, AttemptedAndSucceeded, AttemptedAndRejected
    QUIC_SESSION_PACKET_SENT        transmission_type: NOT_RETRANSMISSION, or why its frames are sent again
                                    (Chromium's net/third_party/quiche/.../quic_types.cc)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.netlog.connections import Connection, NameResolution
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber

ACCEPTED, REJECTED = "AttemptedAndSucceeded", "AttemptedAndRejected"
FIRST_TIME = "NOT_RETRANSMISSION"


@dataclass
class _Session:
    """What the events of a session tell; ticks."""

    id: int
    name: str = ""
    start: int | None = None
    shaken: int | None = None
    """When the handshake was over."""
    closed: int | None = None
    error: int = 0
    address: str = ""
    early: str = ""
    received: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    sent_again: int = 0


def _begun(session: _Session, event: Event) -> None:
    session.name, session.start = _name(event), event.tick


def _sent(session: _Session, event: Event) -> None:
    session.sent.append(event.tick)
    session.sent_again += event.params.get("transmission_type", FIRST_TIME) != FIRST_TIME


def _received(session: _Session, event: Event) -> None:
    session.received.append(event.tick)
    session.address = session.address or str(event.params.get("peer_address", ""))


def _shaken(session: _Session, event: Event) -> None:
    session.shaken = event.tick


def _early(session: _Session, event: Event) -> None:
    session.early = str(event.params.get("state", ""))


def _failed(session: _Session, event: Event) -> None:
    if session.shaken is None:
        session.error = int(event.params.get("net_error", 0))


def _ended(session: _Session, event: Event) -> None:
    session.closed = event.tick


_OF_SESSIONS: Readers[_Session] = {
    ("QUIC_SESSION", BEGIN): _begun,
    ("QUIC_SESSION", END): _ended,
    ("QUIC_SESSION_PACKET_SENT", POINT): _sent,
    ("QUIC_SESSION_PACKET_RECEIVED", POINT): _received,
    ("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", POINT): _shaken,
    ("QUIC_SESSION_ZERO_RTT_STATE", POINT): _early,
    ("QUIC_SESSION_CLOSE_ON_ERROR", POINT): _failed,
}


@dataclass
class _Job:
    """A job that makes a session: for whom, the look-up that it made, and until when it connected; ticks."""

    id: int
    name: str = ""
    session: int = 0
    connected: int | None = None
    look_up: tuple[int, int, int] | None = None
    """Begin, end and error."""
    _asked: int = 0

    def resolves(self, event: Event) -> None:
        """Begin a look-up."""
        self._asked = event.tick

    def resolved(self, event: Event) -> None:
        """End it."""
        self.look_up = self._asked, event.tick, int(event.params.get("net_error", 0))


def _made(job: _Job, event: Event) -> None:
    job.session = event.dependency()


def _connected(job: _Job, event: Event) -> None:
    if not event.params.get("net_error"):
        job.connected = event.tick


def _wanted(job: _Job, event: Event) -> None:
    job.name = _name(event)


_OF_JOBS: Readers[_Job] = {
    ("QUIC_SESSION_POOL_JOB", BEGIN): _wanted,
    ("HOST_RESOLVER_MANAGER_REQUEST", BEGIN): _Job.resolves,
    ("HOST_RESOLVER_MANAGER_REQUEST", END): _Job.resolved,
    ("QUIC_SESSION_CREATED", POINT): _made,
    ("QUIC_SESSION_POOL_JOB_CONNECT", END): _connected,
}


@dataclass
class _StreamJob:
    """A stream job: which session's job it waited for, or which session it found there."""

    id: int
    waits_for: int = 0
    uses: int = 0
    bound: int = 0
    """Which event of the log bound it to a request; 0: it was to open a connection ahead of need."""


def _waits(stream: _StreamJob, event: Event) -> None:
    stream.waits_for = event.dependency()


def _uses(stream: _StreamJob, event: Event) -> None:
    stream.uses = event.dependency()


def _bound(stream: _StreamJob, event: Event) -> None:
    stream.bound = event.number


_OF_STREAMS: Readers[_StreamJob] = {
    ("HTTP_STREAM_JOB_BOUND_TO_REQUEST", POINT): _bound,
    ("BOUND_TO_QUIC_SESSION_POOL_JOB", POINT): _waits,
    ("QUIC_SESSION_POOL_USE_EXISTING_SESSION", POINT): _uses,
}


class Quic:
    """Reads them; `subscribers` want the events."""

    def __init__(self) -> None:
        self._sessions = Subscriber(("QUIC_SESSION",), _Session, _OF_SESSIONS)
        self._jobs = Subscriber(("QUIC_SESSION_POOL_DIRECT_JOB",), _Job, _OF_JOBS)
        self._streams = Subscriber(("HTTP_STREAM_JOB",), _StreamJob, _OF_STREAMS)
        self.subscribers = self._sessions, self._jobs, self._streams

    def connections(self) -> list[Connection]:
        """Return the sessions as connections, whose `jobs` are the stream jobs that they served, in that order."""
        makers = {job.session: job for job in self._jobs.found.values() if job.session}
        served = self._served({job.id: job.session for job in self._jobs.found.values()})
        return [_connection(session, makers.get(session.id, _Job(0)), served.get(session.id, []))
                for session in self._sessions.found.values() if session.start is not None]

    def look_ups(self) -> list[NameResolution]:
        """Return the look-up of every job, in order of its start."""
        addresses = {session.id: session.address for session in self._sessions.found.values()}
        found = [NameResolution(job.id, job.name, *job.look_up, (address,) if (address := addresses.get(
            job.session, "")) else ()) for job in self._jobs.found.values() if job.look_up and job.name]
        return sorted(found, key=lambda look_up: look_up.start)

    def _served(self, made: Mapping[int, int]) -> dict[int, list[int]]:
        """Return the stream jobs of each session; `made` are the sessions by job."""
        served: dict[int, list[int]] = {}
        for stream in sorted(self._streams.found.values(), key=lambda stream: stream.bound):
            session = stream.uses or made.get(stream.waits_for, 0)
            if session and stream.bound:
                served.setdefault(session, []).append(stream.id)
        return served


def _connection(session: _Session, maker: _Job, jobs: list[int]) -> Connection:
    start = session.start or 0
    stands = session.shaken if maker.connected is None else maker.connected
    return Connection(
        session.id, session.name, session.address, maker.id, start,
        None if stands is None or session.error else float(stands - start), session.error, False, jobs,
        None if stands is None else (start, stands), session.received, session.sent, closed=session.closed, quic=True,
        early={ACCEPTED: True, REJECTED: False}.get(session.early), sent_again=session.sent_again)


def _name(event: Event) -> str:
    return f"{event.params.get('host', '')}:{int(event.params.get('port', 0))}"
