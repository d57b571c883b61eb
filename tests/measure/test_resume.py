"""Going on with an experiment: what is there counts, what is missing is measured, under the same settings only.

And the digest by which --resume and a sweep tell programs apart: it changes with what may change a number.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.experiment import experiment_file
from harness.files.pages import PageFiles
from harness.files.results import read_results
from harness.measure import resume
from harness.measure.evidence import Load
from harness.measure.folders import begin_try, set_aside
from harness.measure.resume import recording_digest, resumed
from harness.measure.series import plan_loads, plan_run
from harness.measure.settings import Settings
from tests.support.bench import FIRST, LOST, SECOND, Bench
from tests.support.ran import ran

PLAN = plan_loads([FIRST, SECOND], Settings(testruns=3))


def test_only_what_is_missing_is_measured_and_the_warm_ups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those once in a network: at the first RTT that lacks loads. What kept the machine busy before is still said."""
    lost = Load(FIRST, 2, 1)
    first = Bench(tmp_path, failures={lost: [[LOST]] * 3})
    first.run(monkeypatch)
    path = experiment_file(first.client_dir, 10)
    path.write_text(json.dumps({**json.loads(path.read_text()), "busy": ["stress-ng uses 99% of a core"]}))
    near, far = first.stages(first.client_dir)
    assert near.to_do == [load for load in PLAN if load == lost or load.run == 0]
    assert near.busy == ("stress-ng uses 99% of a core",)
    assert far.to_do == [load for load in PLAN if load.run > 0]

    second = Bench(tmp_path)
    series = second.run(monkeypatch, stage=near)
    assert second.done == near.to_do
    assert {done.load for done in series.last()} == {*PLAN}
    assert not any(measured.why_not for measured in series.last())
    near, far = second.stages(first.client_dir)
    assert (near.to_do, near.busy, near.says_it_is_done()) == ([], ("stress-ng uses 99% of a core",), True)
    assert next(done for done in near.done if done.load == lost).record.attempt == 4
    assert (far.to_do, far.says_it_is_done()) == (PLAN, False), "on a new network cookies are missing there"
    more = second.stages(first.client_dir, until_ci=1.0, max_runs=8, seed=4)[0].to_do
    assert more == plan_run(0, [FIRST, SECOND], (0, 1), 4) + plan_run(3, [FIRST, SECOND], (0, 1), 4)


def test_what_an_interrupted_try_left_does_not_stand_beside_another_ones_record(tmp_path: Path) -> None:
    """Ctrl-C when the second try of a load has left its HAR and a capture, and has no record yet."""
    for number, left in ((1, (".har", ".json")), (2, (".har", ".pcap")), (2, ())):
        assert begin_try(tmp_path, FIRST) == number
        for ending in left:
            (tmp_path / f"{FIRST.name}{ending}").touch()
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.glob("**/*.*")} == {
        f"attempt-1/{FIRST.name}.har", f"attempt-1/{FIRST.name}.json"}


def test_a_load_that_no_longer_counts_when_a_run_is_resumed_is_not_in_its_table(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six loads two lack a script, and two others, which fail, lack it, too: without these it is the page's."""
    script, ads = f"{FIRST.url}/script.js", tuple(f"{FIRST.url}/ad{number}" for number in range(3))
    got = {0: (FIRST.url, script), 1: (FIRST.url,), 2: (FIRST.url, *ads)}
    first = Bench(tmp_path, requests=lambda load, _: got[load.run] if load.page == FIRST else (load.page.url,))
    first.run(monkeypatch, retries=0)
    stage = first.stages(first.client_dir)[0]
    assert {done.load.run for done in stage.done if done.load.page == FIRST} == {1}

    second = Bench(tmp_path, requests=lambda *_: got[0])
    series = second.run(monkeypatch, retries=0, stage=stage)
    judged_good = {(done.load.page.name, done.load.run, done.load.tfo) for done in series.last()
                   if not done.why_not}
    counted = {(load.page, load.run, load.tfo) for load in read_results(second.client_dir).loads if load.valid}
    assert counted == judged_good
    assert (FIRST.name, 1, 0) not in counted


def test_other_settings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    bench.run(monkeypatch)
    stage = bench.stages()[0]
    for name, changed in (("http", "1.1"), ("pages", [FIRST.url]), ("kernel", "7.0")):
        with pytest.raises(InputError, match=rf"experiment-10\.json:1: --resume: {name} "):
            resumed(replace(stage, known={**stage.known, name: changed}), bench.client_dir)


def test_the_digest_tells_recordings_apart(tmp_path: Path) -> None:
    files, seen = PageFiles(tmp_path, "My"), set()
    document = files.mirror / "a.test" / "index.html"
    document.parent.mkdir(parents=True)
    for text in ("one", "two", "two!"):
        document.write_text(text)
        seen.add(recording_digest(files))
    document.rename(document.with_name("other.html"))
    seen.add(recording_digest(files))
    assert len(seen) == 4


def test_older_results_of_a_delay_are_moved_aside_or_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Bench(tmp_path).run(monkeypatch)
    for name in ("client/50-0-tfo-0/", "serverlogs/10-tfo-0/", "serverlogs/50-tfo-1/", "output-figures/README.md",
                 "output-figures/figure.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    cells = {f"client/10-{run}-tfo-{tfo}" for run in (0, 1, 2) for tfo in (0, 1)}
    tables = {"client/loads.csv", "client/loads.jsonl"}
    for delays_ms, moved in (([10], {*cells, *tables, "client/experiment-10.json", "serverlogs/10-tfo-0"}),
                             (None, {"client/50-0-tfo-0", "serverlogs/50-tfo-1", "output-figures/figure.png"})):
        kept = set_aside(tmp_path, delays_ms)
        assert kept
        assert {str(path.relative_to(kept)) for path in kept.glob("*/*")} == moved
        assert set_aside(tmp_path, delays_ms) is None
    assert {path.name for path in tmp_path.glob("[!r]*")} == {"output-figures"}


def test_the_digest_is_of_what_changes_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "ROOT", tmp_path)
    made = ""
    for name, text, same in (
            ("harness/measure/loads.py", '"""Loads."""\nLIMIT_S = 1\n"""In seconds."""\n', False),
            ("harness/measure/loads.py", "LIMIT_S = 1    # other words\n", True),
            ("harness/measure/loads.py", "LIMIT_S = 2\n", False), ("harness/system/started.py", "A = 2\n", False),
            ("tfo.py", '"""What it does."""\n', False),
            ("harness/show/table.py", "A = 2\n", True), ("docs/results.md", "words", True),
            ("tfo-test/shim.c", "int a; /* one */\n", False), ("tfo-test/shim.c", "int b; /* one */\n", False)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        resume.program_digest.cache_clear()
        before, made = made, resume.program_digest()
        assert (made == before) == same, (name, text)
    resume.program_digest.cache_clear()


def test_an_experiment_imports_nothing_of_other_rooms() -> None:
    loaded = "import tfo, sys; print(*{name.split('.')[1] for name in sys.modules if name.startswith('harness.')})"
    done = ran(sys.executable, "-c", loaded, status=0, cwd=ROOT)
    assert set(done.stdout.split()) <= {*resume.ROOMS, "bootstrap", "errors"}
