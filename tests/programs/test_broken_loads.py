"""Each rule that makes a load valid, broken on purpose: real network, real kernel, real Chrome.

One experiment, in which every measured load but those of one page is spoiled in a way of its own
(tests/support/spoiled_experiment.py), one each for what ends an experiment, and stalls at random moments.
"""

import json
import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stall import MARKS
from harness.bootstrap import ROOT
from harness.files.reason_kinds import ReasonKind
from harness.files.results import read_results
from harness.network.rtt import rtt_tolerance_ms
from harness.replay.body import KEPT_BYTES
from tests.support.finished import Finished
from tests.support.har_schema import assert_har
from tests.support.plotted import plot
from tests.support.project_copy import LATE_PYTHON, TFO
from tests.support.ran import assert_refused, ran
from tests.support.recording import ICON, MadeRecording, one_document

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
"""On a busy machine there would be more reasons than the one that is made on purpose."""

SPOIL = ROOT / "tests" / "support" / "spoiled_experiment.py"
PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
LARGE = "x" * KEPT_BYTES
"""The servers do not keep so large a document in memory, so that a change of its file shows."""
PAGES = {name: f"http://{name}.test" for name in ("good", "network", "document", "requests", "switch")}
WHY = {
    ("network", 0): {ReasonKind.SYN_AGAIN}, ("network", 1): {ReasonKind.NO_LOAD_EVENT},
    ("document", 0): {ReasonKind.DOCUMENT_STATUS, ReasonKind.FAILED_REQUESTS},
    ("document", 1): {ReasonKind.DOCUMENT_BYTES},
    ("requests", 0): {ReasonKind.OTHER_ANSWERS}, ("requests", 1): {ReasonKind.NOT_LOGGED},
    ("switch", 0): {ReasonKind.DATA_WITHOUT_TFO}, ("switch", 1): {ReasonKind.NO_DATA_WITH_TFO},
}
"""By page and TFO: why the measured load does not count, at least."""
CLIENT_IN_MEMORY = ('mount -t tmpfs -o size="$2" tmpfs "$1/client" && base=$1 && shift 2 && '
                    '{ "$@"; status=$?; cp -r "$base/client" "$base/kept"; exit $status; }')
"""A mount namespace of its own, in which client/ is a disk of `$2` bytes; what is on it in the end is in kept/."""


@dataclass(frozen=True)
class Spoiled(Finished):
    """What an experiment left behind, and how it ended."""

    done: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Spoiled:
    mirror = MadeRecording(tmp_path_factory.mktemp("spoiled"), "small", har=False)
    for page, url in PAGES.items():
        part = '<img src="a.png">' if page == "requests" else ""
        mirror.add(f"{url}/", f"<!doctype html>{ICON}<!--{LARGE}--><p>{page}{part}")
    for part in "ab":
        mirror.add(f"http://requests.test/{part}.png", PIXEL, "image/gif")
    base = mirror.finish(*PAGES.values())
    done = ran(*LATE_PYTHON, SPOIL, "rules", "--dir", base, "--name", "small", "--testruns", "2", "--delaynet", "5",
               "--retries", "0", "--patience", "0", status=1)
    return Spoiled(base, done.stdout, done)


def test_spoiled_loads_are_kept_and_make_the_run_fail(spoiled: Spoiled) -> None:
    assert "12 of 20 page loads are valid" in spoiled.said
    assert "Traceback" not in spoiled.done.stderr
    lines = [line for line in spoiled.done.stderr.splitlines() if "FAILED: " in line]
    assert len(lines) == len(set(lines)) == 8
    for load in spoiled.loads:
        page = next(page for page, url in PAGES.items() if url == load.url)
        assert load.valid == (load.run == 0 or page == "good"), (page, load.why_not)
        said = f"{load.url} 10 ms run {load.run}"
        assert load.valid or any(said in line and "; ".join(load.why_not) in line for line in lines)


@pytest.mark.parametrize(("page", "tfo"), WHY)
def test_the_rule_that_is_broken_is_named(page: str, tfo: int, spoiled: Spoiled) -> None:
    load = spoiled.load(tfo, url=PAGES[page])
    assert set(load.why_not_kinds) >= WHY[page, tfo]
    if page == "network":
        assert load.plt_ms is None if tfo else (load.plt_ms or 0.0) > 250, "a spare connection starts after 250 ms"


