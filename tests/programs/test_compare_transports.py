"""tfo.py --compare-transports on a small page over https: round trips as in theory, proved by both ends.

A document has a frame on another host, and that frame one on a third, which has three images of each of six hosts:

    www.one.test -> two.test -> three.test -> 1.test ... 6.test

So a load opens connections to ten hosts, and four times the page waits for new ones: three times for a document that
nothing else is asked for beside.
"""

import pytest

from harness.files.har import read_har
from harness.files.load_record import LoadRecord
from harness.files.transport import Transport
from tests.support.finished import Finished, measured
from tests.support.recording import ICON, MadeRecording

RTT_MS = 200.0
SHARE, SLACK_MS = 0.03, 6.0
"""How far from theory the shortest wait for a document may be."""
PLT_SHARE = 0.15
"""How far from theory what a transport saves of the page load time may be."""
DOCUMENTS = tuple(f"https://{host}.test/" for host in ("www.one", "two", "three"))
IMAGES = tuple(f"https://{host}.test/{image}.png" for host in range(1, 7) for image in range(1, 4))
HOSTS = len(DOCUMENTS) + 6
ODD = 3
"""So many connections Chrome may be too slow for: its three writes do not come together, and do not join in one SYN."""
OUTRUN = 4
"""Of six hosts Chrome wants three images each, and opens a connection for each, with two tickets. Without early data
the third may be the first that stands, on a busy machine, and then carries all three: seen twice in one load.
"""
IN_A_ROW = len(DOCUMENTS) + 1
"""How often the page waits for new connections."""

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]

Loads = dict[Transport, LoadRecord]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/http3.py)")
    page = MadeRecording(tmp_path_factory.mktemp("compared"), "small")
    images = "".join(f'<img src="{image}">' for image in IMAGES)
    frames = [*(f'<iframe src="{frame}"></iframe>' for frame in DOCUMENTS[1:]), images]
    for url, inside in zip(DOCUMENTS, frames, strict=True):
        page.add(url, f"<!doctype html>{ICON}<p>{url}</p>{inside}", "text/html")
    for url in IMAGES:
        page.add(url, bytes(1000), "image/png")
    made = measured(page.finish(DOCUMENTS[0]), "--compare-transports", "--delaynet", RTT_MS / 2, status=None)
    assert made.loads, made.said
    return made


@pytest.fixture(scope="module")
def loads(found: Finished) -> Loads:
    """Return the record of the measured load over each transport."""
    return {load.transport: load for load in found.loads if load.run}


def test_both_ends_prove_what_each_connection_did(loads: Loads) -> None:
    assert set(loads) == set(Transport)
    for over, load in loads.items():
        where, counts = (over, load.why_not), load.early_data
        assert counts is not None
        assert (counts.possible, counts.accepted, counts.over_tcp) == (HOSTS, HOSTS * over.early, 0), where
        assert counts.resumed >= HOSTS - (not over.early) * OUTRUN, where
        if over.early:
            assert counts.sent >= HOSTS - counts.too_late, where
            joined = (HOSTS - counts.too_late) * (over is Transport.TFO_EARLY)
            assert joined - ODD <= counts.in_syn <= joined, where
        else:
            assert counts.sent == counts.too_late == 0, where
        assert load.syn_data_connections == HOSTS * over.tfo
        assert load.requests == len(DOCUMENTS) + len(IMAGES)
        assert [connection.quic for connection in load.connections or ()] == [over.quic] * HOSTS


def test_documents_wait_for_as_many_round_trips_as_theory_says(found: Finished) -> None:
    """A round trip is a third of what a document over TCP waits for, so that all is compared within one run.

    The shortest of three counts: a busy machine makes waits longer, and never shorter.
    """
    waits_ms = {Transport(load.transport): min(
        each.phases.connect + each.phases.send + each.phases.wait
        for each in read_har(load.har).exchanges if each.request.url in DOCUMENTS)
        for load in found.results.loads if load.run}
    theory_ms = {over: over.round_trips * waits_ms[Transport.TCP] / Transport.TCP.round_trips for over in waits_ms}
    assert waits_ms == {over: pytest.approx(ms, rel=0, abs=SHARE * ms + SLACK_MS) for over, ms in theory_ms.items()}


def test_page_load_time_is_saved_as_theory_says(loads: Loads) -> None:
    saved_ms = {over: (loads[Transport.TCP].plt_ms or 0.0) - (loads[over].plt_ms or 0.0) for over in loads}
    assert saved_ms == {over: pytest.approx(IN_A_ROW * RTT_MS * (3 - over.round_trips), rel=PLT_SHARE)
                        for over in loads}
