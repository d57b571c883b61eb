"""A server's load from samples: which count, their means and intervals, percentiles of a histogram."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.load_points import (
    HEADER,
    LoadSample,
    draw_server_load,
    half_width,
    load_points,
    percentile_ms,
    server_load_lines,
)

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
