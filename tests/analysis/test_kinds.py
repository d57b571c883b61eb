"""What a request was for, when its answer's type says something else: test_kinds.jsonl.

A request without a `method` is a GET, without an Accept it takes anything, and without `by` SITE asked for it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.timeline import kind_of

SITE = "http://page.test"


@pytest.mark.parametrize("asked", map(json.loads, Path(__file__).with_suffix(".jsonl").read_text().splitlines()),
                         ids=str)
def test_a_request_is_what_it_was_made_for(asked: dict[str, Any]) -> None:
    headers = {"Accept": "*/*", **asked.get("headers", {})}
    assert kind_of({
        "request": {"url": asked["url"], "method": asked.get("method", "GET"),
                    "headers": [{"name": name, "value": value} for name, value in headers.items()]},
        "response": {"content": {"mimeType": asked["type"]}}, "_initiator": asked.get("by", SITE)}) == asked["kind"]
