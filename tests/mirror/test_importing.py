"""Recordings of 2013's format are brought into today's once, whole, and answer as before."""

import json
from pathlib import Path

import pytest

from harness.files.pages import PageFiles
from harness.files.text_log import Response
from harness.mirror import importing
from harness.mirror.importing import import_recording
from harness.mirror.recording import Recording, read_recording
from tests.support.har_schema import har_problems
from tests.support.recording import text_recording

RESPONSES = [Response("OK", "text/html", "utf-8", "http://a.test/", None),
             Response("Moved Temporarily", "", "", "http://a.test/go", "/style"),
             Response("OK", "text/css", "", "http://a.test/style", None),
             Response("Not Found", "text/html", "", "http://b.test/gone", None)]
MIRROR = {"a.test/index.html": "page", "a.test/go": "p {}", "c.test/of_no_log.js": "1"}


def read(files: PageFiles) -> Recording:
    return read_recording(files.mirror, files.fetchlog)


def answers(recording: Recording) -> list[tuple[object, ...]]:
    return [(answer.identity, answer.place, answer.page, answer.status, answer.file, answer.headers,
             answer.redirect_url, answer.answer.mime_type) for answer in recording.each]


def broken_off(older: PageFiles, writes: int) -> None:
    """Have the disk full after so many files."""
    left = [*range(writes)]

    def write(path: Path, content: str | bytes) -> None:
        if not left:
            raise OSError(28, "No space left on device", str(path))
        left.pop()
        path.write_text(str(content))

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(importing, "write_atomically", write)
        with pytest.raises(OSError, match="Errno 28"):
            import_recording(older)


@pytest.mark.parametrize("writes", [0, 1])
def test_what_is_brought_in_is_a_recording_like_any_other(tmp_path: Path, writes: int) -> None:
    """Also where it was broken off before: it is begun anew."""
    text_recording(tmp_path, MIRROR, RESPONSES)
    older = PageFiles(tmp_path, "Web")
    before = answers(read(older))
    broken_off(older, writes)
    assert answers(read(older)) == before
    assert "1 page" in import_recording(older)
    archive = json.loads((older.fetchlog / "page.har").read_text())
    assert har_problems(archive) == []
    named = {entry["request"]["url"]: (entry.get("_file"), entry.get("_fileBytes"), len(entry.get("_fileSha256", "")))
             for entry in archive["log"]["entries"]}
    assert named == {"http://a.test/": ("a.test/index.html", 4, 64), "http://a.test/go": (None, None, 0),
                     "http://a.test/style": ("a.test/go", 4, 64), "http://b.test/gone": (None, None, 0)}
    after = read(older)
    assert answers(after) == before
    assert set(after.bodies) == set(MIRROR)
    assert import_recording(older) == "", "once"
