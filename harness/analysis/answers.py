"""Which recorded answers a load got, and whether something else than one lies on its critical path."""

from harness.analysis.timeline import DOCUMENT, SCRIPT, STYLE
from harness.files.load_parts import Coverage
from harness.files.results import LoadResult

NOT_AS_RECORDED = ("stand-in", "missing")
"""Kinds of answers that take another time than the page's own would."""
WHOLE_RATIO = 0.90
"""Loads that get this share of the recorded answers and bytes have the page whole (harness.measure.coverage)."""
PARTS = frozenset((DOCUMENT, SCRIPT, STYLE))
"""What a page is made of: without one of these it is another page."""


def doubtful_urls(load: LoadResult) -> list[str]:
    """Return the URLs on the critical path of `load` whose answers were not recorded for them, each once.

    These are stand-ins, and answers that the recording does not have: 404, or 504 where nobody answered then either.
    """
    received = load.record.answers.each if load.record and load.record.answers else ()
    return list(dict.fromkeys(answer.url for answer in received if answer.critical and not answer.late and (
        answer.kind in NOT_AS_RECORDED or (answer.expected and answer.status))))


def share_received(cover: Coverage) -> float:
    """Return the share of the recorded answers, or of their bytes if that is less, that a load got."""
    return min(got / held if held else 1.0 for got, held in ((cover.got, cover.recorded),
                                                             (cover.got_bytes, cover.recorded_bytes)))
