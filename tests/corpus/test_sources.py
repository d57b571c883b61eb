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
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.encoding import decode
from harness.files.exchange import Exchange
from harness.files.pages import read_pages
from tests.support.noted import JsonObject, assert_beside
from tests.support.read_source import NAVIGATES, ReadSource, read_source

SOURCES = Path(__file__).parent / "sources"


def summary(source: Path, listed: Path, into: Path) -> JsonObject:
    """Return what is read of a foreign file, with the list of pages that is `listed` beside it, if any."""
    try:
        wanted = [page.url for page in read_pages(listed)] if listed.exists() else None
        found = read_source(source, into, wanted)
    except InputError as error:
        return {"refused": type(error).__name__}
    brought = found.brought
    answers = {url: found.answered(url.partition("#")[0], headers=NAVIGATES) for url in wanted or brought.pages}
    return {"pages": {url: found and found.answer.status for url, found in answers.items()},
            "entries": [line(exchange, found) for exchange in found.exchanges],
            "missing": {each.request.url: each.answer.body_bytes for each in brought.exchanges if each.error},
            "remarks": len(brought.remarks),
            "asked_for": {log: sorted(brought.asked_for(log)) for log in {each.page for each in found.exchanges}},
            "of_pages": {each.request.url: each.page for each in found.exchanges},
            "live": {live.place.url: len(live.messages) for of_origin in brought.recording().live.values()
                     for live in of_origin} or None}


def line(exchange: Exchange, source: ReadSource) -> JsonObject:
    """Return one exchange; JSON has no bytes, so bodies are told apart by their size and the beginning of a hash."""
    answer, wire = exchange.answer, source.body_of(exchange)
    coding = answer.header("content-encoding")
    body, known = decode(wire, coding)
    sent = hashlib.sha256(exchange.request.body).hexdigest()[:12]
    return ({"method": exchange.request.method, "url": exchange.request.url, "status": answer.status,
             "type": answer.header("content-type"), "coding": coding, "network_bytes": len(wire),
             "decoded_bytes": len(body) if known or not body else None, "body": hashlib.sha256(body).hexdigest()[:12]}
            | ({"sent": sent} if exchange.request.body else {}))


def test_each_foreign_file_has_a_summary() -> None:
    files = {path.with_name(path.name.partition(".")[0]) for path in SOURCES.rglob("*.[hw]*")}
    assert files == {path.with_suffix("") for path in SOURCES.rglob("*.json")}
    assert all(json.loads(path.with_suffix(".json").read_text("utf-8"))["about"] for path in files)


@pytest.mark.parametrize("noted", sorted(SOURCES.rglob("*.json")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_foreign_file_is_read_as_its_summary_says(noted: Path, tmp_path: Path) -> None:
    [source] = noted.parent.glob(f"{noted.stem}.[hw]*")
    of_some, asked = ("asked_for", "of_pages"), json.loads(noted.read_text("utf-8"))
    assert_beside({name: value for name, value in summary(source, noted.with_suffix(".pages"), tmp_path).items()
                   if name in asked or name not in of_some}, noted)
