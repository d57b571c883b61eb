"""Which recorded answers a page's loads got, and whether something else than one lies on a load's critical path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.analysis.explanation import explain
from harness.analysis.selection import Cell, Selection
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

    Before answers had identities a record told only what the servers had answered with the nearest URL and with 404.
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
    told = [answer.url for answer in doubtful if answer.critical]
    unknown = {answer.url for answer in doubtful if answer.critical is None}
    explanation = explain(load, rtt_ms) if unknown else None
    on_path = [step.url for step in explanation.steps if step.url in unknown] if explanation else []
    return list(dict.fromkeys([*told, *on_path]))


@dataclass(frozen=True)
class PageAnswers:
    """What the counted loads of one page got. `counts` has one item a load; `critical` the URLs on a critical path.

    `unanswered` are the URLs of documents, scripts and style sheets that got no answer when the page was recorded.
    `least` is the coverage of the load that got least of what the recording holds, None where that is not known.
    """

    page: str
    counts: tuple[AnswerCounts, ...]
    critical: tuple[str, ...]
    unanswered: tuple[str, ...]
    least: Coverage | None = None

    @property
    def is_whole(self) -> bool:
        """Whether its loads got what the recording holds, as far as is known."""
        return self.least is None or _share(self.least) >= WHOLE_RATIO

    @property
    def all_exact(self) -> bool:
        """Whether each request of its loads got what was recorded for it."""
        return not any(counts.stand_in or counts.missing or counts.failed for counts in self.counts)


def page_answers(selection: Selection, page: str, rtts_ms: Sequence[float]) -> PageAnswers:
    """Return what the loads of `page` that count got, at all RTTs, without and with TFO."""
    loads = [load for rtt_ms in rtts_ms for load in _loads(selection, page, rtt_ms)]
    counts = tuple(found for load in loads if (found := answer_counts(load.record)))
    critical = dict.fromkeys(url for rtt_ms in rtts_ms for url in doubtful_in_row(selection, page, rtt_ms))
    unanswered = dict.fromkeys(answer.url for load in loads if load.record and load.record.answers
                               for answer in load.record.answers.each
                               if answer.expected and not answer.late and answer.purpose in PARTS)
    covers = [load.record.answers.coverage for load in loads if load.record and load.record.answers]
    least = min((cover for cover in covers if cover), key=_share, default=None)
    return PageAnswers(page, counts, tuple(critical), tuple(unanswered), least)


def _share(cover: Coverage) -> float:
    """Return the share of the recorded answers, or of their bytes if that is less, that a load got."""
    return min(got / held if held else 1.0 for got, held in ((cover.got, cover.recorded),
                                                             (cover.got_bytes, cover.recorded_bytes)))


def doubtful_in_row(selection: Selection, page: str, rtt_ms: float) -> list[str]:
    """Return the URLs of `doubtful_urls` of all loads that count in the row of the table."""
    return _on_paths(_loads(selection, page, rtt_ms), rtt_ms)


def doubtful_without_tfo(selection: Selection, page: str, rtt_ms: float) -> list[str]:
    """Return them of the loads without TFO only: those that the prediction plays again."""
    return _on_paths(_loads(selection, page, rtt_ms, (0,)), rtt_ms)


def _on_paths(loads: Iterable[LoadResult], rtt_ms: float) -> list[str]:
    return list(dict.fromkeys(url for load in loads for url in doubtful_urls(load, rtt_ms)))


def _loads(selection: Selection, page: str, rtt_ms: float, tfos: Sequence[int] = (0, 1)) -> list[LoadResult]:
    return [load for tfo in tfos for load in selection.cells.get(Cell(page, rtt_ms, tfo), ())]
