"""A recording as a WACZ file (https://specs.webrecorder.net/wacz/1.1.1/), which ReplayWeb.page and pywb open.

    archive/data.warc.gz      the exchanges          indexes/index.cdx    where each is (CDXJ)
    pages/pages.jsonl         the pages              datapackage.json     names, sizes and hashes of the other files
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from surt import surt  # type: ignore[import-untyped]
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from harness.files.exchange import Exchange
from harness.files.pages import Page
from harness.record.export.warc import SOFTWARE, write_warc

WARC = "data.warc.gz"
VERSION = "1.1.1"


def write_wacz(file: Path, exchanges: Sequence[Exchange], pages: list[Page]) -> None:
    """Write the exchanges of `pages` into `file`."""
    with tempfile.TemporaryDirectory(prefix="tfo-wacz-", dir=file.parent) as directory:
        warc = Path(directory, WARC)
        write_warc(warc, exchanges)
        records = list(_records(warc, [exchange.request.method for exchange in exchanges]))
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
    return f"{surt(_found_under(record['cdx']))} {moment:%Y%m%d%H%M%S} {json.dumps(record['cdx'])}\n"


def _found_under(cdx: dict[str, Any]) -> str:
    """Return the URL that readers look for: what was posted is no answer to a GET (pywb and wabac.js)."""
    url: str = cdx["url"]
    return f"{url}{'&' if '?' in url else '?'}__wb_method={cdx['method']}" if "method" in cdx else url


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
