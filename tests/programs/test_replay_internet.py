"""What fetch.py records of the test internet, tfo.py loads: every page, again and again, with nothing missing."""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.files.pages import sanitise
from harness.files.server_log import ServerRequest, read_server_logs
from harness.mirror.recording import Recording, read_recording
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording
from tests.support.internet.server import NGINX
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.written import lookup

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
PAGES = (*site.PAGES, site.SECURE)
LOADS = 2                       # five of each over both protocols: benchmarks/modern.py
DELAY_MS = 5
SYN_SHARE = 0.99
WEBSOCKET = "/socket"
OF_NO_LOAD_EVENT = ("/sw.js", "/worker.js", "/from-worker.txt?worker", "/from-worker.txt?sw")
"""No load event waits for workers: a load may be over before they have asked."""


@dataclass(frozen=True)
class Replayed:
    """A recording of the test internet, after an experiment with TFO on every page, and one without and with on two."""

    directory: Path
    said: str

    def loads(self, url: str) -> list[dict[str, Any]]:
        """Return the records of a page's loads with TFO."""
        return [json.loads((directory / f"{sanitise(url)}.json").read_text())
                for directory in sorted((self.directory / "client").glob(f"{DELAY_MS}-*-tfo-1"))]

    def requests(self) -> list[ServerRequest]:
        """Return what the servers were asked for over TFO."""
        return read_server_logs(self.directory / "serverlogs" / f"{DELAY_MS}-tfo-1")

    def recording(self) -> Recording:
        """Return what was recorded."""
        return read_recording(self.directory / NAME, self.directory / f"{NAME}.fetchlog")


def run(*command: object, statuses: tuple[int, ...] = (0,)) -> str:
    done = ran(sys.executable, *command)
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = copy_of_the_recording(tmp_path_factory.mktemp("recorded"), tmp_path_factory).directory
    (directory / f"{NAME}.pages").write_text("\n".join(PAGES))
    return directory


@pytest.fixture(scope="module")
def replayed(recorded: Path) -> Replayed:
    said = run(*TFO[1:], "--quiet", "0.5", "--dir", recorded, "--name", NAME, "--tfo", "1", "--testruns", str(LOADS),
               "--delaynet", str(DELAY_MS), "--bwnet", "1000")
    return Replayed(recorded, said)


def test_every_page_loads_again_and_again_as_it_was_recorded(replayed: Replayed) -> None:
    for url in PAGES:
        loads = replayed.loads(url)
        assert len(loads) == LOADS
        for load in loads:
            assert load["answers"]["missing"] == load["answers"]["stand_in"] == 0, (url, load["run"])
            assert load["plt_ms"] > DELAY_MS
            assert load["valid"], (url, load["run"], load["why_not"])
        asked = [Counter(url for url in load["request_urls"] if not url.endswith(OF_NO_LOAD_EVENT)) for load in loads]
        assert asked == [asked[0]] * LOADS, url


def test_no_answer_is_an_error_that_was_not_recorded(replayed: Replayed) -> None:
    recording = replayed.recording()
    asked = [request for request in replayed.requests() if request.found != "silent" and request.path != WEBSOCKET]
    assert len(asked) > LOADS * 60
    errors = {(request.host, request.path): (request.status, recorded.status if recorded else None) for request in asked
              if request.status >= 400
              for recorded in [lookup(recording, request.host, request.path, request.scheme, request.method)]}
    assert {path for _, path in errors} >= {"/gone.png", "/frame"}      # both answer with an error on the Internet, too
    assert all(status == recorded for status, recorded in errors.values()), errors
    assert {request.status for request in replayed.requests() if request.path == WEBSOCKET} == {404}, "as recorded"


def test_requests_ride_in_the_syn(replayed: Replayed) -> None:
    """Over http a request, over https a ClientHello: on every new connection once the cookies are there."""
    warm = [load for url in PAGES for load in replayed.loads(url) if load["run"] > 0]
    assert len(warm) == (LOADS - 1) * len(PAGES)
    for load in warm:
        assert load["syn_data_connections"] >= SYN_SHARE * load["connections_with_request"] > 0
        assert load["counters"]["servers"]["TCPFastOpenPassive"] >= load["syn_data_connections"]
    began_s = min(load["began_s"] for load in warm)
    first = {(request.scheme, request.protocol) for request in replayed.requests()
             if request.time_s > began_s and request.request == 1 and request.syn_data}
    assert first >= {("http", "HTTP/1.0"), ("https", "HTTP/1.1"), ("https", "h2")}
