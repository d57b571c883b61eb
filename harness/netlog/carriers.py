"""The connections of a net-log with the requests that they carried, over HTTP/1, HTTP/2 and HTTP/3.

A session begins with its first datagram. It stands once requests can be sent: when the handshake is over or, with early
data (0-RTT), as soon as its keys are known. Both is the end of its job's QUIC_SESSION_POOL_JOB_CONNECT.

    QUIC_SESSION_ZERO_RTT_STATE     NotAttempted, AttemptedAndSucceeded, AttemptedAndRejected
    QUIC_SESSION_PACKET_SENT        transmission_type: NOT_RETRANSMISSION, or why its frames are sent again
                                    (TransmissionType in quiche/quic/core/quic_types.h)
"""

from dataclasses import dataclass, field
from operator import attrgetter

from harness.netlog.connections import NEVER, OF_JOBS, OF_SOCKETS, Connection, Job, confirming
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber, collecting, net_error, noting

EARLY_STATES = {"AttemptedAndSucceeded": True, "AttemptedAndRejected": False}
FIRST_TIME = "NOT_RETRANSMISSION"


def _begun(session: Connection, event: Event) -> None:
    session.start, session.quic = event.tick, True


def _sent(session: Connection, event: Event) -> None:
    session.sent.append(event.tick)
    session.sent_again += event.params.get("transmission_type", FIRST_TIME) != FIRST_TIME


def _received(session: Connection, event: Event) -> None:
    session.received.append(event.tick)
    session.address = session.address or str(event.params.get("peer_address", ""))


_OF_QUIC_SESSIONS: Readers[Connection] = {
    ("QUIC_SESSION", BEGIN): _begun,
    ("QUIC_SESSION", END): noting("closed"),
    ("QUIC_SESSION_PACKET_SENT", POINT): _sent,
    ("QUIC_SESSION_PACKET_RECEIVED", POINT): _received,
    ("QUIC_SESSION_ZERO_RTT_STATE", POINT): confirming("state", EARLY_STATES.get),
    ("QUIC_SESSION_CLOSE_ON_ERROR", POINT): noting("error", net_error),
}


def _named(job: Job, event: Event) -> None:
    job.name = f"{event.params.get('host', '')}:{int(event.params.get('port', 0))}"


def _resolved(job: Job, event: Event) -> None:
    job.end, job.error = event.tick, net_error(event)


def _connected(job: Job, event: Event) -> None:
    job.connected = None if event.params.get("net_error") else event.tick


_OF_QUIC_JOBS: Readers[Job] = {
    ("QUIC_SESSION_POOL_JOB", BEGIN): _named,
    ("HOST_RESOLVER_MANAGER_REQUEST", BEGIN): noting("start"),
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


@dataclass
class _Session:
    """An HTTP/2 session: its socket, and for which stream jobs it sent headers."""

    id: int
    socket: int = 0
    jobs: list[int] = field(default_factory=list)


_OF_SESSIONS: Readers[_Session] = {
    ("HTTP2_SESSION_INITIALIZED", POINT): noting("socket", Event.dependency),
    ("HTTP2_SESSION_SEND_HEADERS", POINT): collecting("jobs", Event.dependency),
}
Carriers = dict[tuple[int, bool], Connection]
"""Which connection carried the request of a stream job, over HTTP/2 or not.

Over HTTP/1 it is the socket that the job was handed. Over HTTP/2 that one may stay idle: where Chrome does not know yet
what a server speaks it opens a socket for each request, and then sends all of them over the first that stands. There
the session, which belongs to a socket, says for which jobs it sent headers.
"""


class Connections:
    """Reads connections and the jobs that make them; `subscribers` want the events."""

    def __init__(self) -> None:
        self._jobs = Subscriber(("TCP_CONNECT_JOB", "SSL_CONNECT_JOB"), Job, OF_JOBS)
        self._sockets = Subscriber(("SOCKET",), Connection, OF_SOCKETS)
        self._http2 = Subscriber(("HTTP2_SESSION",), _Session, _OF_SESSIONS)
        self._makers = Subscriber(("QUIC_SESSION_POOL_DIRECT_JOB",), Job, _OF_QUIC_JOBS)
        self._quic = Subscriber(("QUIC_SESSION",), Connection, _OF_QUIC_SESSIONS)
        self._streams = Subscriber(("HTTP_STREAM_JOB",), _StreamJob, _OF_STREAMS)
        self.subscribers = self._jobs, self._sockets, self._http2, self._makers, self._quic, self._streams

    def read(self) -> tuple[list[Connection], Carriers, list[Job]]:
        """Return every connection that was tried, what each carried, and the look-ups, all in order of start."""
        jobs, makers, sessions = self._jobs.found, self._makers.found, self._quic.found
        for job in makers.values():
            if session := sessions.get(job.session):
                session.made_by(job)
        for stream in sorted(self._streams.found.values(), key=attrgetter("bound")):
            maker = makers.get(stream.waits_for)
            session = sessions.get(stream.uses or (maker.session if maker else 0))
            if session is not None and stream.bound:
                session.jobs.append(stream.id)
        tried = {each.id: each for each in (*self._sockets.found.values(), *sessions.values()) if each.start != NEVER}
        made = sorted(tried.values(), key=attrgetter("start"))
        carriers = {(job, False): each for each in made for job in each.jobs}
        carriers |= {(job, True): tried[session.socket] for session in self._http2.found.values()
                     if session.socket in tried for job in session.jobs}
        look_ups = [job for job in (*jobs.values(), *makers.values()) if job.looked_up]
        return made, carriers, sorted(look_ups, key=attrgetter("start"))
