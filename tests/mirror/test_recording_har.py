"""What a HAR beside a page's log says counts: headers, statuses, schemes, bodies; the text log then does not.

Anybody may have written it: what makes no sense is left out, every number is bounded, and no header leads away from the
replay.

What hangs, and what was asked for after a message: tests/corpus/texts.jsonl. What is sent of single headers:
tests/corpus/functions.json.
"""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.files.exchange import Answer, Exchange, Request
from harness.files.har import log_of
from harness.files.har_entry import from_har
from harness.mirror.answers import as_sent
from harness.mirror.exchanges import PageExchanges, read_page
from harness.mirror.headers import TOKEN, replayed
from harness.mirror.live import read_live
from harness.mirror.recording import Recording, read_recording
from harness.mirror.transactions import recorded_of, sequences
from harness.replay.match import Request as Asking
from harness.replay.site import Site
from tests.support.growth import assert_linear
from tests.support.noted import each_case


def test_many_answers_to_one_url_are_read_one_by_one() -> None:
    """They were compared, each with all others: 4000 took 15 s."""
    def read_many(size: int) -> None:
        exchanges = [Exchange(request=Request("GET", "http://a.test/"), answer=Answer(200, content_bytes=number))
                     for number in range(size)]
        sequences(recorded_of(PageExchanges("page", exchanges)))

    assert_linear(read_many, 500)


@each_case("mirror/as_sent.jsonl")
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
    har.write_text("{}")
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


@each_case("mirror/messages.jsonl")
def test_the_messages_of_a_websocket(case: dict[str, Any]) -> None:
    """`messages.jsonl` has a WebSocket a line: what was `said` over it, and the messages that a replay sends: the pause
    before each in ms, opcode, data.
    """
    opened = {"startedDateTime": "2026-09-21T14:13:20.000+00:00", "time": case.get("time", 100),
              "request": {"url": "wss://a.test/x"}, "response": {"status": 101, "headers": []},
              "_webSocketMessages": case["said"]}
    found = log_of({"entries": [opened]}, problems=[]).exchanges
    assert [[round(message.after_ms), message.opcode, message.data.decode()]
            for connection in read_live(found, case.get("load_event_s", inf))
            for message in connection.messages] == case["gives"]


NEVER = ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
         "transfer-encoding", "upgrade", "content-length", "content-range", "strict-transport-security", "alt-svc",
         "expires", "nel", "report-to", "reporting-endpoints", "use-as-dictionary", "speculation-rules",
         "sec-session-registration", "attribution-reporting-register-source")
SENT = ("content-type", "Content-Encoding", "Cache-Control", "Location", "Vary", "Link", "Set-Cookie", "Date",
        "Last-Modified", "Pragma", "Content-Security-Policy", "HX-Trigger")
DATE = "Sat, 21 Nov 2026 09:00:00 GMT"
headers = st.lists(st.tuples(st.sampled_from(NEVER + SENT) | st.text(max_size=8),
                             st.text(st.characters(), max_size=30) | st.just(DATE)), max_size=12)


@given(headers, st.booleans())
def test_no_header_breaks_a_response_or_leads_away(recorded: list[tuple[str, str]], body: bool) -> None:
    """A replay that is recorded and replayed again sends the same."""
    sent = replayed(recorded, body=body)
    for name, value in sent:
        assert TOKEN.fullmatch(name)
        assert name == name.lower()
        assert name not in NEVER
        assert body or name not in ("content-type", "content-encoding")
        value.encode("latin-1")
        assert not set(value) & set("\r\n\0")
        assert value == value.strip(" \t")
    as_text = [(name, value.encode("latin-1").decode("utf-8", "surrogateescape")) for name, value in sent]
    assert replayed(as_text, body=body) == sent
