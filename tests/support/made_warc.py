"""A WARC of a small site, as a crawler would have written it in 2013."""

import gzip
import io
from pathlib import Path

from PIL import Image
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

DAY = "2013-03-12T10:00:00Z"
PAGE = "http://www.old.test/"
SCRIPT = b"document.title = 'run'; fetch('/count?t=' + Date.now(), {method: 'POST', body: 'seen'});"
IMAGES = 24
"""So many that what is lost does not make the page incomplete: two requests, and in a web archive the POST as well."""
Record = tuple[str, str, str, list[tuple[str, str]], bytes]
"""Type, URL, first line, headers, body. A "request" is tied to the response after it."""


def write_warc(path: Path, *records: Record) -> Path:
    """Write the records; compressed when the name says so."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        tied = ""
        for kind, url, line, headers, body in records:
            first, _, rest = line.partition(" ")
            http = StatusAndHeaders(line if kind == "request" else rest, headers, protocol=first,
                                    is_http_request=kind == "request")
            extra = {"WARC-Date": DAY} | ({"WARC-Concurrent-To": tied} if tied and kind != "request" else {})
            record = writer.create_warc_record(url, kind, io.BytesIO(body), len(body), http_headers=http,
                                               warc_headers_dict=extra)
            writer.write_record(record)
            tied = record.rec_headers.get_header("WARC-Record-ID") if kind == "request" else ""
    return path


def site_records() -> list[Record]:
    """Return a page with a style sheet, a zipped script that posts, a redirected image, and two lost ones."""
    page = (b"<!DOCTYPE html><title>old</title><link rel=stylesheet href=/style.css><link rel=icon href=data:,>"
            b"<link rel=stylesheet href=http://gone.test/lost.css>"
            b"<script src=https://cdn.old.test/x.js></script><img src=/moved.png><img src=http://gone.test/lost.png>"
            + b"".join(b"<img src=/%d.png>" % number for number in range(IMAGES)))
    html, ok = [("Content-Type", "text/html"), ("Date", "Tue, 12 Mar 2013 10:00:00 GMT")], "HTTP/1.1 200 OK"
    return [
        ("response", PAGE, ok, html, page),
        ("response", f"{PAGE}style.css", ok, [("Content-Type", "text/css"), ("Transfer-Encoding", "chunked")],
         b"8\r\nbody { }\r\n0\r\n\r\n"),
        ("response", "https://cdn.old.test/x.js", ok,
         [("Content-Type", "text/javascript"), ("Content-Encoding", "gzip")], gzip.compress(SCRIPT, mtime=0)),
        ("response", f"{PAGE}moved.png", "HTTP/1.1 301 Moved", [("Location", "http://cdn.old.test/here.png")], b""),
        ("response", "http://cdn.old.test/here.png", ok, [("Content-Type", "image/png")], picture()),
        *(("response", f"{PAGE}{number}.png", ok, [("Content-Type", "image/png")], picture())
          for number in range(IMAGES)),
        ("request", f"{PAGE}count?t=1363082400000", "POST /count?t=1363082400000 HTTP/1.1", [("Host", "www.old.test")],
         b"seen"),
        ("response", f"{PAGE}count?t=1363082400000", ok, [("Content-Type", "text/plain")], b"counted")]


def picture() -> bytes:
    """Return a small PNG."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "png")
    return buffer.getvalue()
