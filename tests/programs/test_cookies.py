"""First visits: what TFO saves while cookies are not there yet, counted in round trips of a chain of connections."""

import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.analysis.selection import Selection, select
from harness.files.load_record import LoadRecord
from harness.files.pages import sanitise
from harness.files.results import read_results
from tests.support.explained_pages import TWO_SITES as CHAIN
from tests.support.explained_pages import chain_of
from tests.support.project_copy import experiment

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
RTT_MS = 200
SAVED = {"cold": 1, "domain": 3}
"""Handshakes: that of the second connection to a.one.test; and all but the first to each of the two sites. (Warm: five,
as tests/programs/test_experiment.py shows of such a chain.)"""
GAVE = {"cold": 4, "domain": 2}
"""Servers that gave a cookie: all four, one of each site."""
TOLERANCE = 0.4
"""Of a round trip: single loads differ by some 20 ms, and a whole handshake is what is counted."""
AGAIN = 2
"""A load may be late because another program worked: then it is measured again. What saves too little stays so."""


@dataclass(frozen=True)
class FirstVisit:
    """One experiment with TFO, and what its measured load says."""

    base: Path
    selection: Selection

    @property
    def record(self) -> LoadRecord:
        """The measured load with TFO."""
        [load] = self.selection.by_place[sanitise(CHAIN[0]), RTT_MS].on.loads
        assert load.record is not None
        return load.record

    def plt_ms(self, tfo: int) -> float:
        """Median page load time."""
        return statistics.median(self.selection.by_place[sanitise(CHAIN[0]), RTT_MS].cells[tfo].plts_ms)

    @property
    def saved_rtts(self) -> float:
        """What TFO saved, in round trips."""
        return (self.plt_ms(0) - self.plt_ms(1)) / RTT_MS


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FirstVisit]:
    return {mode: visit(tmp_path_factory, mode) for mode in SAVED}


def visit(tmp_path_factory: pytest.TempPathFactory, mode: str) -> FirstVisit:
    for _ in range(AGAIN):
        found = measure(tmp_path_factory.mktemp(mode), mode)
        if found.saved_rtts == pytest.approx(SAVED[mode], abs=TOLERANCE):
            return found
    return measure(tmp_path_factory.mktemp(mode), mode)


def measure(base: Path, mode: str) -> FirstVisit:
    experiment(chain_of(base, *CHAIN), "--delaynet", RTT_MS // 2, "--testruns", "2", "--cookies", mode)
    return FirstVisit(base, select(read_results(base / "client"), "load"))


@pytest.mark.parametrize("mode", SAVED)
def test_so_many_syns_carried_data(visits: dict[str, FirstVisit], mode: str) -> None:
    """By the packets, by the servers' logs and by the kernel's counters."""
    record = visits[mode].record
    assert record.cookies is not None
    assert (record.cookies.mode, record.cookies.first) == (mode, GAVE[mode])
    assert record.cookies.given >= GAVE[mode]
    assert record.connections_with_request == len(CHAIN)
    assert record.syn_data_connections == SAVED[mode]
    assert record.counters["servers"]["TCPFastOpenPassive"] >= SAVED[mode]
    assert record.counters["servers"]["TCPFastOpenCookieReqd"] >= GAVE[mode]


@pytest.mark.parametrize("mode", SAVED)
def test_so_many_round_trips_are_saved(visits: dict[str, FirstVisit], mode: str) -> None:
    """One for each connection of the chain that knew a cookie, against the loads without TFO of the same experiment."""
    found = visits[mode]
    assert found.saved_rtts == pytest.approx(SAVED[mode], abs=TOLERANCE)
    prediction = found.selection.by_place[sanitise(CHAIN[0]), RTT_MS].prediction
    assert prediction is not None
    assert (prediction.off_ms - prediction.predicted_ms) / RTT_MS == pytest.approx(SAVED[mode], abs=TOLERANCE)
