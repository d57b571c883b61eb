"""Handshakes on the critical path of requests that share connections: kept ones, streams, and those begun early."""


import pytest

from tests.support.critical_paths import RTT_MS, connects, path_of, saving
from tests.support.made_har import PAGE, MadeLoad


def test_keep_alive_needs_one_handshake() -> None:
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    for number in range(3):
        end = load.add(f"{PAGE}{number}.js", end + 1, connect=-1, connection=1)
    load.plt_ms = end + 1
    steps = path_of(load)
    assert connects(steps) == [PAGE]
    assert sum(step.kind == "wait" for step in steps) == 4
    assert saving(load) == RTT_MS


def test_a_stream_on_a_shared_connection_waits_for_its_handshake_too() -> None:
    """HTTP/2: both requests start together, one makes the connection, the second is sent as soon as it stands."""
    load = MadeLoad(0.0)
    found = load.add("https://page.test/", 0, "document", referer="", connect=200, ssl=100) + 2
    load.add("https://two.test/a.gif", found, "image", connect=200, ssl=100, connection=9, version="h2")
    load.plt_ms = load.add("https://two.test/b.gif", found, "image", queue=200, connect=-1, connection=9, receive=50,
                           version="h2")
    steps = path_of(load)
    assert connects(steps) == ["https://page.test/", "https://two.test/a.gif"], "a.gif made the connection"
    assert [step.length_ms for step in steps if step.kind == "tls"] == [100, 100]
    assert saving(load) == 2 * RTT_MS
    assert saving(load, small_client_hello=False) == 0


def test_a_stream_that_asked_first_waits_for_the_handshake_of_the_other() -> None:
    """Chrome opens two sockets, and sends both requests over that of the second, which stood first."""
    load = MadeLoad(0.0)
    found = load.add("https://page.test/", 0, "document", referer="", connect=200, ssl=100) + 2
    load.plt_ms = load.add("https://two.test/b.gif", found, "image", queue=203, connect=-1, connection=9, receive=50,
                           version="h2")
    load.add("https://two.test/a.gif", found + 1, "image", connect=200, ssl=100, connection=9, version="h2")
    steps = path_of(load)
    assert connects(steps) == ["https://page.test/", "https://two.test/a.gif"]
    assert {step.kind: step.length_ms for step in steps if "two" in step.url}["tls"] == 100
    assert saving(load) == 2 * RTT_MS


@pytest.mark.parametrize(("early_ms", "saved"), [(0, 100), (80, 100), (130, 70), (200, 0)])
def test_a_connection_begun_early_is_over_sooner_by_all_of_its_handshake(early_ms: int, saved: int) -> None:
    """Over TLS: of the 200 ms a part was not waited for; what was waited for is shorter by 100 ms, at most by all."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="", connect=0, wait=200)
    load.plt_ms = load.add("https://two.test/a.js", found, connect=max(0, 200 - early_ms), ssl=min(100, 200 - early_ms))
    load.connections[-1] |= {"start_ms": found - early_ms, "connect_ms": 100}
    assert saving(load) == saved


def test_a_stream_behind_others_on_its_connection_waits_for_one_of_them_to_end() -> None:
    """The server allows one stream at a time: c.js is sent when b.js is over, b.js when a.js is."""
    load = MadeLoad(0.0)
    found = load.add("https://page.test/", 0, "document", referer="", connect=200, ssl=100) + 2
    load.add("https://two.test/a.js", found, connect=200, ssl=100, connection=9, receive=50, version="h2")
    load.add("https://two.test/b.js", found, queue=350, connect=-1, connection=9, receive=50, version="h2")
    load.plt_ms = load.add("https://two.test/c.js", found, queue=500, connect=-1, connection=9, receive=50,
                           version="h2")
    steps = path_of(load)
    assert [step.url[-4:] for step in steps if step.kind == "wait"] == ["est/", "a.js", "b.js", "c.js"]
    assert sum(step.length_ms for step in steps if step.kind == "cpu") == 2
    assert saving(load) == 2 * RTT_MS


def test_a_stream_held_back_by_nothing_that_is_known_is_queued() -> None:
    load = MadeLoad(0.0)
    found = load.add("https://page.test/", 0, "document", referer="", connect=200, ssl=100) + 2
    load.add("https://two.test/a.js", found, connect=200, ssl=100, connection=9, receive=400, version="h2")
    load.plt_ms = load.add("https://two.test/b.js", found, queue=300, connect=-1, connection=9, receive=500,
                           version="h2")
    steps = path_of(load)
    assert [(step.kind, step.length_ms) for step in steps if "two" in step.url] == [
        ("connect", 100), ("tls", 100), ("queue", 100), ("wait", 100), ("receive", 500)]
    assert saving(load) == 2 * RTT_MS


def test_a_request_behind_another_on_a_kept_connection_waits_for_its_answer_not_for_its_handshake() -> None:
    """HTTP/1.1: both are asked for at once, and there is one connection."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="") + 2
    load.add("http://two.test/a.gif", found, "image", connection=9, receive=300)
    load.plt_ms = load.add("http://two.test/b.gif", found, "image", queue=502, connect=-1, connection=9, receive=50)
    steps = path_of(load)
    assert [(step.kind, step.length_ms) for step in steps if "two" in step.url] == [
        ("connect", 100), ("wait", 100), ("receive", 300), ("cpu", 2), ("wait", 100), ("receive", 50)]
    assert saving(load) == 2 * RTT_MS
