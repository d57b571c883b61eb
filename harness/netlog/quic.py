"""The QUIC connections of a net-log: sessions, the jobs that made them, and the requests that they carried.

A session begins with its first datagram. It stands once requests can be sent: when the handshake is over or, with early
data (0-RTT), as soon as its keys are known. Both is the end of its job's QUIC_SESSION_POOL_JOB_CONNECT.

    QUIC_SESSION_ZERO_RTT_STATE     NotAttempted, AttemptedAndSucceeded, AttemptedAndRejected
    QUIC_SESSION_PACKET_SENT        transmission_type: NOT_RETRANSMISSION, or why its frames are sent again
                                    (TransmissionType in quiche/quic/core/quic_types.h)
"""

from dataclasses import dataclass
from operator import attrgetter

from harness.netlog.connections import Connection, Job, confirming
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, net_error, noting

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


OF_SESSIONS: Readers[Connection] = {
    ("QUIC_SESSION", BEGIN): _begun,
    ("QUIC_SESSION", END): noting("closed"),
    ("QUIC_SESSION_PACKET_SENT", POINT): _sent,
    ("QUIC_SESSION_PACKET_RECEIVED", POINT): _received,
    ("QUIC_SESSION_ZERO_RTT_STATE", POINT): confirming("state", EARLY_STATES.get),
    ("QUIC_SESSION_CLOSE_ON_ERROR", POINT): noting("error", net_error),
}


def _resolved(job: Job, event: Event) -> None:
    job.end, job.error = event.tick, net_error(event)


def _connected(job: Job, event: Event) -> None:
    job.connected = None if event.params.get("net_error") else event.tick


OF_JOBS: Readers[Job] = {
    ("QUIC_SESSION_POOL_JOB", BEGIN): noting("name", _name),
    ("HOST_RESOLVER_MANAGER_REQUEST", BEGIN): noting("start"),
    ("HOST_RESOLVER_MANAGER_REQUEST", END): _resolved,
    ("QUIC_SESSION_CREATED", POINT): noting("session", Event.dependency),
    ("QUIC_SESSION_POOL_JOB_CONNECT", END): _connected,
}


@dataclass
class StreamJob:
    """A stream job: which session's job it waited for, or which session it found there."""

    id: int
    waits_for: int = 0
    uses: int = 0
    bound: int = 0
    """Which event of the log bound it to a request; 0: it was to open a connection ahead of need."""


OF_STREAMS: Readers[StreamJob] = {
    ("BOUND_TO_QUIC_SESSION_POOL_JOB", POINT): noting("waits_for", Event.dependency),
    ("QUIC_SESSION_POOL_USE_EXISTING_SESSION", POINT): noting("uses", Event.dependency),
    ("HTTP_STREAM_JOB_BOUND_TO_REQUEST", POINT): noting("bound", attrgetter("number")),
}
