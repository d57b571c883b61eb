"""Recordings from disk: their documents, what is wrong with logs and manifests, and bodies that are not as recorded.

Those of 2013's format are brought into today's once, whole, and answer as before.
"""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.files.text_log import Response
from harness.measure.preflight import check_pages
from harness.mirror import importing
from harness.mirror.importing import MadeResource, import_recording, write_small_recording
from harness.mirror.manifest import Manifest, read_manifest
from harness.mirror.recording import Recording, read_recording
from tests.support.har_schema import assert_har
from tests.support.noted import each_case
from tests.support.recording import text_recording


def response(url: str, redirect: str | None = None, status: str = "OK") -> Response:
    return Response(status, "text/html", "utf-8", url, redirect)


def test_documents_are_followed_through_redirects(tmp_path: Path) -> None:
    recording = text_recording(tmp_path, {"a.test/index.html": "", "a.test/error": ""}, [
        response("http://a.test/"), response("http://c.test/", "http://b.test/", "Found"),
        response("http://b.test/", "http://a.test/", "Found"),
        response("http://loop.test/", "http://loop.test/2", "Found"),
        response("http://loop.test/2", "http://loop.test/", "Found"), response("http://lost.test/"),
        response("http://a.test/error", None, "Not Found"), response("http://odd.test/", "nonsense", "Found")])
    assert recording.document("http://c.test/") == "http://a.test/"
    for same in ("http://a.test", "http://a.test/#top"):
        assert recording.document(same) == same
    for missing in ("http://loop.test/", "http://lost.test/", "http://a.test/error", "http://odd.test/",
                    "http://no.test/", "nonsense"):
        assert recording.document(missing) is None, missing


MIRROR = {"a.test/index.html": "page", "a.test/go": "p {}", "c.test/of_no_log.js": "1"}
LOG_OF_2013 = b"""\xff\xfe crash
<stats>
t:tfo.page_load_timer:\t100
</stats>
<transactions>
1 | 50 | 49 | http://a.test/
200 | 250 | 50 | http://b.test/gone
</transactions>
<responses>
status | mime_type | charset | url -> redirect_url
OK | text/html | utf-8 | http://a.test/ -> nil
OK | x
Moved Temporarily |  |  | http://a.test/go -> /style
OK | text/css | | http://a.test/style -> nil
Not Found | text/html | | http://b.test/gone -> nil
OK | text/html | | not a url -> nil
"""


def answers(recording: Recording) -> list[tuple[object, ...]]:
    return [(answer.identity, answer.place, answer.page, answer.status, answer.file, answer.headers, answer.after_load,
             answer.redirect_url, answer.answer.mime_type) for answer in recording.each]


@pytest.mark.parametrize("writes", [0, 1])
def test_what_is_brought_in_is_a_recording_like_any_other(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """What was asked for after its load event is marked, as on ajc.com in GitHub duvernea/Computer_Networks: 112 of its
    338 answers came up to 220 s after that event. Where the disk was full after so many files, it is begun anew.
    """
    text_recording(tmp_path, MIRROR, [])
    for name in (b"\xe9.js", b"empty.woff"):       # no replay serves them
        (tmp_path / "Web" / "a.test" / os.fsdecode(name)).touch()
    files, left = PageFiles(tmp_path, "Web"), [*range(writes)]
    (files.fetchlog / "page").write_bytes(LOG_OF_2013)

    def write(path: Path, content: str) -> None:
        if not left:
            raise OSError(28, "No space left on device", str(path))
        left.pop()
        path.write_text(content)

    before = read_recording(files.mirror, files.fetchlog)
    assert {answer.url: answer.after_load for answer in before.transactions("page")} == {
        "http://a.test/": False, "http://a.test/go": False, "http://a.test/style": False, "http://b.test/gone": True}
    assert any("cannot be replayed" in problem and "'not a url'" in problem for problem in before.problems)
    with monkeypatch.context() as broken:
        broken.setattr(importing, "write_atomically", write)
        with pytest.raises(OSError, match="Errno 28"):
            import_recording(files)
    assert answers(read_recording(files.mirror, files.fetchlog)) == answers(before)
    assert "1 page" in import_recording(files)
    named = {entry["request"]["url"]: (entry.get("_file"), entry.get("_fileBytes"), len(entry.get("_fileSha256", "")))
             for entry in assert_har(files.fetchlog / "page.har")["entries"]}
    assert named == {"http://a.test/": ("a.test/index.html", 4, 64), "http://a.test/go": (None, None, 0),
                     "http://a.test/style": ("a.test/go", 4, 64), "http://b.test/gone": (None, None, 0)}
    after = read_recording(files.mirror, files.fetchlog)
    assert answers(after) == answers(before)
    assert set(after.bodies) == set(MIRROR)
    assert import_recording(files) == "", "once"


@each_case("mirror/manifests.jsonl")
def test_manifest(case: dict[str, Any], tmp_path: Path) -> None:
    """`manifests.jsonl`: the content of a manifest, and what differs from that of a recording without one."""
    problems: list[str] = []
    (tmp_path / "manifest.json").write_bytes(case["content"].encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) if case.get("refused") else nullcontext():
        found = read_manifest(tmp_path, problems)
        assert (found.source, found.note, found.user_agents) == (
            case.get("source", "recorded"), case.get("note", ""), case.get("user_agents", {}))
    assert len(problems) == case.get("problems", 0)
    assert read_manifest(tmp_path / "none", problems) == Manifest()


URLS = ["http://one.test/", *(f"http://img.test/{number}.png" for number in range(4))]


@pytest.mark.parametrize(("spoilt", "problem"), [
    ({}, ""), ({"more.png": b"of no log"}, ""),
    ({"1.png": None, "3.png": None}, "2 of 5 bodies of Web/ are missing, first img.test/1.png"),
    ({"0.png": b"shorter"}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"0.png": b"same size"}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"0.png": 15 * 10**12}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"1.png": "2.png"}, "1 of 5 bodies of Web/ is missing, first img.test/1.png")])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, spoilt: dict[str, bytes | str | int | None], problem: str) -> None:
    """A file that is gone (None), holds something else, is 15 TB large, or is a link now."""
    files = PageFiles(tmp_path, "Web")
    write_small_recording(files, {url: MadeResource("text/html", b"nine bits") for url in URLS})
    for name, content in spoilt.items():
        file = files.mirror / "img.test" / name
        file.unlink(missing_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif isinstance(content, int):
            file.touch()
            os.truncate(file, content)
        elif content:
            file.symlink_to(content)
    with pytest.raises(InputError, match=f"^{problem}; record it again: ") if problem else nullcontext():
        recording = check_pages(files).recording
        assert {answer.answer.mime_type for answer in recording.each if answer.page} == {"text/html; charset=utf-8"}
        assert recording.manifest.source == "made"
