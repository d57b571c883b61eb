"""Faults while it measures: killed, stopped and starved processes, full disks, a suspend. No wrong number comes of it.

By default seven of the 38 cases at random; the seed is printed, as is what came of each. TFO_LAB_FAULTS=all does them
all, TFO_LAB_FAULTS=SEED the seven of that seed. The faults that cost a load only share an experiment.
"""

import math
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.files.har import read_har
from harness.files.load_record import read_load_record
from harness.files.results import Results, read_results
from harness.files.text_log import read_log
from harness.network.needs import kernel_has_netem
from harness.system.scratch import sweep
from tests.support.faults import ALL, CHOICE, FAULTS, SEED, Fault
from tests.support.faulty_experiment import LOW_DELAYNET_MS, Done, Running, started

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]

ENDING, GOING_ON = 2, 5
"""So many of the seven end the experiment, or do not: as among all."""
TOLERANCE = 0.1
"""By this much may a load that counts although a fault met it lie beyond the undisturbed ones."""
STARTS = 3
"""So often an experiment is started for what was not done yet: the machine may keep it from its first load."""
UNDISTURBED = 2
"""Loads at the end that no fault meets, besides those that come too late for one: the others are compared to them."""

NoteOutcome = Callable[[Done, str], None]


def chosen(*, ends: bool) -> list[Fault]:
    """Return the cases to do."""
    faults = [fault for fault in FAULTS if fault.ends == ends]
    return faults if ALL else sorted(random.Random(SEED).sample(faults, ENDING if ends else GOING_ON), key=str)


def possible(fault: Fault) -> bool:
    """Tell whether this machine has what the fault is done to."""
    return fault.part != "delay line" or not kernel_has_netem()


@pytest.fixture
def note_outcome(capsys: pytest.CaptureFixture[str]) -> Callable[[Done, str], None]:
    """Give what prints what came of a fault, and the seed that chose it; docs/data/faults.tsv keeps a whole run."""
    def note(done: Done, what: str) -> None:
        with capsys.disabled():
            print(f"\nTFO_LAB_FAULTS={CHOICE}: {done.fault}, {done.after_s:.2f} s after the load began: {what}")

    return note


