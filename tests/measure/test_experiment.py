"""The order of an experiment's loads, and the loop over them: what fails by accident is measured again."""

from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.files.pages import Page
from harness.files.results import read_results
from harness.measure import experiment
from harness.measure.evidence import Load
from harness.measure.experiment import summarise
from harness.measure.loads import cell_of
from harness.measure.rule import Reason
from harness.measure.series import plan_loads
from harness.measure.settings import Settings
from harness.network.rtt import RttError
from harness.network.star import LinkSpeeds
from tests.support.bench import FIRST, LOST, SECOND, WRONG, Bench

PAGES = [Page(f"http://{index}.org", f"http{index}.org") for index in range(6)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_wrong_rtt_costs_only_its_own_loads(monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    stages = [Mock(speeds=LinkSpeeds(delay_net_ms=delay_ms), to_do=[None]) for delay_ms in (10, 50)]
    lab, done = Mock(), list[Any]()
    lab.at.side_effect = [RttError("is off"), lab]
    monkeypatch.setattr(experiment, "measure", lambda _, stage, *__: done.append(stage))
    monkeypatch.setattr(experiment, "summarise", lambda _: 0)
    assert (experiment.measure_stages(lab, stages, [], 0), done) == (1, stages[1:])
    assert capsys.readouterr().err == "20 ms: is off\n"


def test_an_accident_is_measured_again_at_the_end_of_its_run(
        bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lost = Load(FIRST, 1, 0)
    bench.failures = {lost: [[LOST]]}
    series = bench.run(monkeypatch)
    assert len(bench.done) == 13
    assert bench.done[8] == lost, "after the other 3 loads of run 1, before those of run 2"
    assert summarise(series) == 0
    assert capsys.readouterr().out.endswith(
        "12 of 12 page loads are valid; 1 more failed by accident, and were measured again\n")
    cell = cell_of(bench, lost)      # type: ignore[arg-type]
    assert (cell / f"{FIRST.name}.har").read_text() == "2"
    assert (cell / "attempt-1" / f"{FIRST.name}.har").read_text() == "1"
    results = read_results(bench.client_dir)
    assert (results.problems, len(results.loads), all(load.valid for load in results.loads)) == ([], 12, True)
    [again] = results.again
    assert (again.run, again.tfo, again.valid) == (1, 0, False)
    assert LOST.text in again.why_not


@pytest.mark.parametrize(("reasons", "retries"), [([LOST, WRONG], 2), ([LOST], 0)])
def test_what_another_try_would_not_help_is_left(reasons: list[Reason], retries: int, bench: Bench,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    bench.failures = {Load(FIRST, 1, 1): [reasons] * 9}
    assert summarise(bench.run(monkeypatch, retries)) == 1
    assert len(bench.done) == 12


def test_a_load_that_another_ones_new_try_has_shown_to_be_good_counts(
        bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two warm-ups differ, so that neither is the page; the new try of the first says that the second is."""
    first, second = plan_loads([FIRST, SECOND], Settings())[:2]
    bench.requests = lambda load, attempt: (
        ("http://other.test/",) if (load, attempt) == (first, 1) else (load.page.url,))
    bench.failures = {second: [[], [LOST], [LOST], [LOST]]}
    series = bench.run(monkeypatch)
    assert (bench.done.count(first), bench.done.count(second)) == (2, 1)
    assert summarise(series) == 0
    assert capsys.readouterr().out.endswith("; 1 more failed by accident, and were measured again\n")
    [again] = read_results(bench.client_dir).again
    assert "got other answers than the page's other loads" in again.why_not[0]


def test_a_companion_that_died_ends_the_experiment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ends_after = 5
    with pytest.raises(ExperimentError, match=r"SIGKILL.*: out of memory"):
        bench.run(monkeypatch)
    assert len(bench.done) == 5
    results = read_results(bench.client_dir)
    assert [load.valid for load in results.loads].count(False) == 1
    assert (bench.client_dir / "loads.csv").exists(), "what was done can be read"


@settings(max_examples=100)
@given(count=st.integers(0, len(PAGES)), testruns=st.integers(1, 7), tfo=st.sampled_from(["both", "0", "1"]),
       seed=st.integers(0, 2**32))
def test_a_plan(count: int, testruns: int, tfo: str, seed: int) -> None:
    """Every load once, run by run, in each the pages in their order; off and on side by side, and first in turns."""
    pages, chosen = PAGES[:count], Settings(testruns=testruns, tfo=tfo, seed=seed)
    loads = plan_loads(pages, chosen)
    assert loads == plan_loads(pages, chosen)
    order = [(load.run, pages.index(load.page)) for load in loads]
    assert order == sorted(order)
    assert len(loads) == len({*loads})
    assert {*loads} == {Load(page, run, tfo) for run in range(testruns) for page in pages for tfo in chosen.transports}
    for page in pages if tfo == "both" else []:
        first = [load.tfo for load in loads[::2] if load.page == page]
        assert all(earlier != later for earlier, later in pairwise(first))


def test_the_seed_decides_who_goes_first() -> None:
    first = [plan_loads(PAGES[:1], Settings(seed=seed))[0].tfo for seed in range(400)]
    assert 160 <= sum(first) <= 240, "over seeds neither is favoured: 4 sigma of a fair coin"
