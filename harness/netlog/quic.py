"""The QUIC connections of a net-log: sessions, the jobs that made them, and the requests that they carried.

A session begins with its first datagram. It stands once requests can be sent: when the handshake is over or, with early
data (0-RTT), as soon as its keys are known. Both is the end of its job's QUIC_SESSION_POOL_JOB_CONNECT.

    QUIC_SESSION_ZERO_RTT_STATE     NotAttempted, AttemptedAndSucceeded, AttemptedAndRejected
    QUIC_SESSION_PACKET_SENT        transmission_type: NOT_RETRANSMISSION, or why its frames are sent again
                                    (TransmissionType in quiche/quic/core/quic_types.h)
"""

from dataclasses import dataclass
from operator import attrgetter

from harness.netlog.connections import Connection, NameResolution, confirming
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber, noting

EARLY_STATES = {"AttemptedAndSucceeded": True, "AttemptedAndRejected": False}
FIRST_TIME = "NOT_RETRANSMISSION"


def _name(event: Event) -> str:
    return f"{event.params.get('host', '')}:{int(event.params.get('port', 0))}"


def _begun(session: Connection, event: Event) -> None:
    session.name, session.start, session.quic = _name(event), event.tick, True


def _sent(session: Connection, event: Event) -> None:
    session.sent.append(event.tick)
    session.sent_again += event.params.get("transmission_type", FIRST_TIME) != FIRST_TIME


def _received(session: Connection, event: Event) -> None:
    session.received.append(event.tick)
    session.address = session.address or str(event.params.get("peer_address", ""))


def _failed(session: Connection, event: Event) -> None:
    session.error = int(event.params.get("net_error", 0))


_OF_SESSIONS: Readers[Connection] = {
    ("QUIC_SESSION", BEGIN): _begun,
    ("QUIC_SESSION", END): noting("closed"),
    ("QUIC_SESSION_PACKET_SENT", POINT): _sent,
    ("QUIC_SESSION_PACKET_RECEIVED", POINT): _received,
    ("QUIC_SESSION_ZERO_RTT_STATE", POINT): confirming("state", EARLY_STATES.get),
    ("QUIC_SESSION_CLOSE_ON_ERROR", POINT): _failed,
}


@dataclass
class _Job:
    """A job that makes a session: for whom, and the look-up that it made; ticks, None for what never happened."""

    id: int
    name: str = ""
    session: int = 0
    connected: int | None = None
    asked: int | None = None
    resolved: int | None = None
    error: int = 0
    """Of the look-up."""


def _resolved(job: _Job, event: Event) -> None:
    job.resolved, job.error = event.tick, int(event.params.get("net_error", 0))


def _connected(job: _Job, event: Event) -> None:
    job.connected = None if event.params.get("net_error") else event.tick


_OF_JOBS: Readers[_Job] = {
    ("QUIC_SESSION_POOL_JOB", BEGIN): noting("name", _name),
    ("HOST_RESOLVER_MANAGER_REQUEST", BEGIN): noting("asked"),
    ("HOST_RESOLVER_MANAGER_REQUEST", END): _resolved,
    ("QUIC_SESSION_CREATED", POINT): noting("session", Event.dependency),
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


_OF_STREAMS: Readers[_StreamJob] = {
    ("BOUND_TO_QUIC_SESSION_POOL_JOB", POINT): noting("waits_for", Event.dependency),
    ("QUIC_SESSION_POOL_USE_EXISTING_SESSION", POINT): noting("uses", Event.dependency),
    ("HTTP_STREAM_JOB_BOUND_TO_REQUEST", POINT): noting("bound", attrgetter("number")),
}


class Quic:
    """Reads them; `subscribers` want the events."""

    def __init__(self) -> None:
        self._sessions = Subscriber(("QUIC_SESSION",), Connection, _OF_SESSIONS)
        self._jobs = Subscriber(("QUIC_SESSION_POOL_DIRECT_JOB",), _Job, _OF_JOBS)
        self._streams = Subscriber(("HTTP_STREAM_JOB",), _StreamJob, _OF_STREAMS)
        self.subscribers = self._sessions, self._jobs, self._streams

    def connections(self) -> list[Connection]:
        """Return the sessions, whose `jobs` are the stream jobs whose requests they carried, in that order."""
        sessions, jobs = self._sessions.found, self._jobs.found
        for job in jobs.values():
            session = sessions.get(job.session)
            if session is not None:
                session.connect_job = job.id
                if job.connected is not None:     # how it ended later is no error of the connect
                    session.connect_ms, session.error = float(job.connected - session.start), 0
                    session.ssl = session.start, job.connected
        for stream in sorted(self._streams.found.values(), key=lambda stream: stream.bound):
            maker = jobs.get(stream.waits_for)
            session = sessions.get(stream.uses or (maker.session if maker else 0))
            if session is not None and stream.bound:
                session.jobs.append(stream.id)
        return [session for session in sessions.values() if session.quic]

    def look_ups(self) -> list[NameResolution]:
        """Return the look-up of every job, in order of its start."""
        found = []
        for job in self._jobs.found.values():
            if job.asked is not None and job.resolved is not None and job.name:
                session = self._sessions.found.get(job.session)
                found.append(NameResolution(job.id, job.name, job.asked, job.resolved, job.error,
                                            (session.address,) if session and session.address else ()))
        return sorted(found, key=lambda look_up: look_up.start)
