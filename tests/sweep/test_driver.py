"""What the driver does with what workers say: it loses nothing, and dismisses whose numbers cannot stand."""

import queue
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ExperimentError, InputError
from harness.sweep import driver, folder, workers
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import Calibration, Status
from harness.sweep.plan import Unit, UnitTask, Versions
from harness.sweep.tally import Tally
from tests.support.fake_dask import FakeClient, FakeCluster, FakeFuture, FakeWorker
from tests.support.made_units import VERSIONS, machine, unit

FIT = Calibration(1.0, 0.5, 1.0, 200.0)
JOBS = [UnitTask(unit(number), lambda: b"") for number in range(12)]


def good(_: Unit) -> tuple[Status, str]:
    return "measured", ""


def always(status: Status, why: str) -> Callable[[Unit], tuple[Status, str]]:
    return lambda _: (status, why)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LOOK_S", 0.01)
    monkeypatch.setattr(driver, "NOBODY_S", 0.0)
    monkeypatch.setattr(driver, "COMING_S", 0.05)
    monkeypatch.setattr(workers, "WORKERS_EVERY_S", 0.0)


class Sweep:
    """A sweep's folder, and what its driver said."""

    def __init__(self, path: Path) -> None:
        self.folder = SweepFolder(path, "x")
        self.folder.make()
        self.scratch = path / "worker"
        self.said: list[str] = []

    def client(self, *workers: FakeWorker, drop: int | None = None) -> FakeClient:
        return FakeClient({f"tls://{worker.machine.name}": worker for worker in workers}, self.scratch, drop)

    def run(self, *clients: FakeClient, jobs: list[UnitTask] | None = None) -> Tally:
        return Driver(self.folder, FakeCluster(*clients), VERSIONS, self.said.append,
                      self.said.append).run(JOBS if jobs is None else jobs)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(tmp_path)


def test_every_unit_is_measured_once_and_a_second_run_measures_nothing(sweep: Sweep) -> None:
    worker = FakeWorker(machine("a"), good, FIT)
    tally = sweep.run(sweep.client(worker))
    assert (tally.total, tally.done, tally.measured, tally.whole) == (12, 12, 12, True)
    assert [measured.url for measured in worker.measured] == [job.unit.url for job in JOBS]
    assert sweep.run(jobs=JOBS).whole, "without a scheduler: there is nothing to hand out"
    assert sweep.folder.read_progress()["done"] == 12


def test_only_what_is_missing_is_handed_out(sweep: Sweep) -> None:
    sweep.run(sweep.client(FakeWorker(machine("a"), good, FIT)), jobs=JOBS[:5])
    worker = FakeWorker(machine("b"), good, FIT)
    assert sweep.run(sweep.client(worker)).whole
    assert [measured.url for measured in worker.measured] == [job.unit.url for job in JOBS[5:]]


def test_when_the_scheduler_is_gone_what_had_no_result_is_handed_out_again(sweep: Sweep) -> None:
    first, second = FakeWorker(machine("a"), good, FIT), FakeWorker(machine("a"), good, FIT)
    assert sweep.run(sweep.client(first, drop=4), sweep.client(second)).whole
    assert [len(first.measured), len(second.measured)] == [4, 8]
    assert "the scheduler is gone; connecting again" in sweep.said


@pytest.mark.parametrize(("worker", "why"), [
    (FakeWorker(machine("off"), good, Calibration(1.0, 9.0, 1.0, 200.0, "its RTT is off by +9.0%, more than 5%")),
     "its RTT is off by +9.0%"),
    (FakeWorker(machine("off"), always("refused", "it has other versions"), FIT), "it has other versions")])
def test_a_machine_that_is_off_is_dismissed_and_its_units_go_to_others(sweep: Sweep, worker: FakeWorker, why: str,
                                                                        ) -> None:
    tally = sweep.run(sweep.client(worker, FakeWorker(machine("fit"), good, FIT)))
    assert tally.whole
    assert list(tally.dismissed) == ["off"]
    assert why in tally.dismissed["off"]
    assert worker.told[-1] == "dismiss"
    assert any(line.startswith("off is dismissed: ") for line in sweep.said)


def test_a_worker_of_another_version_is_dismissed(sweep: Sweep) -> None:
    other = FakeWorker(replace(machine("old"), browser="Chrome 1"), good, FIT)
    tally = sweep.run(sweep.client(other, FakeWorker(machine("fit"), good, FIT)))
    assert "Chrome 1" in tally.dismissed["old"]
    assert str(Versions(VERSIONS.tfo_lab, "Chrome 1")) in tally.dismissed["old"]


