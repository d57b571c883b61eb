import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.text_log import Response
from harness.mirror.manifest import Manifest, read_manifest
from harness.mirror.recording import read_recording
from tests.support.written import text_recording


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
    recorded = text_recording(tmp_path, {"a.test/index.html": ""}, [response("http://a.test/"), response("http://a.test/ad")])
    assert not any(answer.after_load for answer in recorded.transactions("page"))
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
        assert found == Manifest(**{name: case[name] for name in ("source", "note", "user_agents") if name in case})
    assert len(problems) == case.get("problems", 0)
    assert read_manifest(tmp_path / "none", problems) == Manifest()
