"""A web archive that does not always answer."""

import threading
from collections.abc import Iterator
from datetime import date
from email.message import Message
from typing import ClassVar

import pytest

from harness.record.sources import wayback
from harness.record.sources.wayback import WebArchive
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
    assert asked.find("GET", PAGE) is None
    assert len(asked.complaints()) == 1
    found = [asked.find("GET", PAGE) for _ in range(2)]
    assert [each.answer.content for each in found if each is not None] == [b"page"] * 2
    for _ in range(2):
        assert asked.find("GET", f"{PAGE}lost") is None
    assert Busy.answers == []
    assert asked.complaints() == [], "what it does not have is known, and asked for once"


def test_what_breaks_off_is_asked_for_again(asked: WebArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Busy, "stated_bytes", 5)
    Busy.answers = [200]
    assert asked.find("GET", PAGE) is None
    [trouble] = asked.complaints()
    assert "(ProtocolError)" in trouble or "(IncompleteRead)" in trouble


def test_what_outlives_its_page_is_no_trouble_of_the_next() -> None:
    """A request may still wait for the archive when the next page has begun."""
    begun, go_on = threading.Event(), threading.Event()

    def answer(_path: str, _headers: Message) -> Answer:
        begun.set()
        go_on.wait()
        return 503, {}, b""

    with answering(answer) as port:
        archive = WebArchive(date(2013, 3, 12), f"http://127.0.0.1:{port}/web", pause_s=0.01)
        late = threading.Thread(target=archive.find, args=("GET", PAGE))
        late.start()
        begun.wait()
        assert archive.complaints() == []
        go_on.set()
        late.join()
        assert archive.complaints() == []


def test_what_is_too_large_is_missing(asked: WebArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wayback, "LARGEST_BODY", 3)
    Busy.answers = [200]
    for _ in range(2):
        found = asked.find("GET", PAGE)
        assert found is not None
        assert (found.error, found.answer.body_bytes, asked.complaints()) == (wayback.TOO_LARGE, 4, [])