def test_three_failures_in_a_row_dismiss_a_worker_without_a_calibration(sweep: Sweep) -> None:
    bad = FakeWorker(machine("bad"), always("failed", "Chrome hangs"))
    tally = sweep.run(sweep.client(bad, FakeWorker(machine("fit"), good, FIT)))
    assert 3 <= len(bad.measured) <= 5, "some had been handed out already"
    assert tally.dismissed == {"bad": "3 failures in a row, the last: Chrome hangs"}
    assert (tally.failed, tally.measured, tally.done) == (0, 12, 12), "what failed there was tried again elsewhere"


@pytest.mark.parametrize("at_last", ["measured", "partly"])
def test_a_site_whose_tfo_py_was_killed_is_tried_once_more(sweep: Sweep, at_last: Status) -> None:
    """It had one RTT of two, and its other one was not measured by --resume or --again either."""
    tries: Counter[str] = Counter()

    def killed_at_first(of: Unit) -> tuple[Status, str]:
        tries[of.url] += 1
        return ("partly", "killed") if tries[of.url] == 1 or at_last == "partly" else good(of)
    tally = sweep.run(sweep.client(FakeWorker(machine("a"), killed_at_first, FIT)), jobs=JOBS[:1])
    outcome = sweep.folder.outcome(JOBS[0].unit.key)
    assert outcome
    assert (outcome.status, tally.done, tries[outcome.url]) == (at_last, 1, 2)


def test_a_unit_that_failed_is_tried_again_by_another_worker(sweep: Sweep) -> None:
    bad, fit = FakeWorker(machine("bad"), always("failed", "Chrome hangs"), FIT), FakeWorker(machine("fit"), good, FIT)
    tally = sweep.run(sweep.client(bad, fit), jobs=JOBS[:4])
    assert (tally.measured, tally.dismissed) == (4, {})
    assert len(bad.measured) == len({measured.url for measured in bad.measured}) == 2


def test_after_three_failures_in_a_row_a_worker_shows_that_the_sites_are_to_blame(sweep: Sweep) -> None:
    worker = FakeWorker(machine("a"), always("failed", "hollow"), FIT)
    tally = sweep.run(sweep.client(worker))
    assert (tally.failed, tally.dismissed) == (12, {})
    assert len(worker.measured) == 24, "each is tried twice"
    assert worker.told.count("calibrate") == 8


