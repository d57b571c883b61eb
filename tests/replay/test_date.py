"""What was recorded with a Date is sent with the date of now, by Chrome's clock: then it is as old as it was."""

import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import pytest

from harness.browser.program import CLOCK_SHIFT_DAYS
from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Secure, serving

DATE = ("Date", "Sat, 21 Nov 2026 09:00:00 GMT")
FILM = (DATE, ("Last-Modified", "Fri, 20 Nov 2026 09:00:00 GMT"), ("Accept-Ranges", "bytes"),
        ("Content-Type", "video/mp4"), ("Age", "7"))
SECONDS = 60


@pytest.fixture(scope="module", params=["1.0", "1.1"])
def dated(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Secure]:
    recorded = HttpsRecording(tmp_path_factory.mktemp("dated"))
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        recorded.add(f"{scheme}://{HOST}/film", b"film", FILM, version=version)
        recorded.add(f"{scheme}://{HOST}/go", status=302, headers=(DATE, ("Location", "/film")), version=version)
        recorded.add(f"{scheme}://{HOST}/timeless", b"timeless", FILM[1:], version=version)
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/film"), "--http", request.param, tls_port=port) as server:
        yield Secure(server, port, recorded.directory)


@pytest.mark.parametrize("how", ["http", "--http1.1", "--http2"])
@pytest.mark.parametrize(("path", "status", "asked"), [
    ("/film", 200, "x: y"), ("/film", 206, "Range: bytes=1-"), ("/go", 302, "x: y"), ("/timeless", 200, "x: y"),
    ("/film", 304, f"If-Modified-Since: {FILM[1][1]}"), ("/nothing", 404, "x: y")])
def test_the_date_of_an_answer(dated: Secure, how: str, path: str, status: int, asked: str) -> None:
    if how == "http":
        response, _ = dated.server.get(path, headers=dict([asked.split(": ", 1)]))
        found, dates, age = response.status, [response.getheader("Date")], response.getheader("Age")
    else:
        head = dated.curl(path, how, "-i", "-H", asked).decode()
        found, age = int(head.split()[1]), (re.findall(r"(?im)^age: (.*)\r", head) or [None])[0]
        dates = re.findall(r"(?im)^date: (.*)\r", head) or [None]
    assert (found, age) == (status, "7" if path in ("/film", "/timeless") else None)
    assert [date is not None for date in dates] == [path in ("/film", "/go")]
    if dates[0] is not None:
        ahead_s = parsedate_to_datetime(dates[0]).timestamp() - time.time() - CLOCK_SHIFT_DAYS * 86_400
        assert -SECONDS < ahead_s <= 1
