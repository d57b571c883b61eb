"""The measured RTT: how it is timed, and how far off it may be."""

import os
import socket
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import cast

import pytest

from harness.errors import ExperimentError
from harness.network.rtt import check_rtts, connect_times_ms, measure_rtts
from harness.network.star import Star


@pytest.mark.parametrize(("nominal_ms", "off_ms"), [(20, 1.4), (200, 5), (2, 0.8), (5, 1.1), (1, 0.4), (0, 1)])
def test_two_percent_and_a_millisecond(nominal_ms: float, off_ms: float) -> None:
    """But of a short RTT no more than 40%."""
    for measured_ms in (nominal_ms, nominal_ms + 0.99 * off_ms, nominal_ms - 0.99 * off_ms):
        check_rtts({"a.org": measured_ms}, nominal_ms)
    for measured_ms in (nominal_ms + 1.01 * off_ms, nominal_ms - 1.01 * off_ms, nominal_ms + 1000, float("inf")):
        with pytest.raises(ExperimentError):
            check_rtts({"a.org": measured_ms}, nominal_ms)


def test_what_came_late_for_a_moment_is_not_the_rtt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three samples late, because another program worked then; and a server that is late always."""
    samples = {"10.0.0.2": iter([0.2, 0.3, 0.2]), "10.0.0.3": iter([3.0, 0.1, 3.0]), "10.0.0.4": iter([3.0, 3.1, 3.2])}
    star = SimpleNamespace(user=SimpleNamespace(pid=os.getpid()), servers={
        f"{number}.org": SimpleNamespace(address=f"10.0.0.{number}") for number in (2, 3, 4)})
    monkeypatch.setattr("harness.network.rtt.connect_times_ms",
                        lambda addresses, *_: [5 + next(samples[address]) for address in addresses])
    monkeypatch.setattr("harness.network.rtt.inside", lambda _: nullcontext())
    assert measure_rtts(cast(Star, star), 8000) == {"2.org": 5.2, "3.org": 5.1, "4.org": 8.0}


def silent_server() -> tuple[socket.socket, socket.socket]:
    """Return a listener whose queue is full, and what fills it: further SYNs get no answer (listen(2))."""
    server = socket.create_server(("127.0.0.4", 0), backlog=0)
    return server, socket.create_connection(server.getsockname())


def test_a_silent_server_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.network.rtt.TIMEOUT_S", 0.3)
    server, filler = silent_server()
    with server, filler:
        port = server.getsockname()[1]
        began_s = time.monotonic()
        with pytest.raises(ExperimentError, match=rf"^127\.0\.0\.4:{port} .* 0\.3 s"):
            connect_times_ms(["127.0.0.5", "127.0.0.4", "127.0.0.6"], port)
        assert time.monotonic() - began_s >= 0.3
