"""--rtt recorded --think recorded, by a recording's HAR: servers are as they were, and TFO saves each one's RTT."""

from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.finished import Finished, measured_again
from tests.support.thinking_servers import (
    FAR,
    KIND_OF,
    KINDS,
    LEAST_MS,
    NEAR,
    ROUNDS,
    Kind,
    record_thinking_servers,
)

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
RTTS_MS = {NEAR: 20.0, FAR: 120.0}
MEDIAN_MS = 70
CHAIN = [NEAR, *(kind.host for kind in KIND_OF.values())]
"""Whose each connection is: the next one is opened when what came over the one before has run."""
SAVED_MS = sum(RTTS_MS[host] for host in CHAIN)
TOLERANCE_MS = 80
"""Of two single loads. With the median for every server, or with either of the two, it would be 200 ms off or more."""


def as_expected(saved_ms: float) -> bool:
    return saved_ms == pytest.approx(SAVED_MS, abs=TOLERANCE_MS)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    def make() -> Path:
        return record_thinking_servers(tmp_path_factory.mktemp("as-recorded"), RTTS_MS)

    return measured_again(lambda found: as_expected(found.saved_ms), make, "--rtt", "recorded", "--think", "recorded")


def test_each_handshake_saves_its_own_servers_round_trip(found: Finished) -> None:
    """So it is predicted, too: playing the load again and counting handshakes both use each server's own."""
    assert as_expected(found.saved_ms)
    prediction = found.row().prediction
    assert prediction is not None
    assert prediction.handshakes == (len(CHAIN), len(CHAIN))
    assert as_expected(prediction.off_ms - prediction.predicted_ms)
    assert prediction.off_ms - prediction.simple_ms == pytest.approx(SAVED_MS)


def test_every_connection_took_its_own_servers_round_trip(found: Finished) -> None:
    """By Chrome's own log, in the load without TFO."""
    load = found.load(tfo=0)
    assert load.environment is not None
    assert set(load.environment.measured_rtt_ms) == set(RTTS_MS)
    times_ms = [connection.connect_ms or 0.0 for connection in load.connections or () if connection.requests]
    assert len(times_ms) == len(CHAIN)
    assert min(times_ms) < MEDIAN_MS - 30
    assert sum(time_ms > MEDIAN_MS + 30 for time_ms in times_ms) == CHAIN.count(FAR)
    assert load.counters["user"]["TCPFastOpenActive"] == 0
    assert found.load(tfo=1).counters["servers"]["TCPFastOpenPassive"] >= len(CHAIN)


def test_every_server_thinks_as_it_did(found: Finished) -> None:
    """A busy machine may add to some of a kind's answers, not to all."""
    load, own_ms = found.load(tfo=1), defaultdict[Kind, list[float]](list)
    for request in found.requests(tfo=1):
        if request.time_s >= (load.began_s or 0) and (kind := KIND_OF.get(f"http://{request.host}{request.path}")):
            own_ms[kind].append(request.own_ms or 0.0)
    assert set(own_ms) == set(KINDS)
    for kind, times_ms in own_ms.items():
        assert kind.think_ms <= min(times_ms) < kind.think_ms + LEAST_MS, times_ms
    assert (load.plt_ms or 0.0) >= sum(RTTS_MS[kind.host] + kind.think_ms for kind in KIND_OF.values())


def test_no_answer_is_late_for_that(found: Finished) -> None:
    """And what is late is judged by its own server's RTT."""
    load = found.load(tfo=1)
    assert load.timekeeping is not None
    for kind in KINDS[:2]:      # had its thinking counted as that, each of its answers would be
        late = [answer for answer in load.timekeeping.late if answer.host == kind.host]
        assert sum(answer.late_ms >= kind.think_ms for answer in late) < ROUNDS
    assert all(answer.rtt_ms == RTTS_MS[answer.host] for answer in load.timekeeping.late)
