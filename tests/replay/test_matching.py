"""What a recording expects of a load, and tells apart; which answer a request gets: tests/corpus/replay."""

import pytest

from harness.measure.coverage import recorded_page
from harness.mirror.asked import Asked
from harness.replay.body import Bodies
from harness.replay.match import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.recording import HOST, MadeRecording

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"}
FETCH = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"}


def test_a_browser_that_knew_to_ask_over_https_did_so_by_itself(written: MadeRecording) -> None:
    """HSTS: no server saw that redirect, so loads begin behind it."""
    internal = [("Non-Authoritative-Reason", "HSTS")]
    for host, headers in (("known", internal), ("asked", []), ("both", internal), ("both", [])):
        written.add(f"http://{host}.test/", to=f"https://{host}.test/", headers=headers)
    recording = written.read()
    assert recording.asked_as("http://known.test/#x") == "https://known.test/#x"
    assert recording.asked_as("http://known.test") == "https://known.test"
    for url in ("http://asked.test/", "http://both.test/", "http://other.test/"):
        assert recording.asked_as(url) == url
    held = recorded_page(recording, written.mirror, "page").sizes
    assert len(held) == 2, "what asked.test and both.test sent"


def test_what_a_load_does_not_ask_for_is_not_expected_of_it(written: MadeRecording) -> None:
    """Redirects, too: those of pictures further down, say, that only the recorder scrolled to."""
    written.add("/", "the question", asked=NAVIGATION, _beforeDocument=True)
    written.add("/question.js", "ask()", _beforeDocument=True)
    written.add("/", "the page", asked=NAVIGATION)
    written.add("/far-down", to="https://a.test/far-down.png", _afterLoad=True)
    written.add("/far-down.png", "it", _afterLoad=True)
    held = recorded_page(written.read(), written.mirror, "page")
    assert [*held.sizes.values()] == [len("the page")]


def test_a_page_that_posts_a_form_to_itself_may_end_with_its_answer(written: MadeRecording) -> None:
    written.add("/", "are you a robot?", asked=NAVIGATION)
    written.add("/", "the page", method="POST", asked=NAVIGATION, post="no=1")
    written.add("/", "{}", method="POST", asked=FETCH, post="what a script says")
    recording = written.read()
    answers = recording.documents("https://a.test/")[1]
    said = [(written.mirror / (answer.file or "")).read_text() for answer in answers]
    assert said == ["are you a robot?", "the page"]


@pytest.mark.parametrize("length", ["12345", "x", ""])
def test_head_is_told_how_large_it_was(written: MadeRecording, length: str) -> None:
    """Pages ask so before they ask for parts."""
    written.add("/map", method="HEAD", headers=[("Content-Length", length)] if length else [])
    reply = reply_to(Site(written.read(), HOST, "https"), Bodies({}), Request("HEAD", "/map", Asked()))
    assert (reply.body, dict(reply.headers)) == (None, {"content-length": "12345"} if length == "12345" else {})
