"""Faults while it measures: killed, stopped and starved processes, full disks, a suspend. No wrong number comes of it.

By default seven of the 38 cases at random; the seed is printed, as is what came of each (pytest -s). TFO_LAB_FAULTS=all
does them all, TFO_LAB_FAULTS=SEED the seven of that seed. The faults that cost a load only share an experiment.
"""

import math
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.files.har import read_har
from harness.files.load_record import read_load_record
from harness.files.results import LoadResult, Results, read_results
from harness.files.text_log import read_log
from harness.network.needs import kernel_has_netem
from harness.system.scratch import sweep
from tests.support.faults import ALL, CHOICE, FAULTS, SEED, Fault
from tests.support.faulty_experiment import LOW_DELAYNET_MS, Done, Running, started

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]

PAGE = "httpwww.nytimes.com"
ENDING, GOING_ON = 2, 5
"""So many of the seven end the experiment, or do not: as among all."""
TOLERANCE = 0.1
"""By this much may a load that counts although a fault met it lie beyond the undisturbed ones."""
STARTS = 3
"""So often an experiment is started for what was not done yet: the machine may keep it from its first load."""
UNDISTURBED = 2
"""Loads at the end that no fault meets, besides those that come too late for one: the others are compared to them."""


def chosen(*, ends: bool) -> list[Fault]:
    """Return the cases to do, of those whose part this machine has."""
    faults = [fault for fault in FAULTS
              if fault.ends == ends and (fault.part != "delay line" or not kernel_has_netem())]
    return faults if ALL else sorted(random.Random(SEED).sample(faults, ENDING if ends else GOING_ON), key=str)


@pytest.fixture
def base() -> Iterator[Path]:
    """Give a folder that all may enter, with a short name: Chrome puts sockets below it (unix(7))."""
    folder = Path(tempfile.gettempdir()) / "f"
    folder.mkdir(mode=0o755)
    print(f"TFO_LAB_FAULTS={CHOICE}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("number", range(len(chosen(ends=True))))
def test_an_experiment_that_cannot_go_on_says_so(number: int, base: Path) -> None:
    fault = chosen(ends=True)[number]
    chance = random.Random(f"{SEED} {fault}")
    for start in range(STARTS):
        with started(base / str(start), 2, chance.choice("01"), LOW_DELAYNET_MS) as running:
            about_before = fault.part in ("experiment", "results")      # what was written before
            running.run([fault], chance, skipped=int(about_before))
            assert_true(running)
            print(f"{fault}: exit status {running.process.returncode}")
        if running.done:
            expected = -signal.SIGKILL if (fault.what, fault.part) == ("kill", "experiment") else 1
            assert running.process.returncode == expected
            return
    pytest.fail(f"{fault}: no load to do it to")


def test_the_others_cost_a_load_at_most(base: Path) -> None:
    chance = random.Random(SEED)
    waiting = chosen(ends=False)
    chance.shuffle(waiting)
    for start in range(STARTS):
        # Those that cost a load share loads; some come too early or too late for that.
        testruns = 2 + len(waiting) // 3 + UNDISTURBED
        with started(base / str(start), testruns, tfo=chance.choice("01")) as running:
            running.run(waiting, chance)
            assert_true(running)
            if running.done:
                assert_full_unless_machine(running)
        if not waiting:
            break
    assert not waiting


def assert_full_unless_machine(running: Running) -> None:
    """What failed by accident was measured again: the table is full, but for loads that failed with no fault, too."""
    results = read_results(running.client)
    assert running.process.returncode == (0 if is_full_table(results, running) else 1)
    assert not [load for load in results.loads if not load.valid and met(load, results, running)]


def assert_true(running: Running) -> None:
    """Whatever was done to an experiment: what counts is true, what is written is whole, what is left can be swept."""
    print(running.output)
    assert "Traceback" not in running.output
    if any(path.is_file() and path.name[0] != "." for path in running.client.glob("*-tfo-*/*")):
        assert_whole(running)
        results = read_results(running.client)
        assert results.problems == []
        assert running.process.returncode != 0 or is_full_table(results, running), "exit status 0 is a promise"
        assert_near_undisturbed(results, running)
    temporary = running.base / "t"
    sweep(temporary)
    assert not list(temporary.iterdir())


def is_full_table(results: Results, running: Running) -> bool:
    """Tell whether every load that was wanted was measured and counts."""
    return len(results.loads) == running.wanted and all(load.valid for load in results.loads)


def assert_whole(running: Running) -> None:
    """Every file that an experiment wrote for a load can be read from its beginning to its end."""
    for path in running.client.glob("*-tfo-*/**/*"):
        if path.suffix == ".json":
            read_load_record(path)
        elif path.suffix == ".har":
            read_har(path)
        elif path.name == PAGE:
            assert read_log(path).problems == []
    if running.process.returncode >= 0:         # who is killed leaves its temporary file
        assert not list(running.client.rglob(".*")), "halves of files"


def assert_near_undisturbed(results: Results, running: Running) -> None:
    """No load counts that a fault met and that lies beyond those that none met."""
    counted = [load for load in results.loads if load.valid and load.run > 0]
    alone_ms = [load.plt_ms or 0.0 for load in counted if not met(load, results, running)]
    print(f"undisturbed: {' '.join(f'{plt_ms:.0f}' for plt_ms in sorted(alone_ms))} ms")
    for load in results.everything:
        for done in met(load, results, running):
            why_not = load.record.why_not if load.record else ()
            print(f"{done.fault}, {done.after_s:.2f} s after the load began: {why_not or load.plt_ms}")
            assert load not in counted or not alone_ms or (
                min(alone_ms) * (1 - TOLERANCE) <= (load.plt_ms or 0.0) <= max(alone_ms) * (1 + TOLERANCE))


def met(load: LoadResult, results: Results, running: Running) -> list[Done]:
    """Return the faults that a load met, from its beginning to that of the next one; with no record it met none."""
    def began_s(each: LoadResult) -> float:
        return (each.record.began_s or 0.0) if each.record else math.inf

    until_s = min((at_s for at_s in map(began_s, results.everything) if at_s > began_s(load)), default=math.inf)
    return [done for done in running.done if done.from_s < until_s and done.until_s >= began_s(load)]
