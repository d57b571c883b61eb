import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.files.text_log import Response
from harness.measure.preflight import check_pages
from harness.mirror.importing import complete
from harness.mirror.manifest import Manifest, damage, read_manifest
from harness.mirror.recording import read_recording
from tests.support.recording import MadeRecording, text_recording


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
    assert recording.document("http://a.test") == "http://a.test"
    assert recording.document("http://a.test/#top") == "http://a.test/#top"
    for missing in ("http://loop.test/", "http://lost.test/", "http://a.test/error", "http://odd.test/",
                    "http://no.test/", "nonsense"):
        assert recording.document(missing) is None, missing


def test_what_a_page_of_2013_asked_for_after_its_load_event_is_marked(tmp_path: Path) -> None:
    """As ajc.com in GitHub duvernea/Computer_Networks: 112 of its 338 answers came up to 220 s after that event."""
    text_recording(tmp_path, {"a.test/index.html": ""}, [response("http://a.test/"), response("http://a.test/ad")])
    log = tmp_path / "Web.fetchlog" / "page"
    log.write_text("<stats>\nt:tfo.page_load_timer:\t100\n</stats>\n<transactions>\n1 | 50 | 49 | http://a.test/\n"
                   "200 | 250 | 50 | http://a.test/ad\n</transactions>\n" + log.read_text())
    recorded = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    assert {answer.url: answer.after_load for answer in recorded.transactions("page")} == {
        "http://a.test/": False, "http://a.test/ad": True}


def test_broken_logs_are_reported_and_the_rest_kept(tmp_path: Path) -> None:
    (tmp_path / "Web" / "a.test").mkdir(parents=True)
    (tmp_path / "Web" / "a.test" / "index.html").touch()
    logs = tmp_path / "Web.fetchlog"
    logs.mkdir()
    (logs / "page").write_bytes(b"\xff\xfe crash\n<responses>\nstatus | mime_type | charset | url -> redirect_url\n"
                                b"OK | text/html | utf-8 | http://a.test/ -> nil\nOK | x\n"
                                b"OK | text/html | | not a url -> nil\n")
    recording = read_recording(tmp_path / "Web", logs)
    assert recording.document("http://a.test/")
    assert any("cannot be replayed" in problem and "'not a url'" in problem for problem in recording.problems)


MANIFESTS = [json.loads(line) for line in Path(__file__).with_name("manifests.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", MANIFESTS, ids=lambda case: case["what"])
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


PAGE = "https://one.test/"
IMAGES = [f"https://img.test/{number}.png" for number in range(4)]


def made(directory: Path) -> PageFiles:
    """Write a page with four pictures."""
    mirror = MadeRecording(directory, "Web", har=False)
    for url in (PAGE, *IMAGES):
        mirror.add(url, f"<title>{url}</title>")
    mirror.finish(PAGE)
    files = PageFiles(directory, "Web")
    complete(files.fetchlog, files.mirror, "synthetic", {"seed": 1})
    return files


SAME_SIZE = b"<title>https://img.test/x.png</title>"


@pytest.mark.parametrize(("spoilt", "problem"), [
    ({}, ""),
    ({"1.png": None, "3.png": None}, "2 of 5 bodies of Web/ are missing, first img.test/1.png"),
    ({"0.png": SAME_SIZE[:-1]}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"0.png": SAME_SIZE}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"1.png": "2.png"}, "1 of 5 bodies of Web/ is missing, first img.test/1.png"),
    ({"more.png": b"of no log"}, "")])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, spoilt: dict[str, bytes | str | None], problem: str) -> None:
    """A file that is gone (None), holds something else, or is a link now."""
    files = made(tmp_path)
    for name, content in spoilt.items():
        file = files.mirror / "img.test" / name
        file.unlink(missing_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content:
            file.symlink_to(content)
    assert damage(read_recording(files.mirror, files.fetchlog).bodies, files.mirror) == problem
    if not problem:
        assert check_pages(files).pages
        return
    with pytest.raises(InputError, match=f"^{problem}; record it again: "):
        check_pages(files)
