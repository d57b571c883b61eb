"""A recording as a WACZ file (https://specs.webrecorder.net/wacz/1.1.1/), which ReplayWeb.page and pywb open.

    archive/data.warc.gz      the exchanges          indexes/index.cdx    where each is (CDXJ)
    pages/pages.jsonl         the pages              datapackage.json     names, sizes and hashes of the other files
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from surt import surt  # type: ignore[import-untyped]

from harness.files.exchange import Exchange
from harness.files.moments import EPOCH
from harness.files.pages import Page
from harness.record.export.warc import SOFTWARE, Written, date_of, write_warc

WARC = "data.warc.gz"
VERSION = "1.1.1"
NO_TYPE = "application/octet-stream"


def write_wacz(file: Path, exchanges: Sequence[Exchange], pages: list[Page]) -> None:
    """Write the exchanges of `pages` into `file`."""
    with tempfile.TemporaryDirectory(prefix="tfo-wacz-", dir=file.parent) as directory:
        warc = Path(directory, WARC)
        written = write_warc(warc, exchanges)
        members = {f"archive/{WARC}": warc.read_bytes(),
                   "indexes/index.cdx": "".join(sorted(map(_cdx_line, written))).encode(),
                   "pages/pages.jsonl": _pages(pages, exchanges)}
    package = _package(members, pages)
    members["datapackage.json"] = package
    members["datapackage-digest.json"] = _json({"path": "datapackage.json", "hash": _hash(package)})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:     # stored: readers seek in it
        for name, content in members.items():
            archive.writestr(name, content)


def _cdx_line(written: Written) -> str:
    """Return a line of the index. What was posted is no answer to a GET: readers look for it under another URL (pywb
    and wabac.js).
    """
    request, answer = written.exchange.request, written.exchange.answer
    found = {"url": request.url, "mime": answer.header("content-type").partition(";")[0].strip() or NO_TYPE,
             "status": str(answer.status), "digest": written.digest, "offset": str(written.offset),
             "length": str(written.size), "filename": WARC}
    key = request.url
    if request.method != "GET":
        found["method"] = request.method
        key += f"{'&' if '?' in key else '?'}__wb_method={request.method}"
    moment = (written.exchange.started or EPOCH).astimezone(timezone.utc)
    return f"{surt(key)} {moment:%Y%m%d%H%M%S} {json.dumps(found)}\n"


def _pages(pages: list[Page], exchanges: Sequence[Exchange]) -> bytes:
    dates = {exchange.request.url: date_of(exchange) for exchange in reversed(exchanges)}
    first = min(dates.values(), default="")
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
