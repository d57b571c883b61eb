"""How far away the recorded servers were: by the recording's HARs, and by NAME.rtts, which goes before them.

`rtts.jsonl` has a recording a line: URLs with what is told of their connections, what is `written` in NAME.rtts, the
RTT to each server, and which of these are `assumed`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.mirror.recording import read_recording
from harness.mirror.rtts import RecordedRtts, read_rtts, recorded_rtts
from tests.support.https_recording import HttpsRecording
from tests.support.small_mirror import chain_of_hosts

RECORDINGS = [json.loads(line) for line in Path(__file__).with_name("rtts.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", RECORDINGS, ids=lambda case: case["what"])
def test_how_far_away_servers_were(case: dict[str, Any], tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    for url, known in case["recorded"]:
        recorded.add(url, None if known.get("status") == 0 else b"x", **known)
    files = PageFiles(recorded.finish(recorded.urls[0]), recorded.name)
    if "written" in case:
        files.rtts.write_text(case["written"])
    found = recorded_rtts(files, read_recording(files.mirror, files.fetchlog))
    assert found == RecordedRtts(case["rtts_ms"], tuple(case.get("assumed", ())))
    assert found.median_ms == case["median_ms"]


def test_a_text_log_knows_none(tmp_path: Path) -> None:
    files = PageFiles(chain_of_hosts(tmp_path, 2), "small")
    recording = read_recording(files.mirror, files.fetchlog)
    with pytest.raises(InputError, match=r"small\.rtts:1: --rtt recorded: "):
        recorded_rtts(files, recording)
    files.rtts.write_text("www.nytimes.com 35\nhost1.test 80\n")
    assert recorded_rtts(files, recording).rtts_ms == {"www.nytimes.com": 35, "host1.test": 80}
    files.rtts.write_text("www.nytimes.com 35\nhosts1.test 80\n")
    with pytest.raises(InputError, match=r"small\.rtts:2: hosts1\.test "):
        recorded_rtts(files, recording)


@pytest.mark.parametrize("line", [
    "a.test", "a.test ten", "a.test 1 2", "a.test -1", "a.test nan", "a.test inf", "a.test 1e9", "a.test 1_0",
    "a.test ٤", "b.test 5"])
def test_a_line_that_is_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "my.rtts"
    path.write_text(f"b.test 7\n{line}\n")
    with pytest.raises(InputError, match=r"my\.rtts:2: "):
        read_rtts(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "my.rtts").mkdir()
    with pytest.raises(InputError, match=r"my\.rtts:1: "):
        read_rtts(tmp_path / "my.rtts")
