"""docs/history.md: the server of 2013 stands still behind a connection that sends nothing, and TFO hides it."""

from pathlib import Path

import pytest

from tests.support.finished import measured
from tests.support.small_mirror import ICON, SmallMirror

RTT_MS = 100
LIMIT_S = 3.0
FRAMES = '<iframe src="http://ads.test/"></iframe><iframe src="http://ads.test/two"></iframe>'


def page_with_frames(directory: Path) -> Path:
    mirror = SmallMirror(directory)
    mirror.add("http://news.test/", f'<!doctype html>{ICON}<script src="http://ads.test/s.js"></script>{FRAMES}')
    mirror.add("http://ads.test/s.js", "document.title = 'news'", "text/javascript")
    for frame in ("", "two"):
        mirror.add(f"http://ads.test/{frame}", f"<!doctype html>{ICON}<p>frame {frame}")
    return mirror.finish("http://news.test/")


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
@pytest.mark.timing
def test_a_silent_connection_stops_the_server_of_2013_but_not_with_tfo(tmp_path: Path) -> None:
    options = ("--delaynet", RTT_MS // 2, "--predict", "--timeout", f"{LIMIT_S:g}", "--server")
    found = {server: measured(page_with_frames(tmp_path / server), *options, server, *more, status=None)
             for server, more in (("2013", ("--retries", "0")), ("threaded", ()))}      # that of 2013 stops always
    (old_off, old_on), (new_off, new_on) = (
        [found[server].load(tfo) for tfo in (0, 1)] for server in ("2013", "threaded"))
    assert [load.why_not for load in (new_off, new_on, old_on)] == [(), (), ()]
    assert new_off.preconnects_unused, "Chrome opened no connection ahead of need: there is nothing to show"
    for off in (old_off, new_off):
        assert off.silent_connections == off.preconnects_unused, "all of them are known, closed only with Chrome"
    assert old_on.silent_connections == new_on.silent_connections == 0
    assert old_on.preconnects_unused, "they are there with TFO too, but their SYNs never left"
    assert (old_off.timed_out_s, old_off.document and old_off.document.status) == (LIMIT_S, 200)
    assert old_off.plt_ms is None, "Chrome was told to stop, and that is followed by a load event"
    assert old_on.plt_ms
    assert new_on.plt_ms
    assert abs(old_on.plt_ms - new_on.plt_ms) < LIMIT_S * 1000 / 3, "with TFO, neither server stands still"
    assert 0 < (new_off.plt_ms or 0) - new_on.plt_ms < 6 * RTT_MS, "with threads TFO saves some round trips, no more"
