"""The server of one recorded host: threaded, or single-threaded as in 2013."""

import itertools
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from harness.replay_handler import IDLE_LIMIT_S, ReplayHandler
from harness.replay_site import Site
from harness.serverlogs import HEADER, ServerRequest, format_request
from harness.tcp_options import FastOpenSwitch

QUEUE_2013 = 5
"""The backlog of the 2013 server: socketserver's default."""
IDLE_LIMIT_2013_S = 120.0
"""The 2013 server waited for ever. Longer than any page load is enough to show what that does, and has an end."""


class RequestLog:
    """A server's log file. Every line is one write, so the log is whole whenever the server ends."""

    def __init__(self, path: Path, owner: tuple[int, int] | None) -> None:
        """Open `path` for appending, owned by `owner` (uid, gid), and begin it with the header. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        if owner is not None:
            os.chown(path.parent, *owner)
            os.fchown(self._file, *owner)
        if os.fstat(self._file).st_size == 0:
            os.write(self._file, HEADER.encode())

    def write(self, request: ServerRequest) -> None:
        """Append one line."""
        os.write(self._file, format_request(request).encode())


class ReplayServer:
    """Threads that take turns: each accepts a connection and serves it to its end, while another waits for the next.

    So a silent connection keeps no other waiting, and no request waits for a thread to start (0.25 ms measured, as much
    as the rest of a request).
    """

    idle_limit_s = IDLE_LIMIT_S
    most_threads = 256

    def __init__(self, listener: socket.socket, site: Site, directory: int | None, logs: tuple[RequestLog, RequestLog],
                 protocol: str) -> None:
        """Serve `site`, whose files stand below the descriptor `directory`, on a socket that listens already.

        `logs` are those of connections made while TFO was off and on; `protocol` is "HTTP/1.0" (close) or "HTTP/1.1".
        """
        self.site, self.directory, self.protocol = site, directory, protocol
        self._listener = listener
        self._logs = logs
        self._switch = FastOpenSwitch()
        self._connections = itertools.count(1)
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting = 0

    def serve(self) -> None:
        """Serve until the process is ended."""
        self._threads = 1
        self._take_turns()

    def count_connection(self) -> int:
        """Return the number of the connection just accepted, from 1."""
        return next(self._connections)

    def current_log(self) -> RequestLog:
        """Return the log of the present TFO setting: loads without and with TFO take turns while the server lives."""
        return self._logs[self._switch.server_enabled()]

    def _take_turns(self) -> None:
        while True:
            with self._lock:
                self._waiting += 1
            connection, address = self._accept()
            with self._lock:
                self._waiting -= 1
                more = not self._waiting and self._threads < self.most_threads
                self._threads += more
            if more:
                self._start_thread()
            self._serve(connection, address)

    def _accept(self) -> tuple[socket.socket, object]:
        while True:
            with suppress(OSError):    # the client left before its turn, or there are no more file descriptors
                return self._listener.accept()
            time.sleep(0.01)    # no readiness: descriptors come back when connections end

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._take_turns, daemon=True).start()
        except RuntimeError as error:    # no more threads: those there are go on
            print(f"{self.site.host}: {error}", file=sys.stderr)
            with self._lock:
                self._threads -= 1

    def _serve(self, connection: socket.socket, address: object) -> None:
        with connection:
            try:
                ReplayHandler(connection, address, self)  # type: ignore[arg-type]  # not a socketserver: see the class
                connection.shutdown(socket.SHUT_WR)
            except OSError:    # the client left
                pass
            except Exception as error:  # noqa: BLE001 (an error in one connection must not end the server)
                print(f"{self.site.host}: {address}: {error!r}", file=sys.stderr)


class SingleThreadedServer(ReplayServer):
    """One connection after the other, each to its end: a silent one (a preconnect) keeps all others waiting.

    This is how the server of 2013 worked, and where the outliers of its results came from.
    """

    idle_limit_s = IDLE_LIMIT_2013_S
    most_threads = 1
