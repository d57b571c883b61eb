"""Says which answers were not recorded for their request: under the table, in the figures and in the report."""

from collections.abc import Iterator, Sequence

from harness.analysis.answers import PageAnswers, page_answers
from harness.analysis.selection import Selection
from harness.errors import shortened
from harness.files.load_parts import Coverage
from harness.files.results import Results

MARK = "*"
"""Behind a row's improvement when the critical path of one of its loads has a stand-in, or what was not recorded."""
KINDS = (("exact", "exact"), ("stand_in", "stand-in"), ("missing", "missing"), ("failed", "failed"))


def answer_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give a line for each page with a request that did not get its own answer but a stand-in, nothing, or an error."""
    found = [page_answers(selection, page, results.rtts_ms) for page in results.urls]
    lines = [_line(answers) for answers in found if answers.critical or not answers.all_exact]
    if lines:
        yield "Pages with stand-ins, answers that were recorded for another request, or with missing or failed ones " \
              "(requests of a load):"
        yield from (f"  {line}" for line in lines)
    silent = [answers for answers in found if any(counts.failed_as_recorded for counts in answers.counts)]
    if silent:
        yield "Requests of a load that got no answer when the page was recorded either (no such host, no answer, or " \
              "not in the archive that it was brought from):"
        yield from (f"  {answers.page}: {_span([each.failed_as_recorded for each in answers.counts])}"
                    f"{_parts_in_words(answers.unanswered)}" for answers in silent)
    partial = [answers for answers in found if answers.least and not answers.is_whole]
    if partial:
        yield "Pages whose loads ask for less than the recording holds, which another browser made (what a load got " \
              "at least):"
        yield from (f"  {_part_of_recording(answers.page, answers.least)}" for answers in partial if answers.least)
    if any(answers.critical for answers in found):
        yield f"{MARK} on the critical path of a load of this row lies an answer that was recorded for another " \
              "request, or a request that the recording does not answer: its time may not be the page's."


def doubtful_words(urls: Sequence[str]) -> str:
    """Name what was answered by a stand-in or not at all on a critical path, the first URL of it; "" for nothing."""
    if not urls:
        return ""
    more = f" (and {len(urls) - 1} more)" if len(urls) > 1 else ""
    return f" On the critical path, not as recorded: {shortened(urls[0])}{more}."


def _part_of_recording(page: str, least: Coverage) -> str:
    return f"{page}: {least.got} of {least.recorded} answers, {least.got_bytes / 1000:,.0f} of " \
           f"{least.recorded_bytes / 1000:,.0f} kB"


def _parts_in_words(urls: Sequence[str]) -> str:
    """Name the parts of a page that are missing; "" for none."""
    return f", among them a document, script or style sheet: {_first(urls)}" if urls else ""


def _line(answers: PageAnswers) -> str:
    counts = ", ".join(f"{_span([getattr(each, name) for each in answers.counts])} {words}" for name, words in KINDS)
    if not answers.critical:
        doubtful = any(each.stand_in or each.missing for each in answers.counts)
        known = "; none on a critical path that is known" if doubtful else ""
        return f"{answers.page}: {counts}{known}"
    return f"{answers.page}: {counts}; on a critical path: {_first(answers.critical)}"


def _first(urls: Sequence[str]) -> str:
    """Name the first of one or more URLs, and say how many more there are."""
    return f"{shortened(urls[0])}{f' and {len(urls) - 1} more' if len(urls) > 1 else ''}"


def _span(numbers: Sequence[int | None]) -> str:
    known = [number for number in numbers if number is not None]
    if not known:
        return "an unknown number"
    return f"{min(known)}" if min(known) == max(known) else f"{min(known)} to {max(known)}"
