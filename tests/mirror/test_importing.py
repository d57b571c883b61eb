"""Recordings of 2013's format are brought into today's once, whole, and answer as before; so does a program's own."""

import json
from pathlib import Path

import pytest

from harness.files.pages import PageFiles
from harness.files.text_log import Response
from harness.measure.preflight import check_pages
from harness.mirror import importing
from harness.mirror.importing import MadeResource, import_recording, write_small_recording
from harness.mirror.recording import Recording, read_recording
from tests.support.har_schema import har_problems
from tests.support.recording import text_recording

RESPONSES = [Response("OK", "text/html", "utf-8", "http://a.test/", None),
             Response("Moved Temporarily", "", "", "http://a.test/go", "/style"),
             Response("OK", "text/css", "", "http://a.test/style", None),
             Response("Not Found", "text/html", "", "http://b.test/gone", None)]
MIRROR = {"a.test/index.html": "page", "a.test/go": "p {}", "c.test/of_no_log.js": "1"}


@pytest.fixture
def older(tmp_path: Path) -> PageFiles:
    """A recording as the scraper of 2013 left it."""
    text_recording(tmp_path, MIRROR, RESPONSES)
    return PageFiles(tmp_path, "Web")


def read(files: PageFiles) -> Recording:
    return read_recording(files.mirror, files.fetchlog)


def answers(recording: Recording) -> list[tuple[object, ...]]:
    return [(answer.identity, answer.place, answer.page, answer.status, answer.file, answer.headers,
             answer.redirect_url, answer.answer.mime_type) for answer in recording.each]


def test_what_is_brought_in_is_a_recording_like_any_other(older: PageFiles) -> None:
    before = read(older)
    assert "1 page" in import_recording(older)
    archive = json.loads((older.fetchlog / "page.har").read_text())
    assert har_problems(archive) == []
    named = {entry["request"]["url"]: (entry.get("_file"), entry.get("_fileBytes"), len(entry.get("_fileSha256", "")))
             for entry in archive["log"]["entries"]}
    assert named == {"http://a.test/": ("a.test/index.html", 4, 64), "http://a.test/go": (None, None, 0),
                     "http://a.test/style": ("a.test/go", 4, 64), "http://b.test/gone": (None, None, 0)}
    after = read(older)
    assert answers(after) == answers(before)
    assert set(after.bodies) == set(MIRROR)
    assert import_recording(older) == "", "once"


@pytest.mark.parametrize("writes", [0, 1])
def test_what_was_broken_off_is_begun_anew(older: PageFiles, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    left = [writes]

    def write(path: Path, content: str | bytes) -> None:
        if not left[0]:
            raise OSError(28, "No space left on device", str(path))
        left[0] -= 1
        path.write_text(str(content))

    before = answers(read(older))
    with monkeypatch.context() as broken:
        broken.setattr(importing, "write_atomically", write)
        with pytest.raises(OSError, match="Errno 28"):
            import_recording(older)
    assert answers(read(older)) == before
    assert import_recording(older)
    assert answers(read(older)) == before


PAGE, SCRIPT = "http://www.one.test/", "http://cdn.test/a/s.js?v=1"


def test_what_a_program_made_is_read_as_a_recording(tmp_path: Path) -> None:
    files = PageFiles(tmp_path, "one")
    write_small_recording(files, {PAGE: MadeResource("text/html", b"<p>\xc3\xa4"),
                                  SCRIPT: MadeResource("text/javascript", b"1")}, "by hand")
    assert [page.url for page in check_pages(files).pages] == [PAGE]
    recording = read(files)
    assert recording.hosts() == ["cdn.test", "www.one.test"]
    assert [recording.exact_url(url)[0].answer.mime_type for url in (PAGE, SCRIPT)] == [
        "text/html; charset=utf-8", "text/javascript; charset=utf-8"]
    assert (recording.manifest.source, recording.manifest.note, recording.manifest.bodies) == ("made", "by hand", {})
    assert (files.mirror / "cdn.test/a/s.js?v=1").read_bytes() == b"1"
