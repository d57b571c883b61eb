"""A server under a constant rate of requests: what TFO saves it in packets, by the kernel's counters."""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.internet.server import NGINX
from tests.support.project_copy import copy_project, typed

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timing, pytest.mark.timeout(120),
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
RATE = 400
TOLERANCE = 0.4
"""Of a packet for each request: TCP may put an acknowledgement more or less into one."""
OF_THE_ANSWER = 2
"""Packets that TFO may save besides: on a processor that never sleeps (one kept busy by others, say) the answer comes
in fewer, larger pieces when it follows the SYN-ACK at once, and fewer acknowledgements go back. nginx was seen to save
3.7."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("load") / "project")


@pytest.mark.parametrize("server", ["nginx", "own"])
def test_each_request_in_the_syn_saves_the_server_a_packet(project: Path, server: str) -> None:
    """With TFO neither the SYN-ACK nor the request is acknowledged by a packet of its own.

    Refused, the request goes again together with the acknowledgement of the SYN-ACK. That is what theory says at least;
    what is saved of the answer's own acknowledgements (OF_THE_ANSWER) differs between machines.
    """
    done = subprocess.run(typed(project, "./experiments/server_load.py", "--server", server, "--rates", str(RATE),
                                "--repeats", "1", "--seconds", "1.5", "--patience", "0"),
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with (project / "output-figures" / f"server-load-{server}.csv").open() as file:
        samples = {row["mode"]: row for row in csv.DictReader(file)}
    syn_data = {mode: float(row["syn_data"]) for mode, row in samples.items()}
    packets = {mode: float(row["packets"]) for mode, row in samples.items()}
    print(done.stdout)
    assert syn_data == {"off": 0, "on": 1, "refused": 0}
    assert 2 - TOLERANCE <= packets["off"] - packets["on"] <= 2 + OF_THE_ANSWER + TOLERANCE
    assert packets["off"] - packets["refused"] == pytest.approx(1, abs=TOLERANCE)
    assert all(0 < float(row["cpu"]) <= 1 for row in samples.values()), "1 where other tests have the core besides"
    assert len(re.findall(rf"^{RATE}\t(?:no TFO|TFO|TFO, cookie refused)\t", done.stdout, re.MULTILINE)) == 3
    assert (project / "output-figures" / f"server-load-{server}.png").read_bytes().startswith(b"\x89PNG")


def test_the_client_begins_requests_at_its_rate_and_counts_what_was_not_answered(tmp_path: Path) -> None:
    """Nobody listens: all fail, and the rate is held all the same."""
    client = tmp_path / "http_load"
    subprocess.run([shutil.which("gcc") or "gcc", "-O2", "-o", client, ROOT / "experiments" / "http_load.c", "-lm"],
                   check=True)
    said = subprocess.run([client, "127.0.0.1", "9", "/", "1000", "0.5", "0"], capture_output=True, text=True,
                          timeout=20, check=True).stdout
    found = re.fullmatch(r'\{"begun": 500, "answered": 0, "failed": 500, "seconds": ([\d.]+), "latencies_us": \[\]\}\n',
                         said)
    assert found, said
    assert float(found[1]) == pytest.approx(0.5, rel=0.05)
