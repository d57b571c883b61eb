"""What a HAR beside a page's log says counts: headers, statuses, schemes, bodies; the text log then does not.

What hangs, and what was asked for after a message: tests/corpus/texts.jsonl.
"""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.files.exchange import Answer, Exchange, Request
from harness.files.har_entry import from_har
from harness.mirror.answers import as_sent
from harness.mirror.exchanges import PageExchanges, read_page
from harness.mirror.recording import Recording, read_recording
from harness.mirror.transactions import recorded_of, sequences
from harness.replay.match import Request as Asking
from harness.replay.site import Site
from tests.support.growth import LINEAR, growth
from tests.support.noted import cases


def test_many_answers_to_one_url_are_read_one_by_one() -> None:
    """They were compared, each with all others: 4000 took 15 s."""
    def read_many(size: int) -> None:
        exchanges = [Exchange(request=Request("GET", "http://a.test/"), answer=Answer(200, content_bytes=number))
                     for number in range(size)]
        sequences(recorded_of(PageExchanges("page", exchanges)))

    assert growth(read_many, 500) < LINEAR


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("as_sent.jsonl")), ids=lambda case: case["what"])
def test_status_and_headers_are_those_of_the_har(case: dict[str, Any]) -> None:
    answer = as_sent(from_har(case["entry"]), inf)
    assert {"status": answer.status, "file": answer.body and answer.body.file, "size": answer.content_bytes,
            "headers": [list(pair) for pair in answer.headers or ()]} == case["sent"]


URLS = ("data:,x", "blob:https://a.test/1", "wss://a.test/", "https://a.test:8443/", "http://a.test:80/", "https://[")


def test_other_schemes_and_ports_are_left_out_and_no_har_is_reported(tmp_path: Path) -> None:
    har, problems = tmp_path / "x.har", list[str]()
    har.write_text(json.dumps({"log": {"entries": [{"request": {"url": url}} for url in URLS]}}))
    page = read_page(har, problems)
    assert page is not None
    assert [exchange.request.url for exchange in page.exchanges] == ["http://a.test:80/"]
    assert [problem.rpartition(": ")[2] for problem in problems] == ["'https://a.test:8443/'", "'https://['"]
    for content in ("", "{}", "[]", '{"log": {"entries": 7}}', "\x00"):
        har.write_text(content)
        assert read_page(har, problems) is None
        assert problems[-1].startswith(f"{har}:")


RANGE = [{"name": "Content-Range", "value": "bytes 5-4/3"}, {"name": "a\nb", "value": "*"}]
STRANGE: list[Any] = [None, True, 0.5, 204, 206, 304, 600, "/", "//[", "https://b.test:443/", "javascript:1", RANGE, {}]
ODD = st.sampled_from(STRANGE) | st.integers(-10**17, 10**17) | st.text(max_size=20) | st.lists(st.text(), max_size=2)
FIELDS = ("method", "url", "headers", "postData", "status", "redirectURL", "content", "_earlyHints", "httpVersion",
          "_file", "_partial", "startedDateTime", "timings")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=3), max_size=4))
def test_whatever_a_har_says_it_is_read_and_answers_are_final(tmp_path: Path, found: list[dict[str, Any]]) -> None:
    mirror, logs = tmp_path / "Web", tmp_path / "Web.fetchlog"
    (mirror / "a.test").mkdir(parents=True, exist_ok=True)
    logs.mkdir(exist_ok=True)
    (logs / "page").touch()
    whole = {"url": "https://a.test/", "status": 200}
    entries = [{"request": whole | odd, "response": whole | odd, **odd} for odd in found]
    (logs / "page.har").write_text(json.dumps({"log": {"entries": entries}}))
    recording = read_recording(mirror, logs)
    for host in recording.hosts():
        for scheme in recording.schemes(host):
            site = Site(recording, host, scheme)
            for method, path in 2 * [("GET", "/"), ("POST", "/x?z")]:
                assert 200 <= site.answer(Asking(method, path)).status <= 599


@pytest.mark.parametrize(("failed", "known"), [(1, {("https", "gone.test")}), (2, None), (90, None)])
def test_hosts_that_never_answered_are_known_unless_that_made_the_page_hollow(failed: int, known: object) -> None:
    asked = [Exchange(page="x", request=Request("GET", f"https://gone.test/{number}")) for number in range(failed)]
    asked += [Exchange(page="x", request=Request("GET", f"https://a.test/{number}"), answer=Answer(200))
              for number in range(9)]
    recording = Recording([PageExchanges("x", asked)])
    assert recording.silent.get("x") == known
    assert recording.hosts() == ["a.test"]
