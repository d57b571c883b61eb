"""The measured RTT: how it is timed, and how far off it may be."""

import os
import socket
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.network.rtt import check_rtts, connect_times_ms, measure_rtts, rtt_tolerance_ms
from harness.network.star import Star


@pytest.mark.parametrize(("nominal_ms", "measured_ms", "right"), [
    (20, 20, True), (20, 21.4, True), (20, 18.6, True), (20, 21.41, False), (20, 18.59, False),
    (200, 205, True), (200, 195, True), (200, 205.01, False), (200, 194.99, False), (200, 100, False), (200, 0, False),
    (2, 2.79, True), (2, 2.81, False), (2, 1.21, True), (2, 1.19, False), (2, 1, False), (2, 3, False),
    (5, 6.1, True), (5, 6.11, False), (1, 1.4, True), (1, 1.41, False),
    (0, 0.05, True), (0, 1, True), (0, 1.01, False), (20, float("inf"), False)])
def test_two_percent_and_a_millisecond(nominal_ms: float, measured_ms: float, right: bool) -> None:
    problem = ""
    try:
        check_rtts({"a.org": measured_ms}, nominal_ms)
    except ExperimentError as error:
        problem = str(error)
    assert (problem == "") == right


@given(nominal_ms=st.floats(0, 1000), share=st.floats(-1, 1))
def test_whatever_is_well_within_the_tolerance_passes(nominal_ms: float, share: float) -> None:
    check_rtts({"a.org": nominal_ms + 0.999 * share * rtt_tolerance_ms(nominal_ms)}, nominal_ms)


def test_what_came_late_for_a_moment_is_not_the_rtt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three samples late, because another program worked then; and a server that is late always."""
    samples = {"10.0.0.2": iter([0.2, 0.3, 0.2]), "10.0.0.3": iter([3.0, 0.1, 3.0]), "10.0.0.4": iter([3.0, 3.1, 3.2])}
    star = SimpleNamespace(user=SimpleNamespace(pid=os.getpid()), servers={
        f"{number}.org": SimpleNamespace(address=f"10.0.0.{number}") for number in (2, 3, 4)})
    monkeypatch.setattr("harness.network.rtt.connect_times_ms",
                        lambda addresses, _: [5 + next(samples[address]) for address in addresses])
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
        with pytest.raises(ExperimentError, match=rf"^127\.0\.0\.4:{port} did not answer within 0\.3 s; "):
            connect_times_ms(["127.0.0.5", "127.0.0.4", "127.0.0.6"], port)
        assert time.monotonic() - began_s >= 0.3
