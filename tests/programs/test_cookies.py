"""First visits: what TFO saves while cookies are not there yet, counted in round trips of a chain of connections."""

import pytest

from tests.support.explained_pages import TWO_SITES as CHAIN
from tests.support.explained_pages import chain_of
from tests.support.finished import Finished, measured_again

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
RTT_MS = 200
SAVED = {"cold": 1, "domain": 3}
"""Handshakes: that of the second connection to a.one.test; and all but the first to each of the two sites. (Warm: five,
as tests/programs/test_experiment.py shows of such a chain.)"""
GAVE = {"cold": 4, "domain": 2}
"""Servers that gave a cookie: all four, one of each site."""
TOLERANCE = 0.4
"""Of a round trip: single loads differ by some 20 ms, and a whole handshake is what is counted."""


def as_expected(saved_ms: float, mode: str) -> bool:
    return saved_ms / RTT_MS == pytest.approx(SAVED[mode], abs=TOLERANCE)


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finished]:
    return {mode: measured_again(lambda found, mode=mode: as_expected(found.saved_ms, mode),    # type: ignore[misc]
                                 lambda mode=mode: chain_of(tmp_path_factory.mktemp(mode), *CHAIN),     # type: ignore[misc]
                                 "--delaynet", RTT_MS // 2, "--cookies", mode) for mode in SAVED}


@pytest.mark.parametrize("mode", SAVED)
def test_so_many_syns_carried_data(visits: dict[str, Finished], mode: str) -> None:
    """By the packets, by the servers' logs and by the kernel's counters."""
    record = visits[mode].load(tfo=1)
    assert record.cookies is not None
    assert (record.cookies.mode, record.cookies.first) == (mode, GAVE[mode])
    assert record.cookies.given >= GAVE[mode]
    assert record.connections_with_request == len(CHAIN)
    assert record.syn_data_connections == SAVED[mode]
    assert record.counters["servers"]["TCPFastOpenPassive"] >= SAVED[mode]
    assert record.counters["servers"]["TCPFastOpenCookieReqd"] >= GAVE[mode]


@pytest.mark.parametrize("mode", SAVED)
def test_so_many_round_trips_are_saved(visits: dict[str, Finished], mode: str) -> None:
    """One for each connection of the chain that knew a cookie, against the loads without TFO of the same experiment."""
    assert as_expected(visits[mode].saved_ms, mode)
    prediction = visits[mode].row().prediction
    assert prediction is not None
    assert as_expected(prediction.off_ms - prediction.predicted_ms, mode)
