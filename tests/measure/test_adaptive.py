"""When enough is measured: which pages get more pairs, in what order, and when it ends. No root, no browser."""

import random
from collections.abc import Callable, Sequence
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
    """Make a page load: TFO saves 20% of 1000 ms; NOISY varies by +-8% from load to load, BROKEN never loads."""
    if load.page == BROKEN:
        return None
    spread = 0.08 if load.page == NOISY else 0.005
    noise = random.Random(f"{load.page.name}, run {load.run}, TFO {load.tfo}").uniform(-spread, spread)
    return (800 if load.tfo else 1000) * (1 + noise)


def experiment(pages: Sequence[Page], settings: Settings = GOAL,
               load_page: Callable[[Load], float | None] = plt_ms) -> Series:
    """Do what tfo.py does."""
    series = Series(plan_loads(pages, settings), settings, pages)
    while load := series.next():
        series.add(measured(load, load_page(load)))
        assert load.run <= (settings.max_runs or 0), "it does not end"
    return series


def test_each_page_gets_what_it_needs_and_no_more_and_it_is_said_how_precise_it_is() -> None:
    series = experiment([STEADY, NOISY, BROKEN])
    assert MINIMUM_PAIRS < series.runs(NOISY) <= MOST
    steady, _, broken = series.outcome_lines()
    assert steady.startswith("http://steady.test: improvement known to +-0.")
    assert steady.endswith("points (95% interval of 6 pairs) after 6 measured runs")
    assert broken == "http://broken.test: no interval of the improvement after 20 measured runs: " \
        "--max-runs reached before --until-ci 3"
    [noisy] = experiment([NOISY], replace(GOAL, max_runs=7)).outcome_lines()
    assert noisy.endswith("of 7 pairs) after 7 measured runs: --max-runs reached before --until-ci 3")


def test_of_a_load_that_was_made_again_the_last_try_counts() -> None:
    """As in the table: a try that was set aside may look valid again once the others have shown what the page is."""
    off, on = (Load(STEADY, 1, tfo) for tfo in (0, 1))
    failed = replace(measured(off, 1000), alone=[accident("the machine stood still")])
    for done, pairs in (([measured(off, 2000), measured(on, 900), failed], ([], [])),
                        ([failed, measured(on, 900), measured(off, 1000)], ([1000], [900]))):
        assert Series((), GOAL, (STEADY,), done).pairs_ms(STEADY) == pairs


@pytest.mark.slow
def test_coverage_of_an_interval_that_ended_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping early flatters; with MINIMUM_PAIRS only a little."""
    monkeypatch.setattr("harness.analysis.stats.improvement_interval.__kwdefaults__",
                        {"confidence": 0.95, "seed": 1, "resamples": 299})
    held, experiments = 0, 150
    for number in range(experiments):
        noise = random.Random(number)
        series = experiment([STEADY], load_page=lambda load, noise=noise: (  # type: ignore[misc]
            (800 if load.tfo else 1000) * (1 + noise.gauss(0, 0.03))))
        interval = improvement_interval(*series.pairs_ms(STEADY))
        assert interval
        held += interval.low_percent <= 20 <= interval.high_percent
    assert held >= 0.88 * experiments