def test_a_worker_that_gave_no_answer_when_asked_to_calibrate_is_asked_again(sweep: Sweep,
                                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    worker = FakeWorker(machine("a"), always("failed", "hollow"), FIT)
    client = sweep.client(worker)
    submit = client.submit

    def submitted(task: Callable[..., object], *arguments: str, **more: Any) -> FakeFuture:
        future = submit(task, *arguments, **more)
        asked.append(task.__name__)
        if asked.count("calibrate") == 1:
            future.status = "error"
        return future
    monkeypatch.setattr(client, "submit", submitted)
    sweep.run(client)
    assert asked.count("calibrate") > 1
    assert any("3 failures in a row, but it measures" in line for line in sweep.said)


def test_a_page_of_which_tfo_py_says_that_it_cannot_be_measured_does_not_count_against_the_worker(sweep: Sweep) -> None:
    tally = sweep.run(sweep.client(FakeWorker(machine("a"), always("failed", "its own fault"))))
    assert (tally.failed, tally.dismissed) == (12, {})


def test_a_unit_that_kills_its_workers_is_a_failure_with_its_reason(sweep: Sweep) -> None:
    deadly = FakeWorker(machine("a"), lambda of: None if of.url == JOBS[3].unit.url else good(of), FIT)
    tally = sweep.run(sweep.client(deadly))
    kept = sweep.folder.outcome(JOBS[3].unit.key)
    assert (tally.measured, tally.failed) == (11, 1)
    assert kept
    assert kept.why == ("every worker that measured it died",)


def test_a_unit_whose_worker_died_once_has_the_result_of_its_second_try(sweep: Sweep) -> None:
    tries: Counter[str] = Counter()

    def deadly_once(of: Unit) -> tuple[Status, str] | None:
        tries[of.url] += 1
        return None if of.url == JOBS[3].unit.url and tries[of.url] == 1 else good(of)
    tally = sweep.run(sweep.client(FakeWorker(machine("a"), deadly_once, FIT)))
    kept = sweep.folder.outcome(JOBS[3].unit.key)
    assert (tally.measured, tally.failed, kept and kept.status) == (12, 0, "measured")
    assert "http://s3.test/: failed (every worker that measured it died); once more, at the end" in sweep.said


def test_without_a_fit_worker_the_sweep_ends_and_says_how_it_goes_on(sweep: Sweep) -> None:
    with pytest.raises(ExperimentError, match=r"no worker is left that is fit; .* --resume x"):
        sweep.run(sweep.client(FakeWorker(machine("off"), good, Calibration(fault="it is off"))))


def test_a_fit_worker_that_is_away_for_a_moment_is_waited_for(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "NOBODY_S", 60.0)
    client = sweep.client(FakeWorker(machine("off"), good, Calibration(fault="it is off")))
    looks = iter(range(99))
    seen = client.scheduler_info

    def info() -> dict[str, object]:
        if next(looks) == 5:
            client.workers["tls://fit"] = FakeWorker(machine("fit"), good, FIT)
        return seen()
    monkeypatch.setattr(client, "scheduler_info", info)
    tally = sweep.run(client)
    assert (tally.whole, list(tally.dismissed)) == (True, ["off"])


def test_what_only_a_dismissed_worker_was_to_measure_is_put_back_when_it_has_left(sweep: Sweep) -> None:
    known = workers.Workers(VERSIONS, sweep.said.append, queue.SimpleQueue())
    known.connected(sweep.client(FakeWorker(machine("a"), good), FakeWorker(machine("b"), good)))
    assert known.look() == []
    known.dismiss("tls://a", "its RTT is off")
    assert known.look() == ["tls://a"]
    assert known.look() == []


def test_a_dismissed_worker_that_did_not_hear_of_it_is_sent_away_again(sweep: Sweep) -> None:
    """The scheduler was gone before it was told: it measured on, and all that it sent was measured again, for ever."""
    tries: Counter[str] = Counter()

    def at_first_full(of: Unit) -> tuple[Status, str]:
        tries["all"] += 1
        if tries["all"] > 20:
            pytest.fail("it never ends")
        return ("refused", "no room in /tmp") if tries["all"] == 1 else good(of)
    full = FakeWorker(machine("full"), at_first_full, FIT)
    fit = FakeWorker(machine("fit"), good, FIT)
    assert sweep.run(sweep.client(full, drop=1), sweep.client(full, fit)).whole
    assert (len(full.measured), len(fit.measured)) == (1, 12)
    assert full.told.count("dismiss") == 2


def test_when_the_scheduler_goes_before_an_answer_is_fetched_nobody_is_to_blame(sweep: Sweep) -> None:
    events: workers.Events = queue.SimpleQueue()
    known = workers.Workers(VERSIONS, sweep.said.append, events)
    known.connected(sweep.client(FakeWorker(machine("a"), good)))
    known.look()
    what, address, future = events.get()

    def gone(**_: object) -> None:
        raise CancelledError
    future.result = gone
    known.answered(what, address, future)
    assert known.dismissed == {}


def test_a_result_that_never_comes_in_time_is_a_failure_with_its_reason(sweep: Sweep,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Its site was measured again and again, for ever. What is fetched with it comes, alone, the next time."""
    large, asked, measure = JOBS[0].unit.key, Counter[bool](), FakeClient._measure
    slow: list[FakeFuture] = []

    def measured(client: FakeClient, of: Unit, there: list[str] | None) -> FakeFuture:
        future = measure(client, of, there)
        if of.key == large:
            slow.append(future)
        return future

    def gather(_: FakeClient, futures: list[FakeFuture], *, asynchronous: bool) -> list[Any]:
        assert asynchronous
        asked[any(future in slow for future in futures)] += 1
        if asked[True] > 20:
            pytest.fail("it never ends")
        if any(future in slow for future in futures):
            raise TimeoutError
        return [future.value for future in futures]

    monkeypatch.setattr(FakeClient, "_measure", measured)
    monkeypatch.setattr(FakeClient, "gather", gather)
    tally = sweep.run(sweep.client(FakeWorker(machine("lab"), good, FIT)))
    assert (tally.measured, tally.failed) == (11, 1)
    outcome = sweep.folder.outcome(large)
    assert outcome
    assert outcome.why == ("its results did not come within 120 s",)


def test_large_recordings_are_handed_out_some_at_a_time(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's client has copies of them: all that the workers could take at once might be more than fits in memory."""
    monkeypatch.setattr(driver, "MOST_BYTES", 250)
    client = sweep.client(*(FakeWorker(machine(name), good, FIT) for name in "abcdefghij"))
    sizes: list[int] = []
    handed_out = client.map

    def watched(task: Callable[..., object], units: list[str], parcels: list[bytes], **more: Any) -> list[FakeFuture]:
        sizes.append(sum(map(len, parcels)))
        return handed_out(task, units, parcels, **more)
    monkeypatch.setattr(client, "map", watched)
    tally = sweep.run(client, jobs=[UnitTask(unit(number), lambda: b"x" * 100) for number in range(60)])
    assert (tally.whole, tally.seconds_left) == (True, 0)
    assert max(sizes) == 300
    assert sum(sizes) == 6600, "six of them are measured twice"


def test_nothing_is_handed_out_when_the_disk_has_no_room_for_results(sweep: Sweep, monkeypatch: pytest.MonkeyPatch,
                                                                     ) -> None:
    worker = FakeWorker(machine("a"), good, FIT)
    monkeypatch.setattr(folder, "MARGIN_BYTES", 10**18)
    with pytest.raises(InputError, match=r"GB free on this disk; make room and go on with ./sweep.py --resume x"):
        sweep.run(sweep.client(worker))
    assert worker.measured == []


def test_a_tenth_of_the_sites_is_measured_on_another_machine_too(sweep: Sweep) -> None:
    jobs = [UnitTask(unit(number), lambda: b"") for number in range(60)]
    here, same, other = (FakeWorker(machine(name, on), good, FIT) for name, on in
                         (("a", "first"), ("b", "first"), ("c", "other")))
    tally = sweep.run(sweep.client(here, same, other), jobs=jobs)
    wanted = [job.unit for job in jobs if job.unit.wants_second]
    assert wanted
    assert (tally.done, tally.seconds_left) == (60, 0)
    for first in wanted:
        outcomes = [sweep.folder.outcome(key) for key in (first.key, UnitTask(first, lambda: b"").second.unit.key)]
        assert {found.machine.id for found in outcomes if found} == {"first", "other"}
    seconds = sum(measured.replica for worker in (here, same, other) for measured in worker.measured)
    assert seconds == len(wanted)


def test_with_one_machine_there_is_no_second_measurement(sweep: Sweep) -> None:
    jobs = [UnitTask(unit(number), lambda: b"") for number in range(60)]
    tally = sweep.run(sweep.client(FakeWorker(machine("a", "here"), good), FakeWorker(machine("b", "here"), good)),
                      jobs=jobs)
    assert tally.whole
    assert tally.seconds_left == sum(job.unit.wants_second for job in jobs) > 0


def test_second_measurements_are_made_up_for_when_another_machine_is_there(sweep: Sweep) -> None:
    jobs = [UnitTask(unit(number), lambda: b"") for number in range(60)]
    here, there = FakeWorker(machine("a", "here"), good), FakeWorker(machine("b", "there"), good)
    assert sweep.run(sweep.client(here), jobs=jobs).seconds_left == 6
    tally = sweep.run(sweep.client(FakeWorker(machine("a", "here"), good), there), jobs=jobs)
    assert (tally.done, tally.seconds_left) == (60, 0)
    assert [measured.replica for measured in there.measured] == [1] * 6


def test_when_the_scheduler_dies_after_the_last_first_measurement_the_second_ones_are_made(sweep: Sweep) -> None:
    jobs = [UnitTask(unit(number), lambda: b"") for number in range(60)]
    here, other = FakeWorker(machine("a", "here"), good, FIT), FakeWorker(machine("b", "there"), good, FIT)
    assert sweep.run(sweep.client(here, other, drop=60), sweep.client(here, other), jobs=jobs).seconds_left == 0


def test_a_recording_that_cannot_travel_is_a_failure(sweep: Sweep) -> None:
    def too_large() -> bytes:
        raise ValueError("more than 512 MB")
    worker = FakeWorker(machine("a"), good, FIT)
    tally = sweep.run(sweep.client(worker), jobs=[UnitTask(unit(1), too_large), JOBS[0]])
    assert (tally.failed, tally.measured) == (1, 1)
    kept = sweep.folder.outcome(unit(1).key)
    assert kept
    assert kept.why == ("its recording: more than 512 MB",)


def test_a_failure_that_is_not_the_pages_is_tried_once_more(sweep: Sweep) -> None:
    tries: Counter[str] = Counter()

    def at_first(of: Unit) -> tuple[Status, str]:
        tries[of.url] += 1
        return ("failed", "RTT off") if of.url == JOBS[2].unit.url and tries[of.url] == 1 else good(of)
    tally = sweep.run(sweep.client(FakeWorker(machine("a"), at_first, FIT)))
    assert tally.whole
    assert tries[JOBS[2].unit.url] == 2
    assert "http://s2.test/: failed on a (RTT off); once more, at the end" in sweep.said
