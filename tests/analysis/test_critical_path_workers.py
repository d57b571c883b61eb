"""Workers on the critical path: the load event waits for none of them, nor for what they fetch."""

import pytest

from tests.support.critical_paths import RTT_MS, connects, path_of, saving
from tests.support.made_har import MadeLoad


@pytest.mark.parametrize(("dest", "waited_for"), [("worker", False), ("sharedworker", False), ("script", True)])
def test_the_load_event_waits_for_no_worker(dest: str, waited_for: bool) -> None:
    """By chance what the worker imports ends last; TFO saves 2 handshakes of the image and only 1 of the worker."""
    load = MadeLoad(0.0)
    end = load.add("https://page.test/", 0, "document", referer="")
    image_end = load.add("https://cdn.test/i.gif", end + 1, "image", wait=130)
    worker_end = load.add("https://page.test/w.js", end + 1, connect=-1, connection=1, fetched=(dest, "same-origin"),
                          referer="https://page.test/")
    import_end = load.add("https://page.test/lib.js", worker_end + 1, connect=-1, connection=1, wait=140,
                          fetched=("script", "no-cors"), referer="https://page.test/w.js")
    assert image_end < import_end
    load.plt_ms = import_end + 3
    assert ("https://page.test/lib.js" in {step.url for step in path_of(load)}) is waited_for
    assert saving(load) == (RTT_MS if waited_for else 2 * RTT_MS)


def test_what_a_service_worker_keeps_is_no_worker() -> None:
    """cache.addAll(["/"]): all that the page asked for afterwards was the worker's, and held up no load event."""
    page = "https://page.test/"
    load = MadeLoad(0.0)
    end = load.add(page, 0, "document", referer="")
    worker_end = load.add(f"{page}sw.js", end, connect=-1, connection=1, wait=50, referer=page,
                          fetched=("serviceworker", "same-origin"))
    load.add(page, worker_end + 1, "data", connect=-1, connection=1, wait=50, referer=f"{page}sw.js",
             fetched=("empty", "cors"))
    load.plt_ms = load.add("https://cdn.test/i.gif", worker_end + 60, "image", referer=page,
                           fetched=("image", "no-cors")) + 3
    assert connects(path_of(load)) == [page, "https://cdn.test/i.gif"]
    assert saving(load) == 2 * RTT_MS


def test_what_a_worker_waits_for_does_not_stop_the_page() -> None:
    """A script works for 1 s, and a worker imports another one meanwhile: 1 s of the page's work was no work."""
    page = "https://page.test/"
    load = MadeLoad(1_310.0, long_tasks=[(205.0, 1100.0)])
    end = load.add(page, 0, "document", referer="", receive=3)
    load.add("https://aside.test/i.gif", end + 1, "image")
    worker_end = load.add(f"{page}w.js", end + 1, connect=-1, connection=1, fetched=("worker", "same-origin"),
                          referer=page)
    load.add(f"{page}lib.js", worker_end + 1, connect=-1, connection=1, wait=900, fetched=("script", "no-cors"),
             referer=f"{page}w.js", synchronous=True)
    assert connects(path_of(load)) == [page]
    assert saving(load) == RTT_MS


def test_the_load_event_waits_for_no_redirect_of_what_a_worker_fetches() -> None:
    page = "https://page.test/"
    load = MadeLoad(0.0)
    end = load.add(page, 0, "document", referer="")
    load.add("https://cdn.test/i.gif", end + 1, "image", wait=130)
    worker_end = load.add(f"{page}w.js", end + 1, connect=-1, connection=1, fetched=("worker", "same-origin"),
                          referer=page)
    load.plt_ms = load.add(f"{page}api", worker_end + 1, "data", connect=-1, connection=1, wait=140,
                           redirect=f"{page}api/", fetched=("empty", "cors"), referer=f"{page}w.js") + 3
    assert connects(path_of(load)) == [page, "https://cdn.test/i.gif"]
