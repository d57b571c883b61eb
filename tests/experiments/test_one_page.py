"""The smallest whole experiment shows what its docstring says: two handshakes on the way, two round trips saved."""

import re
import subprocess
import sys

import pytest

from harness.bootstrap import ROOT
from harness.measure.attempts import RETRIES

PROGRAM = ROOT / "experiments" / "one_page.py"
RTT_MS = 200
SAVED_RTTS, TOLERANCE_RTTS = 2, 0.5
"""A load differs from the next by some 20 ms of the processor's; half an RTT of 200 ms is five times that."""


def test_help_says_what_it_does_without_root() -> None:
    done = subprocess.run([sys.executable, PROGRAM, "--help"], capture_output=True, text=True, timeout=30, check=True)
    assert "--rtt" in done.stdout
    assert "two handshakes" in done.stdout


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.timing
@pytest.mark.timeout(200)
def test_tfo_saves_the_two_handshakes_on_the_way() -> None:
    command = [sys.executable, str(PROGRAM), "--rtt", str(RTT_MS), "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, f"a load was refused {1 + RETRIES} times:\n{done.stderr}"
    loads = re.findall(r"^TFO (\d), run (\d): \d+ ms, (\d) of (\d) connections", done.stdout, re.MULTILINE)
    off = [(int(in_syn), int(all_of_it)) for tfo, _, in_syn, all_of_it in loads if tfo == "0"]
    warm = [(int(in_syn), int(all_of_it)) for tfo, run, in_syn, all_of_it in loads if tfo == "1" and run != "0"]
    assert off == [(0, 4)] * 3
    assert warm == [(4, 4)] * 2
    saved = re.search(r"saved -?\d+ ms, (-?[\d.]+) round trips", done.stdout)
    assert saved is not None
    assert float(saved[1]) == pytest.approx(SAVED_RTTS, abs=TOLERANCE_RTTS), (
        f"one RTT of {RTT_MS} ms for the document's handshake and one for the scripts':\n{done.stdout}")
