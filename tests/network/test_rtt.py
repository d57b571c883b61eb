"""The measured RTT: how it is timed, and how far off it may be."""

import socket
import time

import pytest

from harness.errors import ExperimentError
from harness.network.rtt import check_rtts, connect, shortest_ms


@pytest.mark.parametrize(("nominal_ms", "off_ms"), [(200, 5), (2, 0.8), (5, 1.1), (0, 1)])
def test_two_percent_and_a_millisecond(nominal_ms: float, off_ms: float) -> None:
    """But of a short RTT no more than 40%."""
    for way in (-1, 1):
        check_rtts({"a.org": nominal_ms + way * 0.99 * off_ms}, {"a.org": nominal_ms})
        with pytest.raises(ExperimentError):
            check_rtts({"a.org": nominal_ms + way * 1.01 * off_ms}, {"a.org": nominal_ms})


def test_what_came_late_for_a_moment_is_not_the_rtt() -> None:
    """Two of three samples late, because another program worked then; and a server that is late always."""
    waits_s = {"a.org": iter([0.0, 0.2, 0.3]), "b.org": iter([0.2, 0.0, 0.3]), "c.org": iter([0.1, 0.2, 0.1])}
    found_ms = shortest_ms({name: name for name in waits_s}, lambda name: time.sleep(next(waits_s[name])), 0.001)
    assert found_ms["a.org"] < 100 > found_ms["b.org"]
    assert found_ms["c.org"] >= 100


def test_a_silent_server_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its queue is full: further SYNs get no answer (listen(2))."""
    monkeypatch.setattr("harness.network.rtt.TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.4", 0), backlog=0) as server, socket.create_connection(server.getsockname()):
        port = server.getsockname()[1]
        began_s = time.monotonic()
        with pytest.raises(ExperimentError, match=rf"^127\.0\.0\.4:{port} .* 0\.3 s"):
            shortest_ms({host: (host, port) for host in ("127.0.0.5", "127.0.0.4", "127.0.0.6")}, connect, 0.001)
        assert time.monotonic() - began_s >= 0.3
