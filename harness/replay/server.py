"""The server of recorded hosts, one or several: threaded, or single-threaded as in 2013."""

import itertools
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial

from harness.files.exchange import H2
from harness.files.server_log import RequestLog
from harness.replay.body import Bodies
from harness.replay.connection import IDLE_LIMIT_S, Accepted, Connection, Endpoint
from harness.replay.http1 import Http1Connection
from harness.replay.http2 import Http2Connection

Logs = Mapping[str, RequestLog]
"""A server's logs, by host."""
MOST_THREADS = 512
"""In a process. Chrome opens 256 connections at most, so that one port leaves threads for the others."""
QUEUE_2013 = 5
"""The backlog of the 2013 server: socketserver's default."""


class ReplayServer:
    """Threads that take turns: each accepts a connection and serves it to its end, while another waits for the next.

    So a silent connection keeps no other waiting, and no request waits for a thread to start (0.25 ms measured, as much
    as the rest of a request).
    """

    idle_limit_s = IDLE_LIMIT_S

    def __init__(self, endpoints: list[Endpoint], bodies: Bodies, logs: Callable[[], Logs],
                 early: Callable[[], bool], *, most_threads: int = MOST_THREADS) -> None:
        """Serve the sites behind `endpoints`, all of one address.

        `logs` says where the requests of a connection are logged that is made now, `early` whether a session of QUIC
        that is made now may be taken up with early data.
        With `most_threads` 1 it serves one connection after the other, each to its end: a silent one (a preconnect)
        keeps all others waiting. This is how the server of 2013 worked, and where the outliers of its results came
        from. It waited for ever; longer than any page load is enough to show what that does, and has an end.
        """
        self._most_threads = most_threads
        self._endpoints = endpoints
        self._bodies = bodies
        self._logs, self._early = logs, early
        self._connections = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: Counter[Endpoint] = Counter()
        """How many threads wait for a connection."""

    def serve(self) -> None:
        """Serve until the process is ended."""
        first, *others = self._endpoints
        for endpoint in self._endpoints:
            if endpoint.datagrams is not None and endpoint.service.quic is not None:
                from harness.replay.http3 import serve_datagrams
                serve_datagrams(endpoint.datagrams, endpoint.service.quic, partial(self._connection, endpoint))
        for endpoint in others:
            self._start_thread(endpoint)
        self._take_turns(first)

    def _take_turns(self, endpoint: Endpoint) -> None:
        while True:
            with self._lock:
                self._waiting[endpoint] += 1
            connection = self._accept(endpoint)
            with self._lock:
                self._waiting[endpoint] -= 1
                more = not self._waiting[endpoint] and threading.active_count() < self._most_threads
            if more:
                self._start_thread(endpoint)
            self._serve(endpoint, connection)

    def _accept(self, endpoint: Endpoint) -> socket.socket:
        while True:
            with suppress(OSError):    # the client left before its turn, or there are no more file descriptors
                return endpoint.listener.accept()[0]
            if endpoint.listener.fileno() < 0:      # it was closed
                raise SystemExit                    # of this thread
            time.sleep(0.01)    # no readiness: descriptors come back when connections end

    def _connection(self, endpoint: Endpoint) -> Connection:
        """Return what is noted of a connection over QUIC that begins now."""
        return Connection(service=endpoint.service, bodies=self._bodies, logs=self._logs(),
                          number=next(self._connections), may_be_early=self._early())

    def _start_thread(self, endpoint: Endpoint) -> None:
        try:
            threading.Thread(target=self._take_turns, args=(endpoint,), daemon=True).start()
        except RuntimeError as error:    # no more threads: those there are go on
            print(f"{endpoint.service.sites[0].host}: {error}", file=sys.stderr)

    def _serve(self, endpoint: Endpoint, connection: socket.socket) -> None:
        with connection:
            try:
                accepted = Accepted(socket=connection, idle_limit_s=self.idle_limit_s, service=endpoint.service,
                                    bodies=self._bodies, logs=self._logs(), number=next(self._connections))
                with closing(accepted):
                    if accepted.agree():
                        (Http2Connection if accepted.protocol == H2 else Http1Connection)(accepted).serve()
            except OSError:    # the client left
                pass
            except Exception as error:  # noqa: BLE001 (an error in one connection must not end the server)
                print(f"{endpoint.service.sites[0].host}: {error!r}", file=sys.stderr)
