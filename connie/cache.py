"""A cache of getaddrinfo's answers."""

import os
import socket
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from errno import ETIMEDOUT
from typing import NamedTuple

from connie.addresses import Address, Host, Port, is_numeric, unique_addresses

TTL_S = 60.0
"""Seconds an answer is kept. getaddrinfo does not tell the time to live that the name server set."""

MAX_ENTRIES = 1024
"""Answers kept; beyond that the one not used for longest goes."""


Addresses = tuple[Address, ...]

_CACHES: "weakref.WeakSet[DnsCache]" = weakref.WeakSet()
"""All there are: each has to work in the child of a fork."""


class Question(NamedTuple):
    """The arguments of getaddrinfo."""

    host: Host
    port: Port
    family: int = 0
    kind: int = socket.SOCK_STREAM
    proto: int = 0
    flags: int = 0

    def __str__(self) -> str:
        return f"{self.host!r} port {self.port}"


@dataclass(frozen=True)
class Lookup:
    """The addresses of a name, in getaddrinfo's order, each once; and whether they come out of the cache."""

    addresses: Addresses
    cached: bool


class DnsCache:
    """Answers of getaddrinfo for `ttl_s` seconds each. Threads may share one; they also share a question under way.

    Names that do not resolve are not kept, so that one is asked for again as soon as it may exist. IP addresses never
    enter the cache: they are converted on the spot.
    """

    def __init__(self, ttl_s: float = TTL_S, max_entries: int = MAX_ENTRIES,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._clock = clock
        self._answers: OrderedDict[Question, tuple[float, Addresses]] = OrderedDict()
        self._forget_threads()
        _CACHES.add(self)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Let pickle and copy take along what uses a cache: CACHE is CACHE everywhere, others arrive empty."""
        return "CACHE" if self is CACHE else (DnsCache, (self._ttl_s, self._max_entries, self._clock))

    def _forget_threads(self) -> None:
        """Begin with a lock and no question under way: in the child of a fork no other thread exists that has them."""
        self._lock = threading.Lock()
        self._asked: dict[Question, Future[Addresses]] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._answers)

    def clear(self) -> None:
        """Forget every answer, and those to questions under way when they come."""
        with self._lock:
            self._answers.clear()
            self._asked.clear()

    def forget(self, question: Question) -> None:
        """Forget the answer to one question."""
        with self._lock:
            self._answers.pop(question, None)

    def lookup(self, question: Question, timeout_s: float | None = None) -> Lookup:
        """Return the addresses; wait for the name server at most `timeout_s`, without a limit when it is None.

        Raises what getaddrinfo raises (socket.gaierror, UnicodeError, ...), and TimeoutError.
        """
        answer = self.known(question)
        if answer is not None:
            return answer
        future = self.ask(question)
        wait([future], timeout_s)
        if not future.done():
            raise lookup_timeout(question)
        return Lookup(future.result(), cached=False)

    def known(self, question: Question) -> Lookup | None:
        """Return what can be told without waiting: the answer kept, or that of an IP address; else None."""
        if is_numeric(question.host):
            return Lookup(unique_addresses(socket.getaddrinfo(*question)), cached=False)
        with self._lock:
            expires, addresses = self._answers.get(question, (0.0, ()))
            if addresses and self._clock() < expires:
                self._answers.move_to_end(question)
                return Lookup(addresses, cached=True)
            return None

    def ask(self, question: Question) -> "Future[Addresses]":
        """Ask in a thread of its own, or join who is asking already; return the answer to come.

        A thread, because nothing else ends a wait for getaddrinfo: it is a daemon and remembers its answer even if
        nobody waits for it any more.
        """
        with self._lock:
            future = self._asked.get(question)
            if future is not None:
                return future
            future = self._asked[question] = Future()
            future.set_running_or_notify_cancel()            # from here on a waiter who gives up cannot cancel it
        asking = threading.Thread(target=self._ask, args=(question, future), name="connie-lookup", daemon=True)
        try:
            asking.start()
        except RuntimeError:                                 # no more threads: then this one has to wait
            self._ask(question, future)
        return future

    def _ask(self, question: Question, future: "Future[Addresses]") -> None:
        try:
            addresses = unique_addresses(socket.getaddrinfo(*question))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for those who wait
            self._answered(question, future, ())
            future.set_exception(error)
        else:
            self._answered(question, future, addresses)
            future.set_result(addresses)

    def _answered(self, question: Question, future: "Future[Addresses]", addresses: Addresses) -> None:
        with self._lock:
            if self._asked.get(question) is not future:      # cleared since it was asked
                return
            del self._asked[question]
            if addresses and self._max_entries > 0:
                self._answers[question] = (self._clock() + self._ttl_s, addresses)
                self._answers.move_to_end(question)
                while len(self._answers) > self._max_entries:
                    self._answers.popitem(last=False)


def lookup_timeout(question: Question) -> TimeoutError:
    """Return the error of a name server that did not answer in time."""
    return TimeoutError(ETIMEDOUT, f"timed out looking up {question.host!r}")


CACHE = DnsCache()
"""What connie uses unless told otherwise."""

UNCACHED = DnsCache(max_entries=0)
"""Keeps nothing."""


def cache_or_none(cache: DnsCache | None) -> DnsCache:
    """Return the cache to ask: for None one that keeps nothing."""
    return UNCACHED if cache is None else cache


def _forget_threads() -> None:
    for cache in list(_CACHES):
        cache._forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
