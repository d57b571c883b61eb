"""What a request was for, when its answer's type says something else: test_kinds.jsonl.

A request without a `method` is a GET, without an Accept it takes anything, and without `by` SITE asked for it.
"""

from typing import Any

import pytest

from harness.analysis.asked_for import kind_of
from harness.files.exchange import Answer, Exchange, Request
from tests.support.beside import cases

SITE = "http://page.test"


@pytest.mark.parametrize("asked", cases(__file__, "test_kinds.jsonl"), ids=str)
def test_a_request_is_what_it_was_made_for(asked: dict[str, Any]) -> None:
    headers = {"Accept": "*/*", **asked.get("headers", {})}
    assert kind_of(Exchange(request=Request(asked.get("method", "GET"), asked["url"], tuple(headers.items())),
                            answer=Answer(mime_type=asked["type"]), initiator=asked.get("by", SITE))) == asked["kind"]
