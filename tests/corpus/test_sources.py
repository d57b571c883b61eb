"""Foreign files, each beside the summary of what `fetch.py --from` reads in it: tests/corpus/sources/.

A case is a file ``NAME.har`` (.warc, .warc.gz, .wacz, .zip, ...), perhaps with the list of pages ``NAME.pages`` that a
user gives with it, and ``NAME.json``, its summary: what is so of the file (`about`, written by hand), and either of

- `refused`: the kind of the refusal, or
- `pages`: the status that a navigation to each page gets, null without an answer; of the list that is given, or of the
  pages that the file names; `figures_only` where the file lacks most bodies, and pages are made of its figures;
- `entries`: method, URL, status, type, content coding, bytes as they cross the network and decoded (null where it
  cannot be decoded), the first digits of the decoded body's SHA-256, and of the hash of what was sent, if anything;
- `missing`: URLs whose answers lack their bodies, with the bodies' sizes on the network (0: unknown);
- `live`: how many messages the site sent over the WebSockets of a URL, where there are any;
- `remarks`: how many lines are said of what could not be read.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_sources.py`` writes the summaries of today's code;
read the difference before it is committed.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.encoding import decode
from harness.files.pages import read_pages
from harness.record.sources.answers import Entry
from harness.record.sources.archived import ArchivedRequest
from harness.record.sources.opened import HARS, WARCS, is_figures_only, opened
from harness.record.sources.source import IndexedSource

SOURCES = Path(__file__).parent / "sources"
WRITES = bool(os.environ.get("TFO_LAB_WRITE_CORPUS"))
CASES = sorted(path for path in SOURCES.rglob("*") if path.name.endswith((*WARCS, *HARS, ".wacz")))


def beside(source: Path, ending: str) -> Path:
    """Return the file of this ending that belongs to a source, whose own ending may have two parts."""
    return source.with_name(source.name.partition(".")[0] + ending)


def summary(source: Path) -> dict[str, Any]:
    """Return what is read of a foreign file."""
    try:
        figures_only = is_figures_only(source)
        with opened(source) as found:
            assert isinstance(found, IndexedSource)
            listed = beside(source, ".pages")
            pages = [page.url for page in read_pages(listed)] if listed.exists() else found.pages
            return ({"pages": {url: status_of(found, url) for url in pages}}
                    | ({"figures_only": True} if figures_only else {})
                    | {"entries": [line(entry) for entry in found._index.entries], "missing": dict(found.without_body),
                       "remarks": len(found.remarks)}
                    | ({"live": {live.url: len(live.messages) for live in found._index.live}}
                       if found._index.live else {}))
    except InputError as error:
        return {"refused": type(error).__name__}


def status_of(source: IndexedSource, url: str) -> int | None:
    """Return the status of what a browser gets that goes to a page; None where the source has no answer."""
    source.begin_page(url)
    answer = source.find(ArchivedRequest("GET", url, navigation=True))
    return answer.status if answer else None


def line(entry: Entry) -> dict[str, Any]:
    """Return one exchange; JSON has no bytes, so bodies are told apart by their size and the beginning of a hash."""
    answer = entry.read()
    coding = answer.header("content-encoding")
    body, known = decode(answer.body, coding)
    return ({"method": entry.method, "url": entry.url, "status": entry.status, "type": answer.header("content-type"),
             "coding": coding, "network_bytes": len(answer.body),
             "decoded_bytes": len(body) if known or not body else None, "body": hashlib.sha256(body).hexdigest()[:12]}
            | ({"sent": entry.body_hash[:12]} if entry.body_hash else {}))


def written(found: dict[str, Any]) -> str:
    """Return a summary as JSON with one entry a line, so that a difference is read line by line."""
    lines = []
    for name, value in found.items():
        if name == "entries" and value:
            inside = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in value)
            lines.append(f' "entries": [\n{inside}]')
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("source", CASES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_foreign_file_is_read_as_its_summary_says(source: Path) -> None:
    noted = beside(source, ".json")
    before = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    found = {"about": before.get("about", "")} | summary(source)
    if WRITES:
        noted.write_text(written(found), encoding="utf-8")
        pytest.skip("written, not compared")
    assert found == before
    assert found["about"], f"{noted.name}: say in `about` what is so of the file"


def test_no_two_cases_share_a_summary() -> None:
    assert len({beside(source, ".json") for source in CASES}) == len(CASES) > 0
