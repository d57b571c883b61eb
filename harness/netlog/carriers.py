"""The connections of a net-log with the requests that they carried, over HTTP/1, HTTP/2 and HTTP/3."""

from dataclasses import dataclass, field
from operator import attrgetter

from harness.netlog import connections, quic
from harness.netlog.connections import NEVER, Connection, Job, NameResolution
from harness.netlog.file import POINT, Event, Readers, Subscriber, noting


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
Carriers = dict[tuple[int, bool], Connection]
"""Which connection carried the request of a stream job, over HTTP/2 or not.

Over HTTP/1 it is the socket that the job was handed. Over HTTP/2 that one may stay idle: where Chrome does not know yet
what a server speaks it opens a socket for each request, and then sends all of them over the first that stands. There
the session, which belongs to a socket, says for which jobs it sent headers.
"""


class Connections:
    """Reads connections and the jobs that make them; `subscribers` want the events."""

    def __init__(self) -> None:
        self._jobs = Subscriber(("TCP_CONNECT_JOB", "SSL_CONNECT_JOB", "TRANSPORT_CONNECT_JOB"), Job,
                                connections.OF_JOBS)
        self._sockets = Subscriber(("SOCKET",), Connection, connections.OF_SOCKETS)
        self._http2 = Subscriber(("HTTP2_SESSION",), _Session, _OF_SESSIONS)
        self._makers = Subscriber(("QUIC_SESSION_POOL_DIRECT_JOB",), Job, quic.OF_JOBS)
        self._quic = Subscriber(("QUIC_SESSION",), Connection, quic.OF_SESSIONS)
        self._streams = Subscriber(("HTTP_STREAM_JOB",), quic.StreamJob, quic.OF_STREAMS)
        self.subscribers = self._jobs, self._sockets, self._http2, self._makers, self._quic, self._streams

    def read(self) -> tuple[list[Connection], Carriers, list[NameResolution]]:
        """Return every connection that was tried, what each carried, and the look-ups, all in order of start."""
        jobs, makers, sessions = self._jobs.found, self._makers.found, self._quic.found
        for socket in self._sockets.found.values():
            if job := jobs.get(socket.connect_job):
                socket.name = job.name
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
        carriers |= {(job, True): tried[socket] for session in self._http2.found.values()
                     for job, socket in session.sent if socket in tried}
        look_ups = [look_up for job in (*jobs.values(), *makers.values()) for look_up in job.look_ups()]
        return made, carriers, sorted(look_ups, key=attrgetter("start"))
