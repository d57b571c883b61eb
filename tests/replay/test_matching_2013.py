"""Which recorded answer a request gets from a recording of 2013: text logs without methods, headers and order."""

from pathlib import Path

import pytest

from harness.files.text_log import Response
from harness.mirror.asked import Asked
from harness.replay.body import Bodies
from harness.replay.match import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.written import HOST, text_recording


def ok(url: str, to: str | None = None, mime: str = "text/html") -> Response:
    return Response("Found" if to else "OK", mime, "", url, to)


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
    reply = reply_to(Site(recording, HOST), Bodies({}), Request("GET", target, Asked(asked)))
    assert {name: value for name, value in reply.headers if name.startswith("access-control-")} == allowed