def test_the_table_has_no_number_for_them(spoiled: Spoiled) -> None:
    """The spoiled loads are all that their cells have, so these are empty; the good page's are not."""
    done = plot(spoiled.base, "--clientdir", spoiled.client, "--outputdir", spoiled.base / "out", status=1)
    good, *others = [row for row in done.stdout.splitlines() if row.startswith("\t10\t")]
    assert re.fullmatch(r"\t10\t\d\.\d{3}\t\d\.\d{3}\t-?\d+\.\d\d%", good), good
    assert others == ["\t10\t-\t-\t-"] * 4


def test_whatever_a_load_leaves_is_whole(spoiled: Spoiled) -> None:
    assert (spoiled.results.problems, len(spoiled.results.loads)) == ([], 20)
    hars = list(spoiled.client.glob("*/*.har"))
    assert len(hars) == 20
    assert all(assert_har(path)["entries"] for path in hars)
    assert not list(spoiled.client.glob("*/.*"))


def test_wrong_rtt(tmp_path: Path) -> None:
    """No load is measured over a network that is not as it was asked for."""
    base = one_document(tmp_path)
    done = ran(sys.executable, SPOIL, "rtt", "--dir", base, "--name", "small", "--delaynet", "20", "--patience", "0")
    assert_refused(done, 1)
    said = re.match(r"40 ms: RTT to one\.test is ([\d.]+) ms", done.stderr)
    assert said is not None, done.stderr
    assert float(said[1]) > 40 + rtt_tolerance_ms(40)
    assert [path.name for path in (base / "client").glob("*")] in ([], ["run.log"])


def test_full_disk(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    (base / "client").mkdir()
    done = ran("unshare", "--mount", "sh", "-c", CLIENT_IN_MEMORY, "sh", base, "64k", *TFO, "--dir", base,
               "--name", "small", "--delaynet", "5", "--testruns", "5", "--retries", "0", status=1)
    complaint = done.stderr.splitlines()[-1]
    assert complaint.startswith(str(base / "client" / "5-"))
    assert "Traceback" not in done.stderr
    kept = read_results(base / "kept")
    assert kept.problems == []
    assert any(load.plt_ms for load in kept.loads), "some were whole before the disk was full"
    assert all(load.plt_ms is not None or load.record is None for load in kept.loads), "that of the load that was cut"
    assert not list((base / "kept").glob("*/.*"))
    for path in (base / "kept").glob("*/*.har"):
        assert_har(path)


DISTURBED = [sys.executable, str(ROOT / "benchmarks" / "disturbed.py")]
EACH = 1
"""Stops of each part; tests/faults stops them, too."""
STEPS = 5
"""Frames one in the other: each waits for the one before, so that at any moment of the load the page waits."""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mirror = MadeRecording(tmp_path_factory.mktemp("disturbed"), "small", har=False)
    for step in range(STEPS):
        inner = f'<iframe src="/{step + 1}.html"></iframe>' if step + 1 < STEPS else ""
        mirror.add(f"http://one.test/{f'{step}.html' if step else ''}", f"<!doctype html>{ICON}<p>{step}{inner}")
    return mirror.finish("http://one.test/")


def disturb(base: Path, *options: str) -> list[dict[str, Any]]:
    """Run the benchmark; return what it wrote about each load."""
    records = base / "records.jsonl"
    records.unlink(missing_ok=True)
    command = [*DISTURBED, "--dir", str(base), "--name", "small", "--page", "one.test", "--delaynet", "50",
               "--records", str(records), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        finally:
            process.kill()              # nothing happens to one that has ended, and is not reaped yet
        print(process.communicate()[0])
    stopped = ended is not None and ended.si_code == os.CLD_STOPPED
    assert not stopped, "sudo would stand still with it, and its caller's shell too"
    return [json.loads(line) for line in records.read_text().splitlines()][1:]


def test_stalls_are_found_and_undisturbed_loads_are_mostly_accepted(steps: Path) -> None:
    seed = random.randrange(10_000)
    print(f"seed {seed}")
    loads = disturb(steps, "--undisturbed", "2", "--injections", f"{EACH}", "--stall-ms", "300", "--seed", str(seed))
    alone = [load for load in loads if not load["part"]]
    plts_ms = sorted(load["plt_ms"] for load in alone)
    assert len(loads) == 2 + EACH * len(MARKS)
    for load in loads:
        slower = load["plt_ms"] is None or load["plt_ms"] > plts_ms[0] + 150
        assert load["why_not"] or not (load["part"] and slower), (load["part"], load["after_ms"], load["plt_ms"])
    assert sum(bool(load["why_not"]) for load in loads if load["part"]) >= len(MARKS) // 2, "half of them, however late"
