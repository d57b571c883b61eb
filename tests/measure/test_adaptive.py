"""When enough is measured: which pages get more pairs, in what order, and when it ends. No root, no browser."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.analysis.stats import improvement_interval
from harness.files.pages import Page
from harness.measure.evidence import Load
from harness.measure.series import Measured, Series, plan_loads
from harness.measure.settings import MINIMUM_PAIRS, Settings
from tests.support.made_reason import accident
from tests.support.made_record import made_answers, made_record

STEADY, NOISY, BROKEN = (Page(f"http://{name}.test", f"http{name}.test") for name in ("steady", "noisy", "broken"))
SEED = 1
MOST = 20
GOAL = Settings(until_ci=3, max_runs=MOST, retries=0, seed=SEED)


def measured(load: Load, plt_ms: float | None) -> Measured:
    record = made_record(run=load.run, tfo=load.tfo, plt_ms=plt_ms, requests=1, answers=made_answers(load.page.url),
                         syn_data_connections=load.tfo, connections_with_request=1)
    return Measured(load, record, [] if plt_ms else [accident("no load event")])


def plt_ms(load: Load) -> float | None:
    """Make a page load: TFO saves 20% of 1000 ms, and each load varies by the page's noise; BROKEN never loads."""
    if load.page == BROKEN:
        return None
    deviation = {STEADY: 0.003, NOISY: 0.07}.get(load.page, 0.03)
    noise = random.Random(f"{load.page.name} {load.run} {load.tfo}").gauss(0, deviation)
    return (800 if load.tfo else 1000) * (1 + noise)


def experiment(pages: Sequence[Page], settings: Settings = GOAL) -> Series:
    """Do what tfo.py does."""
    series = Series(plan_loads(pages, settings), settings, pages)
    while load := series.next():
        series.add(measured(load, plt_ms(load)))
        assert load.run <= settings.max_runs, "it does not end"
    return series


def test_each_page_gets_what_it_needs_and_no_more_and_it_is_said_how_precise_it_is() -> None:
    series = experiment([STEADY, NOISY, BROKEN])
    assert MINIMUM_PAIRS < series.runs(NOISY) <= MOST
    steady, _, broken = series.outcome_lines()
    assert steady.startswith("http://steady.test: improvement known to +-0.")
    assert steady.endswith("points (95% interval of 6 pairs) after 6 measured runs")
    assert broken == "http://broken.test: no interval of the improvement after 20 measured runs: " \
        "--max-runs reached before --until-ci 3"
    [noisy] = experiment([NOISY], replace(GOAL, max_runs=6)).outcome_lines()
    assert noisy.endswith("of 6 pairs) after 6 measured runs: --max-runs reached before --until-ci 3")


def test_of_a_load_that_was_made_again_the_last_try_counts() -> None:
    """As in the table: a try that was set aside may look valid again once the others have shown what the page is."""
    off, on = (measured(Load(STEADY, 1, tfo), 1000 - 100 * tfo) for tfo in (0, 1))
    failed = replace(off, alone=[accident("the machine stood still")])
    for done, pairs in (([off, on, failed], ([], [])), ([failed, on, off], ([1000], [900]))):
        assert Series((), GOAL, (STEADY,), done).pairs_ms(STEADY) == pairs


@pytest.mark.slow
def test_coverage_of_an_interval_that_ended_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping early flatters; with MINIMUM_PAIRS only a little."""
    monkeypatch.setattr("harness.analysis.stats.improvement_interval.__kwdefaults__",
                        {"confidence": 0.95, "seed": 1, "resamples": 299})
    held, experiments = 0, 150
    for number in range(experiments):
        page = Page(f"http://{number}.test", f"http{number}.test")
        interval = improvement_interval(*experiment([page]).pairs_ms(page))
        assert interval
        held += interval.low_percent <= 20 <= interval.high_percent
    assert held >= 0.88 * experiments
