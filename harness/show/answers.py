"""Says which answers were not recorded for their request, in the figures and in the report."""

from collections.abc import Iterable, Sequence

from harness.analysis.answers import PARTS, WHOLE_RATIO, share_received
from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.errors import first_few, shortened
from harness.files.load_parts import Coverage
from harness.show.labels import NOT_KNOWN, span
from harness.show.section import Table, columns, plain_table

COUNTED = {"Exact": "exact", "Stand-in": "stand_in", "Missing": "missing", "Failed": "failed",
           "Failed as recorded": "failed_as_recorded"}
"""Columns, and which counts of a load's ReceivedAnswers stand in them."""


def doubtful_words(urls: Sequence[str]) -> str:
    """Name what was answered by a stand-in or not at all on a critical path, the first URL of it; "" for nothing."""
    if not urls:
        return ""
    more = f" (and {len(urls) - 1} more)" if len(urls) > 1 else ""
    return f" On the critical path, not as recorded: {shortened(urls[0])}{more}."


def answers_table(selection: Selection) -> Table:
    """Return a row for each page of which a load got something else than what was recorded for it, or less.

    Counts are of a load's requests, from the load with fewest to that with most. What was received is the least that a
    load got of the recording's answers and bytes: where another browser made it, loads may ask for less.
    """
    rows = [row for page in selection.results.urls if (row := _page_row(selection.of_page(page)))]
    head = columns("Page", *COUNTED, words=("Received of the recording", "On a critical path, not as recorded",
                                          "Of the page's parts, not recorded"))
    return plain_table("Answers that were not recorded for their request: requests of a load", head, rows, "words")


def _page_row(rows: Sequence[Row]) -> list[str]:
    """Return one page's row; [] where all was as recorded."""
    received = [load.record.answers for row in rows for load in row.loads if load.record and load.record.answers]
    critical = dict.fromkeys(url for row in rows for urls in row.doubtful.values() for url in urls)
    lost = dict.fromkeys(answer.url for answers in received for answer in answers.each
                         if answer.expected and not answer.late and answer.purpose in PARTS)
    least = min((answers.coverage for answers in received if answers.coverage), key=share_received, default=None)
    is_whole = least is None or share_received(least) >= WHOLE_RATIO
    others = [name for name in COUNTED.values() if name != "exact"]
    if is_whole and not critical and not any(getattr(each, name) for each in received for name in others):
        return []
    return [rows[0].url, *(_span(getattr(each, name) for each in received) for name in COUNTED.values()),
            NOT_KNOWN if is_whole or least is None else _share(least), first_few([*critical]) or NOT_KNOWN,
            first_few([*lost]) or NOT_KNOWN]


def _share(least: Coverage) -> str:
    return f"{least.got} of {least.recorded} answers, {least.got_bytes / 1000:,.0f} of " \
           f"{least.recorded_bytes / 1000:,.0f} kB"


def _span(numbers: Iterable[int]) -> str:
    known = [*numbers]
    return span(min(known), max(known)) if known else NOT_KNOWN
