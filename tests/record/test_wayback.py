"""A web archive that does not always answer."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from email.message import Message
from typing import ClassVar

import pytest

from harness.files.server_log import FoundAs
from harness.record.sources import wayback
from harness.record.sources.served import web_archive
from harness.record.sources.wayback import UnansweredError, WebArchive
from tests.support.answering import Answer, answering

PAGE = "http://www.old.test/"


class Busy:
    """An archive that is overloaded at first, and then has no such page, or the capture."""

    answers: ClassVar[list[int]] = []
    stated_bytes = 4

    @classmethod
    def answer(cls, _path: str, _headers: Message) -> Answer:
        status = cls.answers.pop(0)
        captured = {"Memento-Datetime": "Tue, 12 Mar 2013 00:00:00 GMT", "Content-Length": cls.stated_bytes}
        return (status, captured, b"page") if status == 200 else (status, {}, b"")


@pytest.fixture
def asked() -> Iterator[WebArchive]:
    """Give such an archive."""
    with answering(Busy.answer) as port:
        yield WebArchive(date(2013, 3, 12), f"http://127.0.0.1:{port}/web", pause_s=0.01)


def test_what_an_overloaded_archive_did_not_answer_is_asked_for_again(asked: WebArchive) -> None:
    Busy.answers = [503] * 4 + [200, 404]
    with pytest.raises(UnansweredError):
        asked.find(PAGE)
    assert len(asked.complaints()) == 1
    found = asked.find(PAGE)
    assert found is not None
    assert found.answer.content == b"page"
    assert asked.find(f"{PAGE}lost") is None
    assert (Busy.answers, asked.complaints()) == ([], [])


def test_each_url_is_asked_for_once_unless_the_archive_did_not_answer(asked: WebArchive) -> None:
    Busy.answers = [503] * 4 + [200, 404]
    with web_archive(asked) as served:
        found = [served.ask_archive("GET", url).found for url in (PAGE, PAGE, PAGE, f"{PAGE}lost", f"{PAGE}lost")]
    assert found == [FoundAs.MISSING, FoundAs.PLAIN, FoundAs.PLAIN, FoundAs.MISSING, FoundAs.MISSING]
    assert Busy.answers == []


def test_what_breaks_off_is_no_answer(asked: WebArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Busy, "stated_bytes", 5)
    Busy.answers = [200]
    with pytest.raises(UnansweredError):
        asked.find(PAGE)


def test_what_is_too_large_is_missing(asked: WebArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wayback, "LARGEST_BODY", 3)
    Busy.answers = [200]
    found = asked.find(PAGE)
    assert found is not None
    assert (found.error, found.answer.body_bytes, asked.complaints()) == (wayback.TOO_LARGE, 4, [])


def test_what_outlives_its_page_is_no_trouble_of_the_next() -> None:
    """A request may still wait for the archive when the next page has begun."""
    begun, go_on = threading.Event(), threading.Event()

    def answer(_path: str, _headers: Message) -> Answer:
        begun.set()
        go_on.wait()
        return 503, {}, b""

    with answering(answer) as port:
        archive = WebArchive(date(2013, 3, 12), f"http://127.0.0.1:{port}/web", pause_s=0.01)

        def ask() -> None:
            with suppress(UnansweredError):
                archive.find(PAGE)

        late = threading.Thread(target=ask)
        late.start()
        begun.wait()
        assert archive.complaints() == []
        go_on.set()
        late.join()
        assert archive.complaints() == []