@pytest.fixture
def base() -> Iterator[Path]:
    """Give a folder that all may enter, with a short name: Chrome puts sockets below it (unix(7))."""
    folder = Path(tempfile.gettempdir()) / "f"
    folder.mkdir(mode=0o755)
    print(f"TFO_LAB_FAULTS={CHOICE}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("number", range(len(chosen(ends=True))))
def test_an_experiment_that_cannot_go_on_says_so(number: int, base: Path, note_outcome: NoteOutcome) -> None:
    fault = chosen(ends=True)[number]
    if not possible(fault):
        pytest.skip(f"nothing here to do {fault} to")
    chance = random.Random(f"{SEED} {fault}")
    for start in range(STARTS):
        (base / str(start)).mkdir()
        with started(base / str(start), 2, chance.choice("01"), LOW_DELAYNET_MS) as running:
            about_before = fault.part in ("experiment", "results")      # what was written before
            running.run([fault], chance, skipped=int(about_before))
            assert_true(running)
        if running.done:
            note_outcome(running.done[0], f"exit status {running.status}: {running.output.strip().splitlines()[-1]}")
            expected = -signal.SIGKILL if (fault.what, fault.part) == ("kill", "experiment") else 1
            assert running.status == expected, running.output
            return
    pytest.fail(f"{fault}: no load to do it to: {running.output}")


def test_the_others_cost_a_load_at_most(base: Path, note_outcome: NoteOutcome) -> None:
    chance = random.Random(SEED)
    waiting = [fault for fault in chosen(ends=False) if possible(fault)]
    chance.shuffle(waiting)
    for start in range(STARTS):
        (base / str(start)).mkdir()
        # Those that cost a load share loads; some come too early or too late for that.
        testruns = 2 + len(waiting) // 3 + UNDISTURBED
        with started(base / str(start), testruns, tfo=chance.choice("01")) as running:
            running.run(waiting, chance)
            for done in running.done:
                note_outcome(done, what_came(done, read_results(running.client), running))
            assert_true(running)
            if running.done:
                assert_full_unless_machine(running)
        if not waiting:
            break
    assert not waiting, running.output


def assert_full_unless_machine(running: Running) -> None:
    """What failed by accident was measured again: the table is full, but for loads that failed with no fault, too."""
    results = read_results(running.client)
    faults = met(results, running)
    assert running.status == (0 if is_full_table(results, running) else 1)
    assert not [load for load in results.loads if not load.valid and faults[load.log]]


def assert_true(running: Running) -> None:
    """Whatever was done to an experiment: what counts is true, what is written is whole, what is left can be swept."""
    print(running.output)
    assert "Traceback" not in running.output
    if any(path.is_file() and path.name[0] != "." for path in running.client.glob("*-tfo-*/*")):
        assert_whole(running)
        results = read_results(running.client)
        assert results.problems == []
        assert running.status != 0 or is_full_table(results, running), "exit status 0 is a promise"
        assert_near_undisturbed(results, running)
    sweep(running.temporary)
    assert not list(running.temporary.iterdir())


def is_full_table(results: Results, running: Running) -> bool:
    """Tell whether every load that was wanted was measured and counts."""
    return len(results.loads) == running.wanted and all(load.valid for load in results.loads)


def assert_whole(running: Running) -> None:
    """Every file that an experiment wrote for a load can be read from its beginning to its end."""
    for cell in running.client.glob("*-tfo-*"):
        for record in cell.rglob("*.json"):
            read_load_record(record)
        for har in cell.rglob("*.har"):
            read_har(har)
        for log in (path for path in cell.rglob("*") if path.is_file() and path.suffix == ".test"):
            assert read_log(log).problems == []
    if running.status >= 0:         # who is killed leaves its temporary file
        assert not list(running.client.rglob(".*")), "halves of files"


def assert_near_undisturbed(results: Results, running: Running) -> None:
    """No load counts that a fault met and that lies beyond those that none met."""
    faults = met(results, running)
    counted = [load for load in results.loads if load.valid and load.run > 0]
    alone_ms = sorted(load.plt_ms or 0.0 for load in counted if not faults[load.log])
    print(f"undisturbed: {' '.join(f'{plt_ms:.0f}' for plt_ms in alone_ms)} ms")
    for load in counted:
        if alone_ms and faults[load.log]:
            assert alone_ms[0] * (1 - TOLERANCE) <= (load.plt_ms or 0.0) <= alone_ms[-1] * (1 + TOLERANCE), \
                (load.run, load.plt_ms, faults[load.log])


def met(results: Results, running: Running) -> dict[Path, list[Done]]:
    """Return the faults that each load met, from its beginning to that of the next one, by the load's log."""
    began_s = {load.log: load.record.began_s or 0.0 for load in results.everything if load.record}
    faults = {}
    for load in results.everything:
        from_s = began_s.get(load.log, math.inf)            # without a record it does not count
        until_s = min((at_s for at_s in began_s.values() if at_s > from_s), default=math.inf)
        faults[load.log] = [done for done in running.done if done.from_s < until_s and done.until_s >= from_s]
    return faults


def what_came(done: Done, results: Results, running: Running) -> str:
    """Return in words what came of a fault that was to cost no more than a load."""
    faults = met(results, running)
    loads = [load for load in results.everything if done in faults[load.log]]
    reasons = [reason for load in loads for reason in (load.record.why_not if load.record else ("no record",))]
    if reasons:
        return f"load refused ({reasons[0]}), measured again"
    return f"load counts: {', '.join(f'{load.plt_ms:.0f} ms' for load in loads if load.plt_ms)}"
