"""docs/history.md: the server of 2013 stands still behind a connection that sends nothing, and TFO hides it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.project_copy import experiment
from tests.support.small_mirror import ICON, SmallMirror

DELAY_MS = 50
RTT_MS = 2 * DELAY_MS
LIMIT_S = 3.0
FRAMES = '<iframe src="http://ads.test/"></iframe><iframe src="http://ads.test/two"></iframe>'


def page_with_frames(directory: Path) -> Path:
    mirror = SmallMirror(directory)
    mirror.add("http://news.test/", f'<!doctype html>{ICON}<script src="http://ads.test/s.js"></script>{FRAMES}')
    mirror.add("http://ads.test/s.js", "document.title = 'news'", "text/javascript")
    for frame in ("", "two"):
        mirror.add(f"http://ads.test/{frame}", f"<!doctype html>{ICON}<p>frame {frame}")
    return mirror.finish("http://news.test/")


def measured(base: Path, server: str, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the measured loads with TFO off and on."""
    done = experiment(base, "--testruns", "2", "--delaynet", DELAY_MS, "--predict", "--timeout", f"{LIMIT_S:g}",
                      "--server", server, *options, status=None)
    assert "page loads are valid" in done.stdout, done.stdout + done.stderr
    off, on = (json.loads((base / "client" / f"{DELAY_MS}-1-tfo-{tfo}" / "httpnews.test.json").read_text())
               for tfo in (0, 1))
    return off, on


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
@pytest.mark.timing
def test_a_silent_connection_stops_the_server_of_2013_but_not_with_tfo(tmp_path: Path) -> None:
    old_off, old_on = measured(page_with_frames(tmp_path / "old"), "2013", "--retries", "0")  # it stops always
    new_off, new_on = measured(page_with_frames(tmp_path / "new"), "threaded")
    assert [load["why_not"] for load in (new_off, new_on, old_on)] == [[], [], []]
    assert new_off["preconnects_unused"] > 0, "Chrome opened no connection ahead of need: there is nothing to show"
    for off in (old_off, new_off):
        assert off["silent_connections"] == off["preconnects_unused"], "all of them are known, closed only with Chrome"
    assert old_on["silent_connections"] == new_on["silent_connections"] == 0
    assert old_on["preconnects_unused"] > 0, "they are there with TFO too, but their SYNs never left"
    assert f"no load event within {LIMIT_S:g} s" in old_off["why_not"]
    assert old_off["document"]["status"] == 200
    assert old_off["plt_ms"] is None, "Chrome was told to stop, and that is followed by a load event"
    assert abs(old_on["plt_ms"] - new_on["plt_ms"]) < LIMIT_S * 1000 / 3, "with TFO, neither server stands still"
    assert 0 < new_off["plt_ms"] - new_on["plt_ms"] < 6 * RTT_MS, "with threads TFO saves some round trips, no more"
