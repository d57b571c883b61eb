"""What a single processor had to do, and packets that go to one of them."""

from pathlib import Path

import pytest

from experiments import pinned_server
from experiments.pinned_server import CoreTimes, read_core
from harness.system.environment import MS_PER_TICK

STAT = """cpu  100 0 50 800 10 5 5 30 0 0
cpu0 10 0 5 80 1 1 1 3 0 0
cpu1 90 0 45 720 9 4 4 27 40 0
intr 1
"""


@pytest.mark.parametrize(("core", "idle_ticks", "steal_ticks"), [(0, 81, 3), (1, 729, 27)])
def test_times_of_a_core(core: int, idle_ticks: int, steal_ticks: int, tmp_path: Path,
                         monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(pinned_server, "STAT", tmp_path / "stat")
    times = read_core(core)
    assert (times.idle_ms, times.steal_ms) == (idle_ticks * MS_PER_TICK, steal_ticks * MS_PER_TICK)


def test_busy_share_without_what_the_hypervisor_took() -> None:
    before = CoreTimes(1000, 0, 5000)
    assert CoreTimes(1450, 100, 6000).busy_since(before) == 0.5
    assert CoreTimes(2010, 0, 6000).busy_since(before) == 0, "idle is counted in steps of 10 ms"
    assert before.busy_since(before) == 0
