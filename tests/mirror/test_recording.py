"""Recordings from disk: their documents, what is wrong with logs and manifests, and bodies that are not as recorded."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.files.text_log import Response
from harness.measure.preflight import check_pages
from harness.mirror.importing import MadeResource, write_small_recording
from harness.mirror.manifest import Manifest, read_manifest
from harness.mirror.recording import read_recording
from tests.support.noted import cases
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


def test_a_log_of_2013_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    """What was asked for after its load event is marked, as on ajc.com in GitHub duvernea/Computer_Networks: 112 of its
    338 answers came up to 220 s after that event.
    """
    text_recording(tmp_path, {"a.test/index.html": ""}, [])
    (tmp_path / "Web.fetchlog" / "page").write_bytes(
        b"\xff\xfe crash\n<stats>\nt:tfo.page_load_timer:\t100\n</stats>\n<transactions>\n"
        b"1 | 50 | 49 | http://a.test/\n200 | 250 | 50 | http://a.test/ad\n</transactions>\n<responses>\n"
        b"status | mime_type | charset | url -> redirect_url\nOK | text/html | utf-8 | http://a.test/ -> nil\nOK | x\n"
        b"OK | | | http://a.test/ad -> nil\nOK | text/html | | not a url -> nil\n")
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    assert {answer.url: answer.after_load for answer in recording.transactions("page")} == {
        "http://a.test/": False, "http://a.test/ad": True}
    assert any("cannot be replayed" in problem and "'not a url'" in problem for problem in recording.problems)


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("manifests.jsonl")), ids=lambda case: case["what"])
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
    ({"1.png": "2.png"}, "1 of 5 bodies of Web/ is missing, first img.test/1.png")])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, spoilt: dict[str, bytes | str | None], problem: str) -> None:
    """A file that is gone (None), holds something else, or is a link now."""
    files = PageFiles(tmp_path, "Web")
    write_small_recording(files, {url: MadeResource("text/html", b"nine bits") for url in URLS})
    for name, content in spoilt.items():
        file = files.mirror / "img.test" / name
        file.unlink(missing_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content:
            file.symlink_to(content)
    with pytest.raises(InputError, match=f"^{problem}; record it again: ") if problem else nullcontext():
        recording = check_pages(files).recording
        assert {answer.answer.mime_type for answer in recording.each if answer.page} == {"text/html; charset=utf-8"}
        assert recording.manifest.source == "made"
