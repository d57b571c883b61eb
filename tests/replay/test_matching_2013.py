"""Which recorded answer a request gets from a recording of 2013: text logs without methods, headers and order."""

from pathlib import Path

import pytest

from harness.files.text_log import Response
from harness.mirror.asked import Asked
from harness.replay.match import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.written import HOST, text_recording


def ok(url: str, to: str | None = None, mime: str = "text/html") -> Response:
    return Response("Found" if to else "OK", mime, "", url, to)


def test_2013_a_recorded_answer_without_its_body_is_not_found_and_is_named(tmp_path: Path) -> None:
    recording = text_recording(tmp_path, {"a.test/index.html": ""}, [ok("http://a.test/i.gif", mime="image/gif")])
    answer = Site(recording, HOST).answer("/i.gif")
    assert (answer.status, answer.file, answer.found) == (404, None, "missing")
    assert recording.without_body() == ["http://a.test/i.gif"]


@pytest.mark.parametrize(("asked", "allowed"), [
    ({}, {"access-control-allow-origin": "*"}),
    ({"origin": "http://b.test"}, {"access-control-allow-origin": "http://b.test",
                                   "access-control-allow-credentials": "true"})])
@pytest.mark.parametrize("target", ["/i.gif", "/old", "/not-recorded"])
def test_2013_every_origin_may_read_everything_also_with_its_cookies(
        tmp_path: Path, target: str, asked: dict[str, str], allowed: dict[str, str]) -> None:
    """As Twitter's buttons ask for their settings: "*" does not allow that, and the script got nothing."""
    recording = text_recording(tmp_path, {"a.test/index.html": ""}, [
        ok("http://a.test/i.gif", mime="image/gif"), ok("http://a.test/old", "http://a.test/")])
    with reply_to(Site(recording, HOST), {}, Request("GET", target, Asked(asked))) as reply:
        assert {name: value for name, value in reply.headers if name.startswith("access-control-")} == allowed


def test_files_that_no_log_has_have_identities_of_their_own(tmp_path: Path) -> None:
    recording = text_recording(tmp_path, {"a.test/i-1466453065.js": "", "a.test/i-1466453066.js": "", "a.test/p?x": "",
                                          "a.test/p": ""}, [ok("http://a.test/p")])
    site = Site(recording, HOST)
    answers = [site.answer(path) for path in ("/i-1466453065.js", "/i-1466453066.js", "/p?x", "/p")]
    assert [answer.found for answer in answers] == ["plain"] * 4
    assert len({answer.identity for answer in answers}) == 4
