"""Small texts and values from elsewhere, and what is read in each: ``texts.jsonl``, one a line.

`of` says what it should be (READ), `in` what was found, `is` what is read in it. Of a file that is refused this is
where, as in its one line ``file:line: problem``. Bytes are written as characters of Latin-1.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_texts.py`` writes what today's code reads.
"""

from collections.abc import Callable
from dataclasses import astuple
from datetime import datetime, timezone
from math import inf
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.exchange import Answer, Phases
from harness.files.har_entry import from_har, handshake_ms
from harness.files.hosts import read_hack_dns
from harness.files.load_record import LoadEvent, LoadRecord, load_event_of
from harness.files.moments import moment_of
from harness.files.notes import check_notes
from harness.files.pages import page_of, read_pages
from harness.mirror.exchanges import PageExchanges
from harness.mirror.live import arrivals_of
from harness.mirror.recording import Recording
from harness.mirror.servers import read_rtts
from harness.record.recorder import require_recordable
from harness.record.sources.served import list_pages
from harness.replay.body import wanted_span
from tests.support.made_record import made_record
from tests.support.noted import JsonObject, of_lines
from tests.support.read_source import read_source

TEN = datetime(2024, 3, 5, 10, tzinfo=timezone.utc)
EVENT = LoadEvent(3688.0, 3696.2)
"""Of google.com's page as GitHub ahume128/gt-cs6250 recorded it: its handler asks for a picture and a beacon."""
ANSWER = Answer(200, headers=(("accept-ranges", "bytes"), ("etag", '"1"'), ("last-modified", "then")))


def us_after_ten(found: Any) -> int | None:
    """Return how many µs after ten o'clock a moment is."""
    moment = moment_of(found)
    return None if moment is None else round((moment - TEN).total_seconds() * 1e6)


def event_in(timing: dict[str, float]) -> tuple[float, ...] | None:
    """Return the begin and end of a load event whose navigation began at 100 ms."""
    event = load_event_of(timing, began_ms=100)
    return astuple(event) if event else None


def part(asked: dict[str, str]) -> list[int] | None:
    """Return the first byte and the end of the part of a body of 2048 bytes that is asked for; [] for an empty one."""
    span = wanted_span(ANSWER, asked, 2048)
    return None if span is None else [span.start, span.stop] if span else []


def refused_in(change: JsonObject) -> str | None:
    """Return which field of a load's record is refused that says this."""
    try:
        LoadRecord.from_json(made_record().to_json() | change)
    except ValueError as error:
        return str(error).rpartition("$.")[2].removesuffix("`")
    return None


def arrivals(entry: JsonObject, last_s: float = inf) -> Any:
    """Return when the pieces of an entry's answer come, and whether that ends with the load event, at this second of
    the clock; None where it makes no entry.
    """
    try:
        exchange = from_har(entry)
    except ValueError:
        return None
    return arrivals_of(exchange, last_s)


def recorded(entries: list[JsonObject]) -> Any:
    """Return the hosts of a page's HAR, and of each answer that is replayed how it is found, whether it hangs until the
    page is closed, and whether it was asked for after a message: a brought page's answers keep their old dates, and its
    messages have those of the import.
    """
    recording = Recording([PageExchanges("page", [*map(from_har, entries)])])
    return recording.hosts(), [(answer.found, answer.hangs, answer.after_message) for answer in recording.each]


def listed(file: Path) -> Any:
    """Return the list of pages that is made of those that a HAR names; where that is refused, whether there is one."""
    list_file = file.with_name("A.pages")
    try:
        list_pages(list_file, read_source(file).brought)
    except InputError:
        return list_file.exists()
    return list_file.read_text()


def where(said: str, file: Path) -> str:
    """Return the place that a line names."""
    assert said.startswith(f"{file}:")
    assert "\n" not in said
    return said.removeprefix(str(file)).partition(": ")[0]


READ: dict[str, Callable[[Any], Any]] = {
    "moment": us_after_ten,
    "handshake": lambda found: handshake_ms(found[0], Phases(**found[1]), *found[2:]),
    "late": lambda span: EVENT.is_late(*span), "load event": event_in, "range": part,
    "arrivals": lambda found: arrivals(*found), "recorded": recorded,
    "record": refused_in, "page": lambda text: astuple(page_of(text))[:2]}
OF_FILES: dict[str, Callable[[Path], Any]] = {
    "pages": lambda file: [page.name for page in read_pages(file)], "notes": check_notes,
    "remaps": lambda file: [*map(astuple, read_hack_dns(file))], "rtts": read_rtts, "listed.har": listed,
    "recordable": lambda file: require_recordable(file, read_pages(file)),
    **dict.fromkeys(("har", "warc", "warc.gz", "wacz", "zip"), lambda file: read_source(file).brought.pages)}


@of_lines("corpus/texts.jsonl")
def test_each_is_read_as_its_line_says(case: JsonObject, tmp_path: Path) -> JsonObject:
    if case["of"] in READ:
        return {"is": READ[case["of"]](case["in"])}
    file = tmp_path / f"file.{case['of']}"
    file.write_bytes(case["in"].encode("latin-1"))
    try:
        return {"is": OF_FILES[case["of"]](file)}
    except InputError as error:
        return {"is": where(str(error), file)}
