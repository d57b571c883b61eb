"""Foreign files, each beside the summary of what `fetch.py --from` reads in it: tests/corpus/sources/.

A case is a file ``NAME.har`` (.warc, .warc.gz, .wacz), perhaps with the list of pages ``NAME.pages`` that a
user gives with it, and ``NAME.json``, its summary: what is so of the file (`about`, written by hand), and either of

- `refused`: the kind of the refusal, or
- `pages`: the status that a navigation to each page gets, null without an answer; of the list that is given, or of the
  pages that the file names;
- `entries`: method, URL, status, type, content coding, bytes as they cross the network and decoded (null where it
  cannot be decoded), the first digits of the decoded body's SHA-256, and of the hash of what was sent, if anything;
- `missing`: URLs whose answers lack their bodies, with the bodies' sizes on the network (0: unknown);
- `live`: how many messages the site sent over the WebSockets of a URL, where there are any;
- `remarks`: how many lines are said of what could not be read;
- `asked_for`: what the recorded load of each page, by its log, got up to its load event, `of_pages`: which page each
  entry belongs to; where the case is about that.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_sources.py`` writes the summaries of today's code;
read the difference before it is committed.
"""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.encoding import decode
from harness.files.exchange import Exchange
from harness.files.pages import read_pages
from harness.record.sources.reader import HAR, WARCS
from tests.support.noted import assert_beside
from tests.support.read_source import ReadSource, read_source

SOURCES = Path(__file__).parent / "sources"
CASES = sorted(path for path in SOURCES.rglob("*") if path.name.endswith((*WARCS, *HAR)))


def beside(source: Path, ending: str) -> Path:
    """Return the file of this ending that belongs to a source, whose own ending may have two parts."""
    return source.with_name(source.name.partition(".")[0] + ending)


def summary(source: Path, into: Path, asked: Collection[str] = ()) -> dict[str, Any]:
    """Return what is read of a foreign file; of what only some cases are about what is `asked`."""
    listed = beside(source, ".pages")
    try:
        wanted = [page.url for page in read_pages(listed)] if listed.exists() else None
        found = read_source(source, into, wanted)
    except InputError as error:
        return {"refused": type(error).__name__}
    brought = found.brought
    return ({"pages": {url: found.status_of_page(url) for url in wanted or brought.pages}}
            | {"entries": [line(exchange, found) for exchange in found.exchanges],
               "missing": {each.request.url: each.answer.body_bytes for each in brought.exchanges if each.error},
               "remarks": len(brought.remarks)}
            | {name: value for name, value in (
                ("asked_for", {log: sorted(brought.asked_for(log)) for log in {each.page for each in found.exchanges}}),
                ("of_pages", {each.request.url: each.page for each in found.exchanges})) if name in asked}
            | ({"live": {live.place.url: len(live.messages) for live in found.live()}} if found.live() else {}))


def line(exchange: Exchange, source: ReadSource) -> dict[str, Any]:
    """Return one exchange; JSON has no bytes, so bodies are told apart by their size and the beginning of a hash."""
    answer, wire = exchange.answer, source.body_of(exchange)
    coding = answer.header("content-encoding")
    body, known = decode(wire, coding)
    sent = hashlib.sha256(exchange.request.body).hexdigest()[:12]
    return ({"method": exchange.request.method, "url": exchange.request.url, "status": answer.status,
             "type": answer.header("content-type"), "coding": coding, "network_bytes": len(wire),
             "decoded_bytes": len(body) if known or not body else None, "body": hashlib.sha256(body).hexdigest()[:12]}
            | ({"sent": sent} if exchange.request.body else {}))


@pytest.mark.parametrize("source", CASES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_foreign_file_is_read_as_its_summary_says(source: Path, tmp_path: Path) -> None:
    noted = beside(source, ".json")
    before = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    assert_beside({"about": before.get("about", "")} | summary(source, tmp_path, before.keys()), noted)
    assert before["about"], f"{noted.name}: say in `about` what is so of the file"


def test_no_two_cases_share_a_summary() -> None:
    assert len({beside(source, ".json") for source in CASES}) == len(CASES) > 0
