"""HARs as other programs write them, entry by entry."""

import base64
import json
from pathlib import Path
from typing import Any

PAGE = "https://a.test/"


def entry(url: str, mime_type: str = "text/html", body: bytes | None = b"<p>page", *, size: int | None = None,
          page: str | None = "page_1", second: int = 1, referer: str = "") -> dict[str, Any]:
    content: dict[str, Any] = {"mimeType": mime_type, "size": len(body or b"") if size is None else size}
    if body is not None:
        content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    made = {"startedDateTime": f"2012-01-08T13:25:{second:02}.000Z", "time": 5, "request": {
        "method": "GET", "url": url, "headers": [{"name": "Referer", "value": referer}] if referer else []},
        "response": {"status": 200, "statusText": "OK", "headers": [], "content": content}}
    return made if page is None else made | {"pageref": page}


def har(path: Path, *entries: dict[str, Any], pages: tuple[tuple[str, int], ...] = ()) -> Path:
    """Write a HAR with `pages`, of which each is an id and the second it was begun at, 0.9 s before its load event."""
    named = [{"id": name, "startedDateTime": f"2012-01-08T13:25:{second:02}.000Z", "pageTimings": {"onLoad": 900}}
             for name, second in pages]
    path.write_text(json.dumps({"log": {"pages": named, "entries": entries}}))
    return path
