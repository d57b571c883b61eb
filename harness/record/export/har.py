"""A recording as one HAR 1.2 file with the bodies in it, decoded as HAR wants them."""

import base64
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.files.charsets import encode_text
from harness.files.encoding import decode
from harness.files.exchange import UNKNOWN
from harness.files.har import CREATOR, H2, OF_BODY, STILL_ENCODED
from harness.files.headers import header_in
from harness.files.pages import Page
from harness.mirror.exchanges import is_of_text_log
from harness.record.export.exchanges import RecordedExchange
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

UNKNOWN_TIMINGS = {"send": UNKNOWN, "wait": UNKNOWN, "receive": UNKNOWN}


def write_har(file: Path, exchanges: Iterable[RecordedExchange], pages: list[Page], fetchlog: Path) -> None:
    """Write the exchanges of `pages` into `file`; times are those of the pages' own HARs in `fetchlog`."""
    numbers = {page.name: f"page_{number}" for number, page in enumerate(pages, start=1)}
    starts: dict[str, str] = {}
    entries = []
    for exchange in exchanges:
        entry = _entry(exchange, numbers[exchange.page.name])
        starts.setdefault(exchange.page.name, entry["startedDateTime"])
        entries.append(entry)
    entries += [{**entry, "pageref": numbers[page.name]} for page in pages for entry in _websockets(page, fetchlog)]
    listed = [_page(page, numbers[page.name], starts.get(page.name, ""), fetchlog) for page in pages
              if page.name in starts]
    log = {"version": "1.2", "creator": CREATOR, "pages": listed, "entries": entries}
    file.write_text(json.dumps({"log": log}), encoding="utf-8")


def _page(page: Page, number: str, start: str, fetchlog: Path) -> dict[str, Any]:
    """Return what HAR says of a page; `start` is its first request's time."""
    har = fetchlog / f"{page.name}.har"
    known = {"startedDateTime": start, "pageTimings": {}}
    with suppress(UnreadableFileError, KeyError, IndexError, TypeError):
        known = known if is_of_text_log(har) else read_untrusted_json(har)["log"]["pages"][0]
    return {**known, "id": number, "title": page.url}


def _websockets(page: Page, fetchlog: Path) -> list[dict[str, Any]]:
    """Return the WebSockets of a page as its own HAR has them, which is as Chrome's DevTools write them."""
    har = fetchlog / f"{page.name}.har"
    entries = read_untrusted_json(har)["log"]["entries"] if har.is_file() else []
    return [entry for entry in entries if "_webSocketMessages" in entry]


def _entry(exchange: RecordedExchange, number: str) -> dict[str, Any]:
    entry = dict(exchange.entry) or _made(exchange)
    encoding = header_in(exchange.headers, "content-encoding")
    body, known = decode(exchange.body, encoding)
    content: dict[str, Any] = {"size": len(body), "mimeType": entry["response"]["content"].get("mimeType", "")}
    if len(body) != len(exchange.body):
        content["compression"] = len(body) - len(exchange.body)
    if body or exchange.status == 200:
        content |= _text(body, header_in(exchange.headers, "content-type") or content["mimeType"])
    if not known:
        content["comment"] = f"{STILL_ENCODED} {encoding}"
    entry["response"] = {**entry["response"], "content": content, "bodySize": len(exchange.body)}
    entry["pageref"] = number
    for name in OF_BODY:
        entry.pop(name, None)
    return entry


def _text(body: bytes, content_type: str) -> dict[str, str]:
    """Return a body as text if readers, who write it in the charset that it names, make the same bytes of it again."""
    with suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
        if encode_text(text, content_type) == body:
            return {"text": text}
    return {"text": base64.b64encode(body).decode(), "encoding": "base64"}


def _made(exchange: RecordedExchange) -> dict[str, Any]:
    """Return an entry for a page that has no HAR of its own: nobody knows its times."""
    redirect, kind = header_in(exchange.headers, "location"), header_in(exchange.headers, "content-type")
    version = H2 if exchange.http2 else "HTTP/1.1"
    return {
        "startedDateTime": exchange.captured.isoformat(timespec="milliseconds"), "time": 0, "cache": {},
        "timings": UNKNOWN_TIMINGS,
        "request": {"method": exchange.method, "url": exchange.url, "httpVersion": version, "cookies": [],
                    "headers": [], "queryString": [], "headersSize": UNKNOWN, "bodySize": UNKNOWN},
        "response": {"status": exchange.status, "statusText": exchange.reason, "httpVersion": version,
                     "cookies": [], "headers": [{"name": name, "value": value} for name, value in exchange.headers],
                     "content": {"size": len(exchange.body), "mimeType": kind}, "redirectURL": redirect,
                     "headersSize": UNKNOWN, "bodySize": len(exchange.body)}}
