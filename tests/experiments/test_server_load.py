"""A server under a constant rate of requests: what TFO saves it in packets."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.answering import answering
from tests.support.internet.server import NEEDS_NGINX
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timing, NEEDS_NGINX]
RATE = 400
PATIENCE_S = 3.0
"""http_load.c's for answers: what waited for them would begin its last request so much later."""


def test_each_request_in_the_syn_saves_the_server_packets(tmp_path: Path) -> None:
    """With TFO neither the SYN-ACK nor the request is acknowledged by a packet of its own (RFC 7413, section 4.2.2)."""
    project = copy_project(tmp_path / "project")
    done = ran(*typed(project, "./experiments/server_load.py", "--rates", str(RATE),
                      "--repeats", "1", "--seconds", "1.5", "--patience", "0"), status=0)
    with (project / "output-figures" / "server-load-nginx.csv").open() as file:
        samples = {row["mode"]: row for row in csv.DictReader(file)}
    assert {mode: float(row["syn_data"]) for mode, row in samples.items()} == {"off": 0, "on": 1, "refused": 0}
    assert float(samples["off"]["packets"]) > float(samples["on"]["packets"])
    assert all(0 < float(row["cpu"]) <= 1 for row in samples.values()), "1 where other tests have the core besides"
    assert len(re.findall(rf"^{RATE}\t(?:no TFO|TFO|TFO, cookie refused)\t", done.stdout, re.MULTILINE)) == 3
    assert (project / "output-figures" / "server-load-nginx.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("client") / "http_load"
    ran(shutil.which("gcc") or "gcc", "-O2", "-o", program, ROOT / "experiments" / "http_load.c", "-lm", status=0)
    return program


@pytest.mark.parametrize(("rate", "seconds"), [(1000, 0.5), (20, 1)])
def test_the_client_begins_requests_at_its_rate_and_counts_what_was_not_answered(client: Path, rate: int,
                                                                                 seconds: float) -> None:
    """Nobody listens: all fail, the rate is held all the same, and no answer is waited for.

    Of 20 requests in a second it was said that they took 0.95 s: 21 a second, which does not count.
    """
    said = json.loads(ran(client, "127.0.0.1", "9", "/", rate, seconds, "0", status=0).stdout)
    took_s, count = said.pop("seconds"), round(rate * seconds)
    assert said == {"begun": count, "answered": 0, "failed": count, "latencies_us": []}
    assert seconds <= took_s < PATIENCE_S


@pytest.mark.parametrize(("sent", "answered"), [(5000, 20), (4999, 0), (0, 0)])
def test_half_an_answer_is_none(client: Path, sent: int, answered: int) -> None:
    """An answer that its server broke off counted, and as a quick one."""
    with answering(lambda *_: (200, {"Content-Length": 5000}, bytes(sent))) as port:
        said = json.loads(ran(client, "127.0.0.1", port, "/", "100", "0.2", "0", status=0).stdout)
    assert (said["answered"], said["failed"]) == (answered, 20 - answered)
