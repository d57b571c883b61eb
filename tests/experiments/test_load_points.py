"""A server's load: what a core had to do; which samples count, their means and intervals, percentiles."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import server_load
from experiments.load_points import (
    HEADER,
    LoadSample,
    draw_server_load,
    half_width,
    load_points,
    percentile_ms,
    server_load_lines,
)
from experiments.server_load import CoreTimes, read_core
from harness.system.environment import MS_PER_TICK

SAMPLE = LoadSample("on", 1000, 0, 1000.5, 0, 0.2, 0.1, 0.3, 1, 9)


def test_a_point_is_the_mean_of_its_samples() -> None:
    others = [replace(SAMPLE, repeat=1, cpu=0.22, packets=12), replace(SAMPLE, repeat=2, cpu=0.24)]
    [point] = load_points([SAMPLE, *others])
    assert (point.mean.mode, point.mean.rate, point.mean.packets) == ("on", 1000, 10)
    assert point.mean.cpu == pytest.approx(0.22)
    assert point.half_width == pytest.approx(4.303 * 0.02 / 3 ** 0.5, rel=1e-3), "Student's t for three samples"


@pytest.mark.parametrize("broken", [{"failed": 1}, {"held": 985.0}, {"held": 1011.0}, {"p50_ms": 101.0}])
def test_a_rate_that_was_not_held_not_answered_or_too_much_has_no_point(broken: dict[str, float]) -> None:
    assert load_points([SAMPLE, replace(SAMPLE, repeat=1, **broken)]) == []  # type: ignore[arg-type]


def test_one_sample_has_no_interval() -> None:
    """It was "+- 0.0", which says that the mean is known for certain."""
    assert math.isnan(half_width([0.2]))


def test_percentiles_are_times_that_were_measured() -> None:
    assert [percentile_ms([(100, 25), (200, 25), (400, 50)], share) for share in (0.5, 0.51)] == [0.2, 0.4]
    assert percentile_ms([], 0.5) == 0


def test_table_and_figure(tmp_path: Path) -> None:
    points = load_points([SAMPLE, replace(SAMPLE, mode="off", syn_data=0), replace(SAMPLE, rate=500.0, held=500.0)])
    assert list(server_load_lines(points)) == [
        HEADER, "500\tTFO\t20.0\t-\t0.10\t0.30\t100.0\t9.00",
        "1000\tno TFO\t20.0\t-\t0.10\t0.30\t0.0\t9.00", "1000\tTFO\t20.0\t-\t0.10\t0.30\t100.0\t9.00"]
    draw_server_load(points, tmp_path / "load.svg")
    assert (tmp_path / "load.svg").read_text().count("<g id=\"line2d") > 10


STAT = """cpu  100 0 50 800 10 5 5 30 0 0
cpu0 10 0 5 80 1 1 1 3 0 0
cpu1 90 0 45 720 9 4 4 27 40 0
intr 1
"""


@pytest.mark.parametrize(("core", "idle_ticks", "steal_ticks"), [(0, 81, 3), (1, 729, 27)])
def test_times_of_a_core(core: int, idle_ticks: int, steal_ticks: int, tmp_path: Path,
                         monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(server_load, "STAT", tmp_path / "stat")
    times = read_core(core)
    assert (times.idle_ms, times.steal_ms) == (idle_ticks * MS_PER_TICK, steal_ticks * MS_PER_TICK)


def test_busy_share_without_what_the_hypervisor_took() -> None:
    before = CoreTimes(1000, 0, 5000)
    assert CoreTimes(1450, 100, 6000).busy_since(before) == 0.5
    assert CoreTimes(2010, 0, 6000).busy_since(before) == 0, "idle is counted in steps of 10 ms"
    assert before.busy_since(before) == 0
