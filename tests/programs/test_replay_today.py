"""An application of Dash, and a video with its index at its end, recorded and replayed over HTTP/2.

htmx and GraphQL are in the page APP (tests/record). All of the test internet's pages, five loads each over 1.1 and
HTTP/2, and a second recording of their replay: benchmarks/modern.py.
"""

import subprocess
from pathlib import Path

import pytest

from harness.files.load_record import read_load_record
from harness.files.pages import sanitise
from harness.files.server_log import read_server_logs
from tests.support.internet.recorded import record
from tests.support.internet.server import NGINX, serve
from tests.support.internet.today import DASH, FILM
from tests.support.project_copy import TFO

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(120),
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
PAGES = (DASH, FILM)
NAME = "today"
DELAY_MS = 5
LOADS = 2


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a recording and of an experiment with it."""
    directory = tmp_path_factory.mktemp("today")
    with serve(applications=True) as internet:
        record(directory, NAME, internet.remap, internet.ca, PAGES, "--quiet", "2")
    done = subprocess.run([*TFO, "--quiet", "0.3", "--dir", str(directory), "--name", NAME, "--tfo", "1", "--testruns",
                           str(LOADS), "--http", "h2", "--delaynet", str(DELAY_MS), "--bwnet", "1000"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def answers(directory: Path, url: str) -> list[tuple[str, str, int, str]]:
    """Return what the page's host was asked for, and how it answered: method, path without its query, status, found."""
    return [(request.method, request.path.partition("?")[0], request.status, request.found)
            for request in read_server_logs(directory / "serverlogs" / f"{DELAY_MS}-tfo-1")
            if request.host == url.split("/")[2] and request.found != "silent"]


@pytest.mark.parametrize("url", PAGES)
def test_no_load_is_rejected_or_hollow(replayed: Path, url: str) -> None:
    for run in range(LOADS):
        load = read_load_record(replayed / "client" / f"{DELAY_MS}-{run}-tfo-1" / f"{sanitise(url)}.json")
        assert load.valid, load.why_not
        assert load.answers is not None
        assert load.answers.missing == load.answers.stand_in == 0, load.answers.each
        assert load.answers.coverage is not None
        assert load.answers.coverage.got == load.answers.coverage.recorded
        assert load.answers.coverage.got_bytes == load.answers.coverage.recorded_bytes


def test_two_callbacks_of_one_url_got_their_own_answers(replayed: Path) -> None:
    callbacks = [(method, found) for method, path, _, found in answers(replayed, DASH) if path.endswith("component")]
    tries = LOADS + len([*replayed.glob(f"client/*/attempt-*/{sanitise(DASH)}.json")])
    assert set(callbacks) == {("POST", "plain")}
    assert 2 <= len(callbacks) <= 2 * tries, "they come after the load event: a load may be over before"


def test_a_video_whose_index_stands_at_its_end_is_asked_for_in_parts(replayed: Path) -> None:
    film = [status for _, path, status, _ in answers(replayed, FILM) if path == "/film.mp4"]
    assert len(film) >= 3 * LOADS
    assert set(film) == {206}
