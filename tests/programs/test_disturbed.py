"""Stalls made on purpose in real loads are found, each by its rule, and loads that nobody disturbs are not rejected.

Each part of the experiment stands still once, at a random moment; the seed is printed. docs/method.md has the
table of many.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stall import MARKS
from harness.bootstrap import ROOT
from tests.support.small_mirror import ICON, SmallMirror

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]

DISTURBED = [sys.executable, str(ROOT / "benchmarks" / "disturbed.py")]
EACH = 1
"""Stops of each part; tests/faults stops them, too."""
STEPS = 5
"""Frames one in the other: each waits for the one before, so that at any moment of the load the page waits."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mirror = SmallMirror(tmp_path_factory.mktemp("disturbed"))
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


def test_stalls_are_found_and_undisturbed_loads_are_mostly_accepted(base: Path) -> None:
    seed = random.randrange(10_000)
    print(f"seed {seed}")
    loads = disturb(base, "--undisturbed", "2", "--injections", f"{EACH}", "--stall-ms", "300", "--seed", str(seed))
    alone = [load for load in loads if not load["part"]]
    plts_ms = sorted(load["plt_ms"] for load in alone)
    assert len(loads) == 2 + EACH * len(MARKS)
    for load in loads:
        slower = load["plt_ms"] is None or load["plt_ms"] > plts_ms[0] + 150
        assert load["why_not"] or not (load["part"] and slower), (load["part"], load["after_ms"], load["plt_ms"])
    assert sum(bool(load["why_not"]) for load in loads if load["part"]) >= len(MARKS) // 2, "half of them, however late"
