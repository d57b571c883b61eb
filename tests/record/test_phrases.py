"""What others recorded as an answer's phrase ("OK") may be anything: no browser gets it, and the recording one line."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.record.sources import restore
from harness.record.sources.server import NUMBER
from tests.support.served_archive import FILM, ask, recorded, serving


@pytest.mark.parametrize("reason", ["OK", "\u6210\u529f", f"OK\r\n{NUMBER}: 999999\r\nX-Evil: 1"])
def test_an_answer_comes_whatever_its_phrase_is(reason: str) -> None:
    with serving(recorded(200, b"film", reason=reason)) as server:
        assert ask(server)[0] == (200, b"film", None)
        noted = server.answers[1]
        assert noted is not None
        assert noted.reason == reason


@pytest.mark.parametrize("number", ["999999", "-1", "\u00b2", "9" * 5000, "1", ""])
def test_a_number_that_no_answer_has_is_none(number: str) -> None:
    with serving(recorded(200, b"film")) as server:
        exchange: Any = SimpleNamespace(url=FILM, transaction=SimpleNamespace(response_headers=((NUMBER, number),)))
        recording: Any = SimpleNamespace(url=FILM, websockets=[], exchanges=[exchange], documents=list,
                                         netlog=SimpleNamespace(transactions=[]))
        restore.restore(recording, server)
