"""What is sent on one connection, and when: the same for every version of HTTP, by one thread that waits in one place.

An answer's way: it is held back for its round trip (harness.replay.held), worked out, thought about, begun with its
head, and sent piece by piece when its turn comes: as fast as may be, or as it came when it was recorded. A subclass
reads requests and puts heads and pieces into its version's form (harness.replay.http1, http2).
"""

import heapq
import re
import select
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field

from harness.replay.connection import Accepted, Connection
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site

UNSENT = 32 * 1024
"""Bytes that wait for the kernel, at most, before the next answer's turn is decided; at some sites also in it."""
AT_ONCE = 32
"""Events (two for a request over HTTP/2), or requests that were held back, after which answers are sent. A browser asks
for a hundred small files within a few kB: the first answer would wait until all are worked out, 0.4 ms each."""
DEFAULT_URGENCY = 3
URGENCY = re.compile(r"(?:^|[\s,])u=([0-7])(?![0-9])")
INCREMENTAL = re.compile(r"(?:^|[\s,])i(?:=\?1)?(?=\s*(?:[,;]|$))")
NEVER = float("inf")


@dataclass
class Outgoing:
    """A response that is being sent: its stream, site and request, and how urgent it is (0 most, 7 least; RFC 9218)."""

    stream: int
    site: Site
    method: str
    target: str
    reply: Reply
    number: int
    received_s: float
    left: int
    urgency: int = DEFAULT_URGENCY
    incremental: bool = False
    early: bool = False
    """Whether it was asked for in early data."""
    sent: int = 0
    turns: int = 0
    begun_s: float | None = None
    head_s: float = field(default_factory=time.monotonic)
    """When the head is to be sent, or was, by the monotonic clock."""

    @property
    def since_head_ms(self) -> float:
        """How long ago the head was sent; below 0 while the server thinks."""
        return (time.monotonic() - self.head_s) * 1000

    @property
    def allowed(self) -> int:
        """Bytes of the body that may be sent now: all that are left, or what had come when it was recorded."""
        return self.reply.allowed(self.since_head_ms, self.sent)

    def rank(self) -> tuple[int, int, int]:
        """Return what decides whose turn it is: the smallest. Incremental answers take turns, others are sent whole.

        The stream stands last.
        """
        return self.urgency, self.turns if self.incremental else 0, self.stream

    @property
    def is_only_head(self) -> bool:
        """Whether nothing follows the head."""
        return not self.left and (self.method == "HEAD" or not self.reply.stays_open)

    @property
    def is_last_piece(self) -> bool:
        """Whether the piece that was read last ends the answer."""
        return not self.left and not self.reply.stays_open

    def begin(self) -> None:
        """Note that the head is sent now. By how much that is too late, after a thought, is not the server's time."""
        overslept_s = time.monotonic() - self.head_s if self.reply.think_ms else 0.0
        self.begun_s, self.head_s = time.time() - overslept_s, time.monotonic()

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body, which are sent now; none where the file was cut meanwhile."""
        piece = self.reply.read(min(self.left, size))
        self.left -= len(piece)
        self.sent += len(piece)
        self.turns += 1
        return piece

    def next_s(self) -> float:
        """Return when more may be sent, by time.monotonic(); NEVER where all may, at once or by its turn."""
        next_ms = None if self.begun_s is None else self.reply.next_ms(self.since_head_ms)
        return NEVER if next_ms is None else self.head_s + next_ms / 1000

    def note(self, connection: Connection) -> None:
        """Write it into its site's log, and close its files."""
        with self.reply:
            connection.note(self.site, self.received_s, self.number, self.method, self.target, status=self.reply.status,
                            sent=self.sent, found=self.reply.found, begun_s=self.begun_s, answer=self.reply.answer,
                            early=self.early)


def outgoing(connection: Connection, stream: int, site: Site, request: Request, reply: Reply, *,
             received_s: float) -> Outgoing:
    """Return the answer to a request of a connection that is complete since `received_s`."""
    priority = request.asked.headers.get("priority", "")
    urgency = URGENCY.search(priority) if priority else None
    answer = Outgoing(stream, site, request.method, request.target, reply, connection.count_request(), received_s,
                      0 if request.method == "HEAD" else reply.size or 0,
                      int(urgency[1]) if urgency else DEFAULT_URGENCY, bool(INCREMENTAL.search(priority)))
    answer.head_s += reply.think_ms / 1000
    return answer


