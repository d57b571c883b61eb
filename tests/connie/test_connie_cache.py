"""connie's cache of getaddrinfo's answers."""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from connie import DnsCache
from connie.cache import TTL_S
from tests.support.connie_hosts import WAIT_S, Names


def test_an_answer_is_kept_for_its_time_and_each_question_has_its_own(names: Names) -> None:
    clock = SimpleNamespace(now=1000.0)
    cache = DnsCache(clock=lambda: clock.now)
    names.hosts["a.test"] = [("192.0.2.1", 80)]
    first = cache.lookup("a.test", 80).result()
    names.hosts["a.test"] = [("192.0.2.2", 80)]
    clock.now += TTL_S - 0.001
    assert cache.lookup("a.test", 80).result() == first
    clock.now += 0.001
    assert cache.lookup("a.test", 80).result()[0].sockaddr == ("192.0.2.2", 80)
    for port in (80, 81, "80"):
        assert cache.lookup("a.test", port).result()
    assert len(names.asked) == 4
    assert len(cache) == 3


def test_names_that_do_not_resolve_are_asked_for_again(names: Names) -> None:
    cache = DnsCache()
    names.hosts["empty.test"] = []
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            cache.lookup("unknown.test", 80).result()
    names.unknown.clear()
    assert cache.lookup("empty.test", 80).result() == ()
    names.hosts["unknown.test"] = names.hosts["empty.test"] = [("192.0.2.1", 80)]
    assert all(cache.lookup(name, 80).result() for name in names.hosts)


def test_the_least_recently_used_answer_goes_first(names: Names) -> None:
    names.hosts = {name: [("192.0.2.1", 80)] for name in "abc"}
    for size, asked_for, asked in ((2, "abacab", "abcb"), (0, "aa", "aa")):
        names.asked.clear()
        cache = DnsCache(max_entries=size)
        for name in asked_for:
            assert cache.lookup(name, 80).result()
        assert names.asked == [*asked]
        assert len(cache) == size


def test_threads_share_a_question_under_way_and_clear_does_not_wait_for_it(names: Names) -> None:
    cache = DnsCache()
    names.hosts["a.test"] = [("192.0.2.1", 80)]
    go = threading.Event()
    names.before = lambda: go.wait(WAIT_S)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: cache.lookup("a.test", 80), range(20)))
    cache.clear()                               # what comes of the question under way is old news
    later = cache.lookup("a.test", 80)
    go.set()
    assert len(set(answers)) == 1
    assert answers[0].result() == later.result()
    assert names.asked == ["a.test", "a.test"]
    assert len(cache) == 1


def test_a_child_of_a_fork_can_use_its_cache(names: Names) -> None:
    """Whatever thread held the lock or had a question under way exists in the parent only."""
    cache = DnsCache()
    names.hosts["a.test"] = [("192.0.2.1", 80)]
    go = threading.Event()
    names.before = lambda: go.wait(WAIT_S)
    waiting = cache.lookup("a.test", 80)
    with cache._answers.lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                go.set()
                status = 0 if cache.lookup("a.test", 80).result(WAIT_S) else 1
            finally:
                os._exit(status)
    go.set()
    assert waiting.result(WAIT_S)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
