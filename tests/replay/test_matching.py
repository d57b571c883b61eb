"""What a recording expects of a load, and tells apart; which answer a request gets: tests/corpus/replay."""

from pathlib import Path

import pytest

from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.measure.coverage import recorded_page
from harness.mirror.asked import Asked
from harness.replay.body import Bodies
from harness.replay.match import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.written import HOST, Written, body

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"}
FETCH = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"}


def test_a_browser_that_knew_to_ask_over_https_did_so_by_itself(written: Written) -> None:
    """HSTS: no server saw that redirect, so loads begin behind it."""
    internal = [("Non-Authoritative-Reason", "HSTS")]
    for host, headers in (("known", internal), ("asked", []), ("both", internal), ("both", [])):
        written.add("/", to=f"https://{host}.test/", host=f"{host}.test", headers=headers)
    for entry in written.pages["page"]:
        entry["request"]["url"] = entry["request"]["url"].replace("https", "http")
    recording = written.read()
    assert recording.asked_as("http://known.test/#x") == "https://known.test/#x"
    assert recording.asked_as("http://known.test") == "https://known.test"
    for url in ("http://asked.test/", "http://both.test/", "http://other.test/"):
        assert recording.asked_as(url) == url
    held = recorded_page(recording, written.directory / "Web", "page").sizes
    assert len(held) == 2, "what asked.test and both.test sent"


def test_what_a_load_does_not_ask_for_is_not_expected_of_it(written: Written) -> None:
    """Redirects, too: those of pictures further down, say, that only the recorder scrolled to."""
    written.add("/", "the question", asked=NAVIGATION, _beforeDocument=True)
    written.add("/question.js", "ask()", _beforeDocument=True)
    written.add("/", "the page", asked=NAVIGATION)
    written.add("/far-down", to="https://a.test/far-down.png", _afterLoad=True)
    written.add("/far-down.png", "it", _afterLoad=True)
    held = recorded_page(written.read(), written.directory / "Web", "page")
    assert [*held.sizes.values()] == [len("the page")]


def test_each_preflight_is_an_answer_of_its_own(written: Written, tmp_path: Path) -> None:
    """Always the last one was sent, another origin's or page's perhaps, and a load was said to lack the others."""
    for page in ("one", "two"):
        for origin in ("https://b.test", "https://b.test", "https://c.test"):
            written.add("/api", status=204, method="OPTIONS", page=page, asked={"origin": origin},
                        headers=[("Access-Control-Allow-Origin", origin)])
    recording = written.read()
    make_mark(tmp_path / "mark")
    site = Site(recording, HOST, "https", LoadMark(tmp_path / "mark"))
    for page in ("one", "two"):
        mark_load(tmp_path / "mark", page)
        asked = [Request("OPTIONS", "/api", Asked({"origin": origin})) for origin in (
            "https://c.test", "https://b.test", "https://b.test")]
        replies = [reply_to(site, Bodies({}), request) for request in asked]
        assert [dict(reply.headers)["access-control-allow-origin"] for reply in replies] == [
            request.asked.headers["origin"] for request in asked]
        held = recorded_page(recording, written.directory / "Web", page)
        assert {reply.answer for reply in replies} == held.sizes.keys() | held.alike.keys()
        assert len(held.sizes) == 2, "how often Chrome asks the same is chance"


def test_a_page_that_posts_a_form_to_itself_may_end_with_its_answer(written: Written) -> None:
    written.add("/", "are you a robot?", asked=NAVIGATION)
    written.add("/", "the page", method="POST", asked=NAVIGATION, post="no=1")
    written.add("/", "{}", method="POST", asked=FETCH, post="what a script says")
    recording = written.read()
    answers = recording.document_answers("https://a.test/")
    assert [body(written, answer) for answer in answers] == ["are you a robot?", "the page"]


@pytest.mark.parametrize("length", ["12345", "x", ""])
def test_head_is_told_how_large_it_was(written: Written, length: str) -> None:
    """Pages ask so before they ask for parts."""
    written.add("/map", method="HEAD", headers=[("Content-Length", length)] if length else [])
    reply = reply_to(written.site(), Bodies({}), Request("HEAD", "/map", Asked()))
    assert (reply.size, dict(reply.headers)) == (None, {"content-length": "12345"} if length == "12345" else {})
