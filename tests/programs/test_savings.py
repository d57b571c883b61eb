"""What TFO saves, against theory: real Chrome, real star; page load times, and what is predicted of them."""

from collections import defaultdict
from pathlib import Path

import pytest

from harness.analysis.explanation import explain
from harness.files.har import read_har
from harness.network.rtt import check_rtts
from tests.support.finished import Finished, measured
from tests.support.recording import CHAIN, ICON, MadeRecording
from tests.support.thinking_servers import FAR, KIND_OF, KINDS, LEAST_MS, NEAR, ROUNDS, Kind, record_thinking_servers

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
RTT_MS = 200
PREDICTED_PERCENT = 5
CHAIN_TOLERANCE = 0.15
"""Share of five handshakes that noise of a 2-core machine's Chrome may take or add."""
SIX = "http://six.test/"
"""Six images of one host: as many connections as Chrome opens to a host at once."""
HANDSHAKES = {CHAIN[0]: len(CHAIN), SIX: 2}
"""TCP handshakes on the critical path over HTTP/1.0, where every request opens a connection of its own."""
IMAGE_BYTES = 40_000
"""Small beside the chain, large beside noise: 6 of them share the server's link for half a second."""


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Measure pages whose critical path is known because they were built for it."""
    made = MadeRecording(tmp_path_factory.mktemp("explained"), "small", har=False)
    images = [f"{SIX}{number}.gif" for number in range(6)]
    made.add_chain(*CHAIN)
    made.add(SIX, f"<!doctype html>{ICON}" + "".join(f"<img src={url}>" for url in images))
    for url in images:
        made.add(url, b"GIF89a" + bytes(IMAGE_BYTES), "image/gif")
    return measured(made.finish(CHAIN[0], SIX), "--delaynet", RTT_MS // 2)


@pytest.mark.parametrize("url", HANDSHAKES)
def test_a_page_is_explained(explained: Finished, url: str) -> None:
    """Handshakes are counted exactly in every load, and the prediction is within 5% of the load with TFO."""
    for load in explained.results.loads:
        if load.url == url and (load.run > 0 or not load.tfo):      # with TFO, run 0 has no cookies yet
            path = explain(load, RTT_MS)
            assert path is not None
            assert path.handshakes == (0 if load.tfo else HANDSHAKES[url]), path.steps
            assert sum(step.length_ms for step in path.steps) == pytest.approx(load.plt_ms)
    prediction = explained.row(url).prediction
    assert prediction is not None
    difference = prediction.difference_percent(prediction.predicted_ms)
    assert difference is not None
    assert abs(difference) < PREDICTED_PERCENT


def test_tfo_saves_the_round_trip_of_each_handshake_on_the_way(explained: Finished) -> None:
    """CHAIN: each script is found by the one before, on another server, so no handshake hides behind another."""
    environment = explained.loads[0].environment
    assert environment is not None
    check_rtts(environment.measured_rtt_ms, dict.fromkeys(environment.measured_rtt_ms, RTT_MS))
    assert explained.saved_ms(CHAIN[0]) == pytest.approx(len(CHAIN) * RTT_MS, rel=CHAIN_TOLERANCE)


def test_a_document_comes_one_round_trip_earlier(explained: Finished) -> None:
    """The shortest of five counts: a busy machine makes waits longer, never shorter."""
    waits_ms = {load.tfo: min(each.phases.connect + each.phases.send + each.phases.wait
                              for each in read_har(load.har).exchanges if each.request.url in CHAIN)
                for load in explained.results.loads if load.run and load.url == CHAIN[0]}
    assert waits_ms == {tfo: pytest.approx((2 - tfo) * RTT_MS, abs=10) for tfo in (0, 1)}


OWN_RTTS_MS = {NEAR: 20.0, FAR: 120.0}
NEAR_AND_FAR = [NEAR, *(kind.host for kind in KIND_OF.values())]
"""Whose each connection is: the next one is opened when what came over the one before has run."""
SAVED_MS = sum(OWN_RTTS_MS[host] for host in NEAR_AND_FAR)
TOLERANCE_MS = 80
"""Of two single loads. With the median for every server, or with either of the two, it would be 200 ms off or more."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    base = record_thinking_servers(tmp_path_factory.mktemp("as-recorded"), OWN_RTTS_MS)
    return measured(base, "--rtt", "recorded", "--think", "recorded")


def test_each_handshake_saves_its_own_servers_round_trip(recorded: Finished) -> None:
    """So it is predicted, too: playing the load again and counting handshakes both use each server's own."""
    assert recorded.saved_ms() == pytest.approx(SAVED_MS, abs=TOLERANCE_MS)
    prediction = recorded.row().prediction
    assert prediction is not None
    assert prediction.handshakes == (len(NEAR_AND_FAR), len(NEAR_AND_FAR))
    assert prediction.off_ms - prediction.predicted_ms == pytest.approx(SAVED_MS, abs=TOLERANCE_MS)
    assert prediction.off_ms - prediction.simple_ms == pytest.approx(SAVED_MS)


def test_every_server_thinks_as_it_did_and_is_not_late_for_that(recorded: Finished) -> None:
    """A busy machine may add to some of a kind's answers, not to all. Lateness is judged by the server's own RTT."""
    load, own_ms = recorded.load(tfo=1), defaultdict[Kind, list[float]](list)
    for request in recorded.requests(tfo=1):
        if request.time_s >= (load.began_s or 0) and (kind := KIND_OF.get(f"http://{request.host}{request.path}")):
            own_ms[kind].append(request.own_ms or 0.0)
    assert set(own_ms) == set(KINDS)
    for kind, times_ms in own_ms.items():
        assert kind.think_ms <= min(times_ms) < kind.think_ms + LEAST_MS, times_ms
    assert (load.plt_ms or 0.0) >= sum(OWN_RTTS_MS[kind.host] + kind.think_ms for kind in KIND_OF.values())

    assert load.timekeeping is not None
    for kind in KINDS[:2]:      # had its thinking counted as that, each of its answers would be
        late = [answer for answer in load.timekeeping.late if answer.host == kind.host]
        assert sum(answer.late_ms >= kind.think_ms for answer in late) < ROUNDS
    assert all(answer.rtt_ms == OWN_RTTS_MS[answer.host] for answer in load.timekeeping.late)


SILENT_RTT_MS = 100
LIMIT_S = 2.0
FRAMES = '<iframe src="http://ads.test/"></iframe><iframe src="http://ads.test/two"></iframe>'


def page_with_frames(directory: Path) -> Path:
    mirror = MadeRecording(directory, "small", har=False)
    mirror.add("http://news.test/", f'<!doctype html>{ICON}<script src="http://ads.test/s.js"></script>{FRAMES}')
    mirror.add("http://ads.test/s.js", "document.title = 'news'", "text/javascript")
    for frame in ("", "two"):
        mirror.add(f"http://ads.test/{frame}", f"<!doctype html>{ICON}<p>frame {frame}")
    return mirror.finish("http://news.test/")


def test_a_silent_connection_stops_the_server_of_2013_but_not_with_tfo(tmp_path: Path) -> None:
    """docs/history.md: it stands still behind a connection that sends nothing, and TFO hides it."""
    options = ("--delaynet", SILENT_RTT_MS // 2, "--predict", "--timeout", f"{LIMIT_S:g}", "--server")
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
    assert 0 < (new_off.plt_ms or 0) - new_on.plt_ms < 6 * SILENT_RTT_MS, "with threads TFO saves some round trips"
