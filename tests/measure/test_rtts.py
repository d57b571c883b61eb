"""How far away servers are: each as recorded, and measured until all RTTs are what they should be."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.errors import ExperimentError, InputError
from harness.files.hosts import ONE, Layout
from harness.files.pages import PageFiles
from harness.measure import rtts
from harness.measure.preflight import PageSet
from harness.measure.rtts import RttsMs, measured_in_words, own_rtts, proven_rtts_ms, thinking_rtts, with_recorded_rtts
from harness.measure.settings import Settings
from harness.mirror.recording import read_recording
from harness.network.star import LinkSpeeds
from tests.support.small_mirror import chain_of_hosts

WRITTEN = "www.nytimes.com 30\nhost1.test 40\nhost2.test 180\n"

WANTED_MS = 100.0
RIGHT, WRONG = {"a.test": 100.4, "b.test": 100.2}, {"a.test": 100.4, "b.test": 140.0}


@pytest.fixture
def page_set(tmp_path: Path) -> PageSet:
    files = PageFiles(chain_of_hosts(tmp_path, 4), "small")
    files.rtts.write_text(WRITTEN)
    recording = read_recording(files.mirror, files.fetchlog)
    return cast(PageSet, SimpleNamespace(files=files, recording=recording))


@pytest.mark.parametrize(("factor", "delaynet_ms", "rtts_ms"), [
    (1, None, (30, 40, 180, 40)), (2, None, (60, 80, 360, 80)),
    (0.01, None, (0, 0, 1.8, 0)), (1, 50, (75, 100, 450, 100))])
def test_every_server_its_own(page_set: PageSet, capsys: pytest.CaptureFixture[str], factor: float,
                              delaynet_ms: float | None, rtts_ms: tuple[float, ...]) -> None:
    """Of host3.test it is not known: it gets the median."""
    speeds = with_recorded_rtts(LinkSpeeds(bw_net_mbit=8), factor, delaynet_ms, page_set)
    hosts = ["www.nytimes.com", "host1.test", "host2.test", "host3.test"]
    assert speeds.rtts_ms(hosts) == dict(zip(hosts, rtts_ms, strict=True))
    assert (speeds.rtt_ms, speeds.longest_rtt_ms, speeds.bw_net_mbit) == (rtts_ms[3], max(rtts_ms), 8)
    assert "not known of 1 of 4 servers, which get the median of the others: host3.test" in capsys.readouterr().out


def test_the_experiments_file_says_it(page_set: PageSet) -> None:
    speeds = with_recorded_rtts(LinkSpeeds(), 2, None, page_set)
    said = own_rtts(Settings(rtt="recorded*2"), speeds, page_set)
    assert said["server_rtts_ms"] == {"www.nytimes.com": 60, "host1.test": 80, "host2.test": 360, "host3.test": 80}
    assert said["rtts_assumed"] == ["host3.test"]
    assert set(own_rtts(Settings(), LinkSpeeds(), page_set).values()) == {None}


def test_a_server_that_hosts_share_is_as_far_away_as_the_nearest_of_them(page_set: PageSet) -> None:
    layout = Layout(ONE, {"host1.test": "cdn", "host2.test": "cdn"})
    speeds = with_recorded_rtts(LinkSpeeds(), 1, None, page_set, layout)
    assert speeds.rtts_ms(["www.nytimes.com", "cdn"]) == {"www.nytimes.com": 30, "cdn": 40}
    said = own_rtts(Settings(rtt="recorded"), speeds, page_set, layout)["server_rtts_ms"]
    assert said == {"www.nytimes.com": 30, "host1.test": 40, "host2.test": 40, "host3.test": 40}


@pytest.mark.parametrize(("written", "factor", "delaynet_ms", "complaint"), [
    (WRITTEN, 5.56, None, r" 1000\.8 ms.* host2\.test.* 1000 ms.*small\.rtts$"),      # 5.55: 999 ms
    (WRITTEN.replace("30", "0").replace("40", "0"), 1, 10, " 0 ms")])
def test_what_no_network_can_be(page_set: PageSet, written: str, factor: float, delaynet_ms: float | None,
                                complaint: str) -> None:
    page_set.files.rtts.write_text(written)
    assert with_recorded_rtts(LinkSpeeds(), 0.999 * factor, None, page_set).longest_rtt_ms <= 999.8
    with pytest.raises(InputError, match=complaint):
        with_recorded_rtts(LinkSpeeds(), factor, delaynet_ms, page_set)


def test_servers_whose_thinking_is_not_known(page_set: PageSet) -> None:
    """Text logs tell when an answer was there, not when it began to come."""
    with pytest.raises(InputError, match=r"small\.fetchlog: --think recorded: "):
        thinking_rtts(page_set)
    page_set.files.rtts.unlink()
    with pytest.raises(InputError, match=r"small\.rtts:1: --think recorded: "):
        thinking_rtts(page_set)


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long a quiet machine was waited for each time; no time passes."""
    waits_s: list[float] = []
    monkeypatch.setattr(rtts, "wait_for_quiet", waits_s.append)
    return waits_s


def one_after_the_other(*found: RttsMs) -> Callable[[], RttsMs]:
    left = list(found)
    return lambda: left.pop(0)


def test_a_wrong_rtt_is_measured_again_once_the_machine_is_quiet(waits_s: list[float],
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    measure = one_after_the_other(WRONG, WRONG, RIGHT)
    assert proven_rtts_ms(measure, WANTED_MS, measured_in_words, 60) == RIGHT
    assert waits_s == [rtts.RTT_PAUSE_S] * 2
    assert capsys.readouterr().out.splitlines() == [
        *["2 servers: 100.4 to 140.0 ms measured"] * 2, "2 servers: 100.2 to 100.4 ms measured"]


def test_without_patience_it_ends_at_once(waits_s: list[float]) -> None:
    with pytest.raises(ExperimentError, match=r" b\.test .* 140\.0 ms.* 100 \+- 3\.0 ms"):
        proven_rtts_ms(one_after_the_other(WRONG), WANTED_MS, measured_in_words, 0)
    assert waits_s == []
