"""Which recorded answers a load got, and whether something else than one lies on its critical path."""

from dataclasses import dataclass

from harness.analysis.explanation import explain
from harness.analysis.timeline import DOCUMENT, SCRIPT, STYLE
from harness.files.load_parts import Coverage
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult

NOT_AS_RECORDED = ("stand-in", "missing")
"""Kinds of answers that take another time than the page's own would."""
WHOLE_RATIO = 0.90
"""Loads that get this share of the recorded answers and bytes have the page whole (harness.measure.coverage)."""
PARTS = frozenset((DOCUMENT, SCRIPT, STYLE))
"""What a page is made of: without one of these it is another page."""


@dataclass(frozen=True)
class AnswerCounts:
    """How many requests of one load were answered how; `exact` is None in records that did not count those."""

    exact: int | None
    stand_in: int
    missing: int
    failed: int
    failed_as_recorded: int = 0


def answer_counts(record: LoadRecord | None) -> AnswerCounts | None:
    """Return the counts of a load, None without a record that says them.

    Before answers had identities a record said only what the servers had answered with the nearest URL and with 404.
    """
    if record is None:
        return None
    if record.answers:
        answers = record.answers
        return AnswerCounts(answers.exact, answers.stand_in, answers.missing, answers.failed,
                            answers.failed_as_recorded)
    if record.best_match is None or record.missing is None or record.failed_requests is None:
        return None
    return AnswerCounts(None, record.best_match, record.missing, sum(record.failed_requests.values()))


def doubtful_urls(load: LoadResult, rtt_ms: float) -> list[str]:
    """Return the URLs on the critical path of `load` whose answers were not recorded for them, in the path's order.

    These are stand-ins, and answers that the recording does not have: 404, or 504 where nobody answered then either.
    """
    if load.record is None or load.record.answers is None:
        return []
    doubtful = [answer for answer in load.record.answers.each if not answer.late and (
        answer.kind in NOT_AS_RECORDED or (answer.expected and answer.status))]
    critical = [answer.url for answer in doubtful if answer.critical]
    unknown = {answer.url for answer in doubtful if answer.critical is None}
    explanation = explain(load, rtt_ms) if unknown else None
    on_path = [step.url for step in explanation.steps if step.url in unknown] if explanation else []
    return list(dict.fromkeys([*critical, *on_path]))


def share_received(cover: Coverage) -> float:
    """Return the share of the recorded answers, or of their bytes if that is less, that a load got."""
    return min(got / held if held else 1.0 for got, held in ((cover.got, cover.recorded),
                                                             (cover.got_bytes, cover.recorded_bytes)))
