"""What fetch.py records of the test internet, tfo.py loads: every page, again and again, with nothing missing.

That each answer is the recorded one is in tests/record/test_fetch_fixed_point.py, where a replay is recorded again.
"""

from collections import Counter

import pytest

from tests.support.finished import Finished, measured
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording
from tests.support.internet.server import NEEDS_NGINX

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, NEEDS_NGINX]
PAGES = (*site.PAGES, site.SECURE)
LOADS = 2                       # five of each over both protocols: benchmarks/modern.py
DELAY_MS = 5
SYN_SHARE = 0.99
OF_NO_LOAD_EVENT = ("/sw.js", "/worker.js", "/from-worker.txt?worker", "/from-worker.txt?sw")
"""No load event waits for workers: a load may be over before they have asked."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Give a recording of the test internet, after an experiment with TFO on every page."""
    directory = tmp_path_factory.mktemp("recorded")
    copy_of_the_recording(directory, tmp_path_factory)
    (directory / f"{NAME}.pages").write_text("\n".join(PAGES))
    return measured(directory, "--name", NAME, "--quiet", "0.5", "--tfo", "1", "--delaynet", DELAY_MS,
                    "--bwnet", "1000")


def test_every_page_loads_again_and_again_as_it_was_recorded(found: Finished) -> None:
    for url in PAGES:
        loads = [found.load(tfo=1, run=run, url=url) for run in range(LOADS)]
        for load in loads:
            assert load.answers is not None
            assert load.answers.missing == load.answers.stand_in == 0, (url, load.run)
            assert (load.plt_ms or 0.0) > DELAY_MS
            assert not load.why_not, (url, load.run)
        asked = [Counter(url for url in load.request_urls if not url.endswith(OF_NO_LOAD_EVENT)) for load in loads]
        assert asked == [asked[0]] * LOADS, url


def test_requests_ride_in_the_syn(found: Finished) -> None:
    """Over http a request, over https a ClientHello: on every new connection once the cookies are there."""
    warm = [load for load in found.loads if load.run]
    assert len(warm) == (LOADS - 1) * len(PAGES)
    for load in warm:
        in_syn = load.syn_data_connections or 0
        assert in_syn >= SYN_SHARE * (load.connections_with_request or 0) > 0
        assert load.counters["servers"]["TCPFastOpenPassive"] >= in_syn
    began_s = min(load.began_s or 0.0 for load in warm)
    first = {(request.scheme, request.protocol) for request in found.requests(tfo=1)
             if request.time_s > began_s and request.request == 1 and request.syn_data}
    assert first >= {("http", "HTTP/1.0"), ("https", "HTTP/1.1"), ("https", "h2")}
