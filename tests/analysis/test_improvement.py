"""One improvement for each row: the same number wherever it is printed, and computed once."""

from pathlib import Path

import pytest

from harness.analysis.compare import compare, read_sides
from harness.analysis.improvement import improvement, improvements
from harness.analysis.intervals import improvement_interval
from harness.analysis.selection import select
from harness.files.results import read_results
from harness.show.detail import detail_lines
from harness.show.labels import percent
from harness.show.report.render import render
from harness.show.sweep import sweep_lines
from tests.support.client_folder import NEWS, add_load, make_client
from tests.support.texts import format_report

PAGE = "httpwww.news.example"


def test_medians_percent_and_interval(tmp_path: Path) -> None:
    off, on = [1000, 1010, 1020], [900, 880, 870]
    for run in (1, 2, 3):
        add_load(tmp_path, NEWS, 10, run, 0, off[run - 1])
        add_load(tmp_path, NEWS, 10, run, 1, on[run - 1])
    found = improvement(select(read_results(tmp_path), "load"), PAGE, 20)
    assert (found.off_ms, found.on_ms, found.pairs) == (1010, 880, 3)
    assert found.percent == pytest.approx((1010 - 880) / 1010 * 100)
    assert found.interval == improvement_interval(off, on)
    assert found.helps
    assert not found.hurts
    assert found.interval is not None
    assert found.percent is not None
    below, above = found.errors_percent
    assert found.percent - below == pytest.approx(found.interval.low_percent)
    assert found.percent + above == pytest.approx(found.interval.high_percent)


def test_what_was_not_measured_both_ways_has_none(tmp_path: Path) -> None:
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    found = improvement(select(read_results(tmp_path), "load"), PAGE, 20)
    assert (found.off_ms, found.on_ms, found.percent, found.pairs, found.interval) == (1000, None, None, 0, None)
    assert found.errors_percent == (0, 0)


def test_everything_that_prints_it_takes_it_from_one_computation(tmp_path: Path) -> None:
    client = make_client(tmp_path / "client", delays_ms=[5, 10, 20])
    results = read_results(client)
    selection = select(results, "load")
    improvement.cache_clear()
    printed = format_report(results, selection)
    for show in (detail_lines, sweep_lines):
        printed += "\n".join(show(results, selection))
    html = render(results, selection)
    assert improvement.cache_info().misses == len(improvements(results, selection)) == 6
    for row in improvements(results, selection):
        assert printed.count(percent(row.percent)) >= 2
        assert percent(row.percent) in html
    side_a, side_b = read_sides([client, client], "load")
    assert [difference.a for difference in compare(side_a, side_b) if difference.what == "Improv."] == [
        row.percent for row in improvements(results, selection)]
