"""A load over loopback, whose handshakes were held by the servers, tells what the same load over a network would."""

from dataclasses import replace

import pytest

from harness.analysis.causes import dependencies
from harness.analysis.critical_path import critical_path
from harness.analysis.timeline import Timeline, make_timeline
from harness.analysis.what_if import saved_ms
from tests.support.made_har import PAGE, MadeLoad, chain

RTT_MS = 100
HOSTS = 4


def timeline(load: MadeLoad, network: str, tfo: int = 0) -> Timeline:
    record = replace(load.record(RTT_MS, tfo=tfo), network=network)     # type: ignore[arg-type]
    return make_timeline(load.log(), record, load.plt_ms)


def held_chain() -> MadeLoad:
    """Return the chain as it looks where a connect takes no time and the first answer two round trips."""
    load = MadeLoad(0.0)
    at = 3.0
    for host in range(HOSTS):
        at = load.add(PAGE if host == 0 else f"http://host{host}.test/s.js", at, "script" if host else "document",
                      connect=0, wait=2 * RTT_MS, receive=2, referer=PAGE if host else "") + 5
    load.plt_ms = at
    return load


def test_the_handshakes_are_put_back() -> None:
    held, real = timeline(held_chain(), "loopback"), timeline(chain(HOSTS), "star")
    assert held.plt_ms == real.plt_ms
    assert [(request.connect, request.sent, request.head) for request in held.requests] == [
        (request.connect, request.sent, request.head) for request in real.requests]
    graphs = dependencies(held), dependencies(real)
    assert critical_path(held, graphs[0]) == critical_path(real, graphs[1])
    assert saved_ms(held, graphs[0], RTT_MS) == saved_ms(real, graphs[1], RTT_MS) == HOSTS * RTT_MS


def test_with_tfo_there_was_none() -> None:
    assert [request.connect for request in timeline(held_chain(), "loopback", tfo=1).requests] == [
        request.connect for request in timeline(held_chain(), "star").requests]


def test_a_connection_that_is_kept_has_one() -> None:
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", connect=0, wait=2 * RTT_MS, referer="")
    load.plt_ms = load.add(f"{PAGE}a.js", end, connect=-1, wait=RTT_MS, connection=1)
    document, script = timeline(load, "loopback").requests
    assert (document.connect, document.sent) == ((0, RTT_MS), RTT_MS)
    assert (script.connect, script.sent) == (None, end)


def test_over_tls_the_hello_waits_for_it() -> None:
    load = MadeLoad(0.0)
    load.plt_ms = load.add("https://page.test/", 0, "document", connect=2 * RTT_MS, ssl=2 * RTT_MS, wait=RTT_MS,
                           referer="")
    [request] = timeline(load, "loopback").requests
    assert (request.connect, request.tls) == ((0, RTT_MS), (RTT_MS, 2 * RTT_MS))
    assert (request.sent, request.head) == (2 * RTT_MS, 3 * RTT_MS)


@pytest.mark.parametrize(("ahead_ms", "waited_ms"), [(300, None), (40, 60)])
def test_a_connection_opened_ahead_of_need_was_waited_for_in_part(ahead_ms: float, waited_ms: float | None) -> None:
    """Its handshake was over before the request came, or went on for a while."""
    load = MadeLoad(0.0)
    at = 500.0
    load.add(PAGE, at, "document", connect=0, wait=RTT_MS + (waited_ms or 0), referer="")
    load.connections[0]["start_ms"] = at - ahead_ms
    load.plt_ms = at + RTT_MS + (waited_ms or 0)
    [request] = timeline(load, "loopback").requests
    assert request.head - request.sent == RTT_MS
    assert (request.connect or (0, 0))[1] - (request.connect or (0, 0))[0] == (waited_ms or 0)
