"""A recording that a program made is one, as the replay and tfo.py read it."""

from pathlib import Path

from harness.files.pages import PageFiles
from harness.measure.preflight import check_pages
from harness.mirror.manifest import Manifest
from harness.mirror.recording import read_recording
from harness.mirror.small import MadeResource, write_small_recording

PAGE, SCRIPT = "http://www.one.test/", "http://cdn.test/a/s.js?v=1"


def test_it_is_read_as_a_recording(tmp_path: Path) -> None:
    files = PageFiles(tmp_path, "one")
    write_small_recording(files, {PAGE: MadeResource("text/html", b"<p>\xc3\xa4"),
                                  SCRIPT: MadeResource("text/javascript", b"1")}, "by hand")
    page_set = check_pages(files)
    assert [page.url for page in page_set.pages] == [PAGE]
    assert sorted(page_set.hosts) == ["cdn.test", "www.one.test"]
    recording = read_recording(files.mirror, files.fetchlog)
    assert [recording.exact_url(url)[0].answer.mime_type for url in (PAGE, SCRIPT)] == [
        "text/html; charset=utf-8", "text/javascript; charset=utf-8"]
    assert recording.manifest == Manifest("made", note="by hand")
    assert len(recording.bodies) == 2
    assert (files.mirror / "cdn.test/a/s.js?v=1").read_bytes() == b"1"
