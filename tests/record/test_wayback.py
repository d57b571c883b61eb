"""A web archive that does not always answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from email.message import Message

import pytest

from harness.files.server_log import FoundAs
from harness.record.sources import wayback
from harness.record.sources.served import web_archive
from harness.record.sources.wayback import UnansweredError, WebArchive
from tests.support.answering import Answer, answering

PAGE = "http://www.old.test/"


BUSY: Answer = (503, {}, b"")
LOST: Answer = (404, {}, b"")


def capture(stated_bytes: int = 4) -> Answer:
    return 200, {"Memento-Datetime": "Tue, 12 Mar 2013 00:00:00 GMT", "Content-Length": stated_bytes}, b"page"


def asked_at(port: int) -> WebArchive:
    return WebArchive(date(2013, 3, 12), f"http://127.0.0.1:{port}/web", pause_s=0.01)


@contextmanager
def archive(*answers: Answer) -> Iterator[WebArchive]:
    """Give an archive that answers so, one after the other: it is asked as often, and no more."""
    asked: list[str] = []

    def answer(path: str, _headers: Message) -> Answer:
        asked.append(path)
        return answers[len(asked) - 1]

    with answering(answer) as port:
        yield asked_at(port)
    assert len(asked) == len(answers)


def test_what_an_overloaded_archive_did_not_answer_is_asked_for_again_and_the_rest_once() -> None:
    with archive(*[BUSY] * 4, capture(), LOST) as asked, web_archive(asked) as served:
        answers = [served.ask_archive("GET", url) for url in (PAGE, PAGE, PAGE, f"{PAGE}lost", f"{PAGE}lost")]
        assert [len(asked.complaints()) for _ in "12"] == [1, 0]
    assert [answer.found for answer in answers] == [FoundAs.MISSING, *[FoundAs.PLAIN] * 2, *[FoundAs.MISSING] * 2]
    assert answers[1].answer.content_bytes == 4


def test_what_breaks_off_is_no_answer_and_what_is_too_large_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with archive(capture(stated_bytes=5), capture()) as asked:
        with pytest.raises(UnansweredError):
            asked.find(PAGE)
        assert len(asked.complaints()) == 1
        monkeypatch.setattr(wayback, "LARGEST_BODY", 3)
        found = asked.find(PAGE)
        assert found is not None
        assert (found.error, found.answer.body_bytes, asked.complaints()) == (wayback.TOO_LARGE, 4, [])


def test_what_outlives_its_page_is_no_trouble_of_the_next() -> None:
    """A request may still wait for the archive when the next page has begun."""
    begun, go_on = threading.Event(), threading.Event()

    def answer(_path: str, _headers: Message) -> Answer:
        begun.set()
        go_on.wait()
        return BUSY

    with answering(answer) as port:
        asked = asked_at(port)

        def ask() -> None:
            with suppress(UnansweredError):
                asked.find(PAGE)

        late = threading.Thread(target=ask)
        late.start()
        begun.wait()
        assert asked.complaints() == []
        go_on.set()
        late.join()
        assert asked.complaints() == []
