"""The benchmarks explain themselves, and the sampler of RTTs measures what it says."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.forked import typed

BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = ("star.py", "scale.py", "delay_line.py", "loads.py", "server.py", "connect_times.py", "packet_timing.py",
           "network_equivalence.py", "disturbed.py", "stall.py", "alike.py", "sameness.py", "modern.py", "originals.py",
           "sweep.py")
CLOSED_PORT = 9
PACE_S = 0.010


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_works_from_any_directory(name: str, tmp_path: Path) -> None:
    done = typed(BENCHMARKS / name, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


def test_a_sweeps_scheduler_and_driver_hand_out_every_unit_once(tmp_path: Path) -> None:
    """Dask itself, TLS, and messages that hold nothing but data; the workers only sleep."""
    done = typed(BENCHMARKS / "sweep.py", "--sites", "30", "--workers", "4", "--seconds", "0.05", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"; 30 measured, \d+ of them twice\n\Z", done.stdout)


@pytest.mark.root
@pytest.mark.timing
def test_connect_times_takes_one_sample_each_pace() -> None:
    began_s = time.time()
    command = [sys.executable, str(BENCHMARKS / "connect_times.py"), "127.0.0.1", str(CLOSED_PORT),
               "--pace-ms", f"{PACE_S * 1000:g}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sampler:
        time.sleep(1)
        printed, _ = sampler.communicate(timeout=10)
    ended_s = time.time()
    answers = [tuple(map(float, line.split())) for line in printed.splitlines()]
    assert sampler.returncode == 0
    assert all(began_s <= sample_s <= ended_s for sample_s, _ in answers)
    paces = (answers[-1][0] - answers[0][0]) / PACE_S
    assert 0.5 * paces <= len(answers) - 1 <= 1.01 * paces, "one sample each pace; some are left out on a busy machine"
    assert sorted(rtt_ms for _, rtt_ms in answers)[len(answers) // 2] < PACE_S * 1000, "the loopback answers at once"
