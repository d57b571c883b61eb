"""A cache of getaddrinfo's answers."""

import math
import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from connie.addresses import Address, Host, Port, unique_addresses

TTL_S = 60.0
"""Seconds an answer is kept. getaddrinfo does not tell the time to live that the name server set."""

MAX_ENTRIES = 1024
"""Answers kept; beyond that the one not used for longest goes."""

Answer = Future[tuple[Address, ...]]
"""The addresses of a name, in getaddrinfo's order, each once; or what will be them, or getaddrinfo's error."""


class _Answers:
    """What one process knows and asks: an answer expires at a time of the clock, a question under way never."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.kept: OrderedDict[tuple[Host, Port], tuple[Answer, float]] = OrderedDict()


class DnsCache:
    """Answers of getaddrinfo for TTL_S seconds each. Threads may share one; they also share a question under way.

    Names that do not resolve are not kept, so that one is asked for again as soon as it may exist. In the child of a
    fork a cache begins empty: a thread that held its lock or asked for a name exists in the parent only.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._of_process = _Answers()

    @property
    def _answers(self) -> _Answers:
        if self._of_process.process != os.getpid():
            self._of_process = _Answers()
        return self._of_process

    def __len__(self) -> int:
        return len(self._answers.kept)

    def clear(self) -> None:
        """Forget every answer, and those to questions under way when they come."""
        self._of_process = _Answers()

    def forget(self, host: Host, port: Port) -> None:
        """Forget the answer to one question."""
        answers = self._answers
        with answers.lock:
            answers.kept.pop((host, port), None)

    def lookup(self, host: Host, port: Port) -> Answer:
        """Return the answer kept, or ask in a thread of its own, or join who is asking already.

        A thread, because nothing else ends a wait for getaddrinfo: it is a daemon and remembers its answer even if
        nobody waits for it any more.
        """
        answer: Answer = Future()
        answer.set_running_or_notify_cancel()               # a waiter who gives up cannot cancel it
        answers = self._answers
        with answers.lock:
            known, expires = answers.kept.get((host, port), (answer, -math.inf))
            if self._clock() < expires:
                answers.kept.move_to_end((host, port))
                return known
            answers.kept[host, port] = answer, math.inf
        asking = threading.Thread(target=self._ask, args=(answers, host, port, answer), name="connie-lookup",
                                  daemon=True)
        try:
            asking.start()
        except RuntimeError:                                # no more threads: then this one has to wait
            self._ask(answers, host, port, answer)
        return answer

    def _ask(self, answers: _Answers, host: Host, port: Port, answer: Answer) -> None:
        addresses: tuple[Address, ...] = ()
        failure = None
        try:
            addresses = unique_addresses(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for those who wait
            failure = error
        with answers.lock:
            if answers.kept.get((host, port), (None, 0))[0] is answer:      # neither forgotten nor asked anew
                del answers.kept[host, port]
                if addresses:
                    answers.kept[host, port] = answer, self._clock() + TTL_S
            while len(answers.kept) > self._max_entries:
                answers.kept.popitem(last=False)
        if failure is None:
            answer.set_result(addresses)
        else:
            answer.set_exception(failure)


CACHE = DnsCache()
"""What connie uses unless told otherwise."""
