"""How far away servers are: each as recorded, and measured until all RTTs are what they should be."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.errors import ExperimentError, InputError
from harness.files.hosts import EACH_ITS_OWN, ONE, Layout
from harness.files.pages import PageFiles
from harness.measure import rtts
from harness.measure.preflight import PageSet, ReplayedWeb
from harness.measure.rtts import links, own_rtts, proven_rtts_ms, thinking_rtts
from harness.measure.settings import Settings
from harness.mirror.recording import read_recording
from tests.support.recording import chain_of_hosts

WANTED_MS = {"a.test": 100.0, "b.test": 100.0}
RIGHT, WRONG = {"a.test": 100.4, "b.test": 100.2}, {"a.test": 100.4, "b.test": 140.0}


@pytest.fixture
def page_set(tmp_path: Path) -> PageSet:
    files = PageFiles(chain_of_hosts(tmp_path, 4), "small")
    files.rtts.write_text("www.nytimes.com 30\nhost1.test 40\nhost2.test 180\n")
    recording = read_recording(files.mirror, files.fetchlog)
    return cast(PageSet, SimpleNamespace(files=files, recording=recording))


def web(page_set: PageSet, rtt: str, delays_ms: tuple[float, ...] = (), layout: Layout = EACH_ITS_OWN) -> ReplayedWeb:
    made = ReplayedWeb(page_set=page_set, settings=Settings(rtt=rtt, delays_ms=delays_ms, bw_net_mbit=8))
    vars(made)["layout"] = layout
    return made


NAMES = ("www.nytimes.com", "host1.test", "host2.test", "host3.test")
SHARED = Layout(ONE, {"host1.test": "cdn", "host2.test": "cdn"})


@pytest.mark.parametrize(("rtt", "delays_ms", "layout", "rtts_ms"), [
    ("recorded", (), EACH_ITS_OWN, (30, 40, 180, 40)),
    ("recorded*0.01", (), EACH_ITS_OWN, (0, 0, 1.8, 0)), ("recorded", (50,), EACH_ITS_OWN, (75, 100, 450, 100)),
    ("recorded*5.55", (), EACH_ITS_OWN, (166.5, 222, 999, 222)), ("recorded", (), SHARED, (30, 40, 40, 40))])
def test_every_server_its_own(page_set: PageSet, capsys: pytest.CaptureFixture[str], *, rtt: str,
                              delays_ms: tuple[float, ...], layout: Layout, rtts_ms: tuple[float, ...]) -> None:
    """Of host3.test it is not known: it gets the median. One that hosts share is as far away as the nearest of them."""
    as_recorded = web(page_set, rtt, delays_ms, layout)
    [speeds] = links(as_recorded)
    wanted_ms = {host: pytest.approx(rtt_ms) for host, rtt_ms in zip(NAMES, rtts_ms, strict=True)}
    found_ms = speeds.rtts_ms(layout.servers(NAMES))
    assert {host: found_ms[layout.server_of(host)] for host in NAMES} == wanted_ms
    assert (speeds.rtt_ms, speeds.bw_net_mbit) == pytest.approx((rtts_ms[3], 8))
    assert "not known of 1 of 4 servers, which get the median of the others: host3.test" in capsys.readouterr().out
    assert own_rtts(as_recorded, speeds) == {"server_rtts_ms": wanted_ms, "rtts_assumed": ["host3.test"]}


@pytest.mark.parametrize(("rtts", "rtt", "delays_ms", "complaint"), [
    ("host2.test 180\nhost1.test 40", "recorded*5.56", (), r" 1000\.8 ms.* host2\.test.* 1000 ms"),
    ("host1.test 0\nhost2.test 0", "recorded", (10,), " 0 ms")])
def test_what_no_network_can_be(page_set: PageSet, rtts: str, rtt: str, delays_ms: tuple[float, ...],
                                complaint: str) -> None:
    page_set.files.rtts.write_text(rtts)
    with pytest.raises(InputError, match=complaint):
        links(web(page_set, rtt, delays_ms))


def test_servers_whose_thinking_is_not_known(page_set: PageSet) -> None:
    """Text logs tell when an answer was there, not when it began to come."""
    with pytest.raises(InputError, match=r"small\.fetchlog: --think recorded: "):
        thinking_rtts(page_set)
    page_set.files.rtts.unlink()
    with pytest.raises(InputError, match=r"small\.rtts:1: --think recorded: "):
        thinking_rtts(page_set)


def test_a_wrong_rtt_is_measured_again_once_the_machine_is_quiet(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without patience it ends at once."""
    waits_s: list[float] = []
    monkeypatch.setattr(rtts, "wait_for_quiet", waits_s.append)
    found = iter([WRONG, WRONG, RIGHT])
    assert proven_rtts_ms(lambda: next(found), WANTED_MS, "netem", 60) == RIGHT
    assert waits_s == [rtts.RTT_PAUSE_S] * 2
    assert capsys.readouterr().out.splitlines() == [
        *["RTT to 2 servers: 100.4 to 140.0 ms measured, 100 ms wanted (netem)"] * 2,
        "RTT to 2 servers: 100.2 to 100.4 ms measured, 100 ms wanted (netem)"]
    with pytest.raises(ExperimentError, match=r" b\.test .* 140\.0 ms.* 100 \+- 3\.0 ms"):
        proven_rtts_ms(lambda: WRONG, WANTED_MS, "netem", 0)
    assert len(waits_s) == 2
