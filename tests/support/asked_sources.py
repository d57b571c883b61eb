"""A source of recordings that is asked for a URL, and an entry of a HAR to make one of."""

import base64
from typing import Any

from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.source import IndexedSource
from tests.support.made_warc import DAY

PAGE = "http://a.test/"


def find(source: IndexedSource, url: str, method: str = "GET", body: bytes = b"") -> ArchivedAnswer:
    answer = source.find(ArchivedRequest(method, url, body))
    assert answer is not None
    return answer


def entry(url: str, body: bytes | None, mime_type: str = "text/html", **more: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"size": len(body or b"12345"), "mimeType": mime_type}
    if body is not None:
        content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    headers = [{"name": name, "value": value} for name, value in more.pop("headers", {}).items()]
    return {"pageref": "p", "startedDateTime": DAY, "time": 5, "request": {"method": "GET", "url": url, "headers": []},
            "response": {"status": 200, "statusText": "OK", "httpVersion": "h2", "headers": headers,
                         "content": content, "redirectURL": "", "bodySize": -1}} | more
