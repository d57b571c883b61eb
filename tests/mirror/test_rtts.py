"""How far away the recorded servers were: by the recording's HARs, and by NAME.rtts, which goes before them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.mirror.recording import read_recording
from harness.mirror.rtts import RecordedRtts, read_rtts, recorded_rtts
from tests.support.https_recording import HttpsRecording
from tests.support.small_mirror import chain_of_hosts

UNKNOWN = -1


def connecting(connect: float, ssl: float = UNKNOWN) -> Mapping[str, float]:
    return {"blocked": 1, "dns": 2, "connect": connect, "ssl": ssl, "send": 0, "wait": 99, "receive": 1}


def rtts(recorded: HttpsRecording, written: str | None = None) -> RecordedRtts:
    directory = recorded.finish(recorded.urls[0])
    files = PageFiles(directory, recorded.name)
    if written is not None:
        files.rtts.write_text(written)
    return recorded_rtts(files, read_recording(files.mirror, files.fetchlog))


def test_the_shortest_handshake_counts_and_tls_does_not(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    for number, time_ms in enumerate((41, 35, 900)):
        recorded.add(f"http://a.test/{number}", b"x", version="http/1.1", timings=connecting(time_ms))
    recorded.add("https://b.test/", b"x", timings=connecting(70, ssl=50))
    recorded.add("https://b.test/again", b"x", timings=connecting(UNKNOWN))
    recorded.add("https://quic.test/", b"x", version="h3", timings=connecting(30, ssl=30))
    found = rtts(recorded)
    assert found == RecordedRtts({"a.test": 35, "b.test": 20, "quic.test": 30}, ())
    assert found.median_ms == 30


def test_what_the_request_waited_for_is_only_a_part_of_the_handshake(tmp_path: Path) -> None:
    """Chrome had begun to connect before: fetch.py says how long all of it took."""
    recorded = HttpsRecording(tmp_path)
    recorded.add("https://a.test/", b"x", timings=connecting(60, ssl=55), _connectMs=48)
    recorded.add("https://a.test/kept", b"x", timings=connecting(UNKNOWN), _connectMs=48)
    assert rtts(recorded).rtts_ms == {"a.test": 48}


@pytest.mark.parametrize("timings", [None, {}, {"connect": "5"}, {"connect": True}, {"connect": None}, {"connect": -3}])
def test_a_server_whose_rtt_is_not_known_has_the_median_of_the_others(tmp_path: Path, timings: object) -> None:
    recorded = HttpsRecording(tmp_path)
    for host, time_ms in (("a", 10), ("b", 20), ("c", 90)):
        recorded.add(f"http://{host}.test/", b"x", version="http/1.1", timings=connecting(time_ms))
    recorded.add("http://x.test/", b"x", version="http/1.1", timings=timings)
    recorded.add("http://a.test/failed", status=0, version="", timings=connecting(1), _error="net::ERR_FAILED")
    found = rtts(recorded)
    assert found.rtts_ms == {"a.test": 10, "b.test": 20, "c.test": 90, "x.test": 20}
    assert found.assumed == ("x.test",)


def test_what_is_written_goes_before_the_har(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    recorded.add("http://a.test/", b"x", version="http/1.1", timings=connecting(10))
    recorded.add("http://b.test/", b"x", version="http/1.1", timings=connecting(20))
    found = rtts(recorded, "# by hand\n\n  b.test   180.5 \n")
    assert found == RecordedRtts({"a.test": 10, "b.test": 180.5}, ())


def test_a_text_log_knows_none(tmp_path: Path) -> None:
    files = PageFiles(chain_of_hosts(tmp_path, 2), "small")
    recording = read_recording(files.mirror, files.fetchlog)
    with pytest.raises(InputError, match=r"small\.rtts:1: --rtt recorded: .*make_rtts\.py --name small"):
        recorded_rtts(files, recording)
    files.rtts.write_text("www.nytimes.com 35\nhost1.test 80\n")
    assert recorded_rtts(files, recording).rtts_ms == {"www.nytimes.com": 35, "host1.test": 80}
    files.rtts.write_text("www.nytimes.com 35\nhosts1.test 80\n")
    with pytest.raises(InputError, match=r"small\.rtts:2: hosts1\.test is no server of this recording"):
        recorded_rtts(files, recording)


@pytest.mark.parametrize(("line", "problem"), [
    ("a.test", "not an RTT"), ("a.test ten", "not an RTT"), ("a.test 1 2", "not an RTT"), ("a.test -1", "not an RTT"),
    ("a.test nan", "not an RTT"), ("a.test inf", "not an RTT"), ("a.test 1e9", "not an RTT"),
    ("a.test 1_0", "not an RTT"), ("a.test ٤", "not an RTT"), ("b.test 5", "b.test stands in line 1 already")])
def test_a_line_that_is_none(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "my.rtts"
    path.write_text(f"b.test 7\n{line}\n")
    with pytest.raises(InputError, match=rf"my\.rtts:2: {problem}"):
        read_rtts(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "my.rtts").mkdir()
    with pytest.raises(InputError, match="write lines: host rtt_ms"):
        read_rtts(tmp_path / "my.rtts")
