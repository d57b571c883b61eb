"""A recording as a WACZ file (https://specs.webrecorder.net/wacz/1.1.1/), which ReplayWeb.page and pywb open.

    archive/data.warc.gz      the exchanges          indexes/index.cdx    where each is (CDXJ)
    pages/pages.jsonl         the pages              datapackage.json     names, sizes and hashes of the other files
"""

import hashlib
import json
import re
import string
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from harness.files.hack_dns import PORTS
from harness.files.pages import Page
from harness.record.export.exchanges import RecordedExchange
from harness.record.export.warc import SOFTWARE, write_warc

WARC = "data.warc.gz"
VERSION = "1.1.1"
WWW = re.compile(r"^www[0-9]*\.")
OF_SESSIONS = [re.compile(rf"(.*)(?:{name})(?:&(.*))?") for name in (
    "jsessionid=[0-9a-z]{32}", "phpsessid=[0-9a-z]{32}", "sid=[0-9a-z]{32}", "aspsessionid[a-z]{8}=[a-z]{24}",
    "cfid=[^&]+&cftoken=[^&]+")]
"""What is left out of the query in the keys of an index, each as often as surt does it: once."""
PLAIN = string.punctuation.replace("#", "").replace("%", "")
"""Characters that stand in the keys of an index as they are, beside letters and digits."""


def write_wacz(file: Path, exchanges: Sequence[RecordedExchange], pages: list[Page]) -> None:
    """Write the exchanges of `pages` into `file`."""
    with tempfile.TemporaryDirectory(prefix="tfo-wacz-", dir=file.parent) as directory:
        warc = Path(directory, WARC)
        write_warc(warc, exchanges)
        records = list(_records(warc, [exchange.method for exchange in exchanges]))
        members = {f"archive/{WARC}": warc.read_bytes(),
                   "indexes/index.cdx": "".join(sorted(map(_cdx_line, records))).encode(),
                   "pages/pages.jsonl": _pages(pages, records)}
    package = _package(members, pages)
    members["datapackage.json"] = package
    members["datapackage-digest.json"] = _json({"path": "datapackage.json", "hash": _hash(package)})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:     # stored: readers seek in it
        for name, content in members.items():
            archive.writestr(name, content)


def _records(warc: Path, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give what the index has to say of each response; `methods` are those of their requests."""
    method = iter(methods)
    with warc.open("rb") as file:
        iterator = ArchiveIterator(file)
        for record in iterator:
            if record.rec_type == "response":
                head = record.rec_headers.get_header
                mime_type = (record.http_headers.get_header("Content-Type") or "").partition(";")[0].strip()
                found = {"url": head("WARC-Target-URI"), "mime": mime_type or "application/octet-stream",
                         "status": record.http_headers.get_statuscode(), "digest": head("WARC-Payload-Digest"),
                         "offset": str(iterator.get_record_offset()), "filename": WARC}
                if (asked := next(method)) != "GET":
                    found["method"] = asked
                record.raw_stream.read()
                iterator.read_to_end()
                yield {"date": head("WARC-Date"), "cdx": found | {"length": str(iterator.get_record_length())}}


def _cdx_line(record: dict[str, Any]) -> str:
    moment = datetime.fromisoformat(record["date"].replace("Z", "+00:00"))
    return f"{sort_key(_found_under(record['cdx']))} {moment:%Y%m%d%H%M%S} {json.dumps(record['cdx'])}\n"


def _found_under(cdx: dict[str, Any]) -> str:
    """Return the URL that readers look for: what was posted is no answer to a GET (pywb and wabac.js)."""
    url: str = cdx["url"]
    return f"{url}{'&' if '?' in url else '?'}__wb_method={cdx['method']}" if "method" in cdx else url


def sort_key(url: str) -> str:
    """Return a URL as indexes sort it (SURT): the host's labels from the last on, the query's parameters in order.

    pywb finds nothing but what stands under exactly the key that the Internet Archive's package `surt` makes: that one
    knows no slash at a path's end, nor two together, no session in a query, and encodes as few characters as it can.
    """
    parts = urlsplit(url)
    host = WWW.sub("", (parts.hostname or "").lower())
    port = f":{parts.port}" if parts.port not in (None, *PORTS.values()) else ""
    path = re.sub("/{2,}", "/", _encoded_least(parts.path)).removesuffix("/") or "/"
    query = _encoded_least(parts.query)
    for session in OF_SESSIONS:
        if found := session.fullmatch(query):
            query = found[1] + (found[2] or "")
    query = "?" + "&".join(map("".join, sorted(each.partition("=") for each in query.split("&")))) if query else ""
    return f"{','.join(reversed(host.split('.')))}{port}){path}{query}"


def _encoded_least(text: str) -> str:
    """Return a part of a URL in lower case, however often its characters were encoded."""
    raw = text.encode()
    while (decoded := unquote_to_bytes(raw)) != raw:
        raw = decoded
    return quote(raw, safe=PLAIN).lower()


def _pages(pages: list[Page], records: list[dict[str, Any]]) -> bytes:
    dates = {record["cdx"]["url"]: record["date"] for record in reversed(records)}
    first = min((record["date"] for record in records), default="")
    lines = [{"format": "json-pages-1.0", "id": "pages", "title": "All pages"}]
    for page in pages:
        url = page.url if page.url in dates else f"{page.url}/"
        lines.append({"id": page.name, "url": page.url, "title": page.url, "ts": dates.get(url, first)})
    return b"".join(_json(line) for line in lines)


def _package(members: dict[str, bytes], pages: list[Page]) -> bytes:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    resources = [{"name": Path(path).name, "path": path, "hash": _hash(content), "bytes": len(content)}
                 for path, content in members.items()]
    return _json({"profile": "data-package", "wacz_version": VERSION, "software": SOFTWARE, "created": now,
                  "mainPageUrl": pages[0].url, "resources": resources})


def _hash(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
