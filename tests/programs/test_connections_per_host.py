"""More or fewer connections to a host: so many rounds of handshakes, and so many round trips that TFO saves."""

import statistics
import subprocess
from pathlib import Path

import pytest

from harness.analysis.causes import CLOCK_MS
from harness.analysis.explanation import explain
from harness.analysis.selection import Cell, Selection, select
from harness.analysis.timeline import TimedRequest, read_timeline
from harness.files.pages import sanitise
from harness.files.results import LoadResult, read_results
from tests.support.plotted import plot
from tests.support.project_copy import TFO
from tests.support.small_mirror import ICON, SmallMirror

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing, pytest.mark.timeout(240)]
URL = "http://many.test/"
IMAGES = 12
RTT_MS = 200
TOLERANCE = 0.35
"""Of the two round trips that TFO saves: 140 ms, where single loads differ by some 20, and a handshake takes 200."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return a mirror with a page of IMAGES small images of its own host."""
    mirror = SmallMirror(tmp_path)
    urls = [f"{URL}{number}.gif" for number in range(IMAGES)]
    mirror.add(URL, f"<!doctype html>{ICON}" + "".join(f"<img src={url}>" for url in urls))
    for url in urls:
        mirror.add(url, b"GIF89a" + bytes(500), "image/gif")
    return mirror.finish(URL)


def measure(base: Path, per_host: int) -> Selection:
    command = [*TFO, "--quiet", "0.2", "--dir", str(base), "--name", "small", "--delaynet", str(RTT_MS // 2),
               "--testruns", "2", "--connections-per-host", str(per_host)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return select(read_results(base / "client"), "load")


def loads_of(selection: Selection, tfo: int) -> list[LoadResult]:
    return selection.cells[Cell(sanitise(URL), RTT_MS, tfo)]


def most_at_once(requests: tuple[TimedRequest, ...]) -> int:
    """Return how many of these requests were under way at the same time, each from its connection's beginning."""
    begins = [request.connect[0] if request.connect else request.sent for request in requests]
    return max(sum(begin <= now < request.end - CLOCK_MS for begin, request in zip(begins, requests, strict=True))
               for now in begins)


def test_so_many_at_once_and_so_many_round_trips_less(many: Path) -> None:
    """The document's handshake, and one for each round of images: the next waits until a connection is free."""
    per_host = IMAGES
    selection = measure(many, per_host)
    handshakes = 1 + IMAGES // per_host
    for load in loads_of(selection, 0):
        timeline, found = read_timeline(load), explain(load, RTT_MS)
        assert timeline is not None
        assert most_at_once(timeline.requests[1:]) == per_host
        assert found is not None
        assert found.handshakes == handshakes, found.steps
    without, with_tfo = (statistics.median(load.plt_ms or 0 for load in loads_of(selection, tfo)) for tfo in (0, 1))
    assert (without - with_tfo) / RTT_MS == pytest.approx(handshakes, rel=TOLERANCE), \
        f"{handshakes} handshakes one after the other, and TFO saves a round trip for each"
    table = plot(many, "--clientdir", many / "client", "--outputdir", many / "out")
    assert f"Chrome opened at most {per_host} connections to a host at a time; its own limit is 6." in table.stdout
