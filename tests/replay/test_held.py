"""Answers that servers on loopback hold back: for how many round trips, over TLS and HTTP/2."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.replay.connection import Accepted
from tests.support.replay_process import running
from tests.support.secure_replay import speaking_h2

RTT_MS = 250.0
"""Long beside what another program may delay a server by: an answer that takes two is told from one that takes one. But
who is only given what others leave of the processors may get none for as long: so these tests run alone."""
RTT_S = RTT_MS / 1000


@pytest.mark.parametrize(("syn_data", "asked_s", "due_s"), [
    (False, 10.0, 10.2),        # handshake, request
    (True, 10.0, 10.1),         # the SYN carried the request
    (False, 10.05, 10.2),       # asked before its handshake would have been over
    (False, 10.5, 10.6),        # opened ahead of need, or kept alive: it stands
    (True, 10.5, 10.6)])
def test_for_how_long(syn_data: bool, asked_s: float, due_s: float) -> None:
    accepted = SimpleNamespace(service=SimpleNamespace(held_rtt_s=0.1), syn_data=syn_data, begun_s=10.0)
    assert Accepted.held_s(cast(Accepted, accepted), asked_s) == pytest.approx(due_s - asked_s)


def rtts(began_s: float) -> int:
    """Return how many whole round trips have passed."""
    return int((time.monotonic() - began_s) / RTT_S)


@pytest.mark.timing
def test_over_tls_the_hello_takes_two_and_requests_beside_each_other_one(tls_recording: Path) -> None:
    """The log counts the server's own time from when an answer is due."""
    with running(tls_recording, "--http", "recorded", "--held-rtt", f"{RTT_MS:g}") as held:
        began_s = time.monotonic()
        with speaking_h2(held) as client:
            assert rtts(began_s) == 2
            asked_s = time.monotonic()
            for path in ("/", "/go", "/none"):
                client.ask(path)
            client.finish()
            assert rtts(asked_s) == 1
        assert all(0 <= (line.own_ms or 0) < RTT_MS for line in held.log()[-3:])
