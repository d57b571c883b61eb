"""Where a page begins and ends; which answer a request gets: tests/corpus/replay, what is expected: held.jsonl."""

from pathlib import Path

from harness.measure.coverage import recorded_page
from tests.support.recording import MadeRecording

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"}
FETCH = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"}


def test_a_browser_that_knew_to_ask_over_https_did_so_by_itself(tmp_path: Path) -> None:
    """HSTS: no server saw that redirect, so loads begin behind it."""
    written, internal = MadeRecording(tmp_path), [("Non-Authoritative-Reason", "HSTS")]
    for host, headers in (("known", internal), ("asked", []), ("both", internal), ("both", [])):
        written.add(f"http://{host}.test/", to=f"https://{host}.test/", headers=headers)
    recording = written.read()
    assert recording.asked_as("http://known.test/#x") == "https://known.test/#x"
    assert recording.asked_as("http://known.test") == "https://known.test"
    for url in ("http://asked.test/", "http://both.test/", "http://other.test/"):
        assert recording.asked_as(url) == url
    held = recorded_page(recording, written.mirror, "page").sizes
    assert len(held) == 2, "what asked.test and both.test sent"


def test_a_page_that_posts_a_form_to_itself_may_end_with_its_answer(tmp_path: Path) -> None:
    written = MadeRecording(tmp_path)
    written.add("/", "are you a robot?", asked=NAVIGATION)
    written.add("/", "the page", method="POST", asked=NAVIGATION, post="no=1")
    written.add("/", "{}", method="POST", asked=FETCH, post="what a script says")
    recording = written.read()
    answers = recording.documents("https://a.test/")[1]
    said = [(written.mirror / (answer.file or "")).read_text() for answer in answers]
    assert said == ["are you a robot?", "the page"]