class Answering:
    """Serves one connection to its end."""

    read_bytes = 64 * 1024
    """Bytes that are read at a time."""

    def __init__(self, accepted: Accepted) -> None:
        self._accepted, self._socket = accepted, accepted.socket
        self._reads = True
        """Whether something is waited for from the client."""
        self._answers: dict[int, Outgoing] = {}
        self._turns: list[tuple[int, int, int]] = []
        """A heap of the ranks of those answers whose bodies are being sent; some may be over."""
        self._thinking: list[tuple[float, int]] = []
        """A heap of when the answers begin that the server thinks about, by time.monotonic(), and their streams."""
        self._timed: dict[int, Outgoing] = {}
        """Those answers that are sent in the times in which they came."""
        self._held: list[tuple[float, int]] = []
        """When each of the streams that are held back is to be answered, by time.monotonic()."""
        self._asked: dict[int, tuple[Site, Request]] = {}
        """What these ask for."""
        self._unsent = bytearray()

    # What each version does in its way.

    def _received(self, data: bytes) -> bool:
        """Take what came; say whether the connection goes on."""
        raise NotImplementedError

    def _is_over(self) -> bool:
        """Say whether nothing more is to be sent or received."""
        return False

    def _write_head(self, answer: Outgoing, *, ends: bool) -> None:
        raise NotImplementedError

    def _write_piece(self, answer: Outgoing, piece: bytes, *, ends: bool) -> None:
        raise NotImplementedError

    def _room(self, answer: Outgoing) -> int:
        """Return how many bytes of an answer may be sent at once now."""
        raise NotImplementedError

    def _break_off(self, answer: Outgoing) -> None:
        """Tell that an answer is cut short: its file was cut meanwhile."""
        raise NotImplementedError

    # What all do.

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long."""
        self._socket.setblocking(False)
        try:
            self._go_on()
        except OSError:    # the client left
            pass
        finally:
            if not self._accepted.requests:
                self._accepted.note_silent()
            for answer in list(self._answers.values()):
                self._finish(answer)

    def _go_on(self) -> None:
        poll = select.poll()        # select() takes no descriptor over 1023
        deadline = time.monotonic() + self._accepted.idle_limit_s
        while True:
            self._answer_held()
            self._begin_what_is_due()
            self._fill()
            if not self._unsent and self._is_over():
                return
            poll.register(self._socket, (select.POLLIN if self._reads else 0) | (select.POLLOUT if self._unsent else 0))
            ready = poll.poll(max(0.0, (min(deadline, self._next_s()) - time.monotonic()) * 1000))
            if not ready and time.monotonic() < deadline:
                continue
            if not ready:
                return
            if ready[0][1] & select.POLLOUT:
                self._write()
            if ready[0][1] & ~select.POLLOUT and not self._read():
                return
            deadline = time.monotonic() + self._accepted.idle_limit_s

    def _next_s(self) -> float:
        """Return when something is to be done that does not wait for the client, by time.monotonic()."""
        timed = (answer.next_s() for answer in self._timed.values())
        return min((*(heap[0][0] for heap in (self._thinking, self._held) if heap), *timed), default=NEVER)

    def _write(self) -> None:
        if self._unsent:
            with suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                del self._unsent[:self._socket.send(self._unsent)]

    def _read(self) -> bool:
        """Take what came; say whether the connection goes on. What TLS has decrypted is no longer seen by poll()."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            while data := self._socket.recv(self.read_bytes):
                goes_on = self._received(data)
                self._fill()
                self._write()
                if not goes_on:
                    return False
            return self._left()
        return True

    def _left(self) -> bool:
        """Say whether there is something to do once the client has nothing more to say."""
        return False

    def _ask(self, stream: int, site: Site, request: Request) -> None:
        """Take a request that is complete: hold it back, or answer it at once."""
        if self._accepted.held.rtt_s:
            self._asked[stream] = site, request
            heapq.heappush(self._held, (self._accepted.held.due_s(time.monotonic()), stream))
        else:
            self._answer(stream, site, request, time.time())

    def _answer_held(self) -> None:
        """Answer requests that need not be held back any longer, AT_ONCE of them at most."""
        for _ in range(AT_ONCE):
            if not self._held or (late_s := time.monotonic() - self._held[0][0]) < 0:
                return
            stream = heapq.heappop(self._held)[1]
            if stream in self._asked:       # nobody has reset it
                self._answer(stream, *self._asked.pop(stream), time.time() - late_s)

    def _answer(self, stream: int, site: Site, request: Request, received_s: float) -> None:
        """Begin the answer to a request that is complete since `received_s`."""
        self._reply(stream, site, request, received_s, reply_to(site, self._accepted.directories, request))

    def _reply(self, stream: int, site: Site, request: Request, received_s: float, reply: Reply) -> None:
        answer = self._answers[stream] = outgoing(self._accepted, stream, site, request, reply,
                                                   received_s=received_s)
        if reply.arrivals:
            self._timed[stream] = answer
        if reply.think_ms and not reply.hangs:
            heapq.heappush(self._thinking, (answer.head_s, stream))
        elif not reply.hangs:
            self._begin(answer)

    def _begin_what_is_due(self) -> None:
        """Begin the answers that were thought about for long enough, in the order in which they were to begin."""
        while self._thinking and self._thinking[0][0] <= time.monotonic():
            answer = self._answers.get(heapq.heappop(self._thinking)[1])
            if answer is not None:      # nobody has reset its stream meanwhile
                self._begin(answer)

    def _begin(self, answer: Outgoing) -> None:
        """Send the head of an answer."""
        answer.begin()
        self._write_head(answer, ends=answer.is_only_head)
        if answer.is_only_head:
            self._finish(answer)
        else:
            heapq.heappush(self._turns, answer.rank())

    def _fill(self) -> None:
        """Decide what goes next, once what was decided before has been handed to the kernel."""
        not_now = []
        while self._turns and len(self._unsent) < UNSENT:
            rank = heapq.heappop(self._turns)
            answer = self._answers.get(rank[-1])
            if answer is None:      # its stream was reset
                continue
            room = self._room(answer)
            if not room:
                not_now.append(rank)
                continue
            self._send_piece(answer, room)
            if answer.stream in self._answers:
                heapq.heappush(self._turns, answer.rank())
        for rank in not_now:
            heapq.heappush(self._turns, rank)

    def _send_piece(self, answer: Outgoing, room: int) -> None:
        piece = answer.read(room)
        if not piece:
            self._break_off(answer)
            self._finish(answer)
            return
        self._write_piece(answer, piece, ends=answer.is_last_piece)
        if answer.is_last_piece:
            self._finish(answer)

    def _finish(self, answer: Outgoing) -> None:
        del self._answers[answer.stream]
        self._timed.pop(answer.stream, None)
        answer.note(self._accepted)
