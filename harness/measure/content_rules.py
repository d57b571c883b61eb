"""CONTENT: the rules of what a load got, as far as the load itself shows it."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from harness.errors import first_few
from harness.files.exchange import UNFINISHED, Fate
from harness.files.load_parts import ASKED, ReceivedAnswer
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.coverage import GOT
from harness.measure.rule import Blame, Found, Rule, rule
from harness.mirror.answers import DOCUMENT_IS_GOOD, FAILED_RATIO
from harness.netlog.page import led_on_in_words

CONTENT: list[Rule] = []
NO_SUCH_HOST = "ERR_NAME_NOT_RESOLVED"


@rule(CONTENT, ReasonKind.BROWSER, "Chrome or its network process ended before the load did")
def _browser(load: LoadRecord) -> Iterable[str]:
    return load.errors


@rule(CONTENT, ReasonKind.LED_ON, "a script or a Refresh led on to another page; a page that loads itself again is no "
      "other page", blame=Blame.PAGE)
def _led_on(load: LoadRecord) -> Iterator[str]:
    if load.moved_on_to:
        yield led_on_in_words(load.moved_on_to)


@rule(CONTENT, ReasonKind.NO_LOAD_EVENT, "there was no load event", unless=(ReasonKind.BROWSER,))
def _no_load_event(load: LoadRecord) -> Iterator[str]:
    if load.plt_ms is None:
        yield "no load event" + (f" within {load.timed_out_s:g} s" if load.timed_out_s else "")


@rule(CONTENT, ReasonKind.NEVER_ENDED, "a request before the load event got no answer, and it did not hang when it was "
      "recorded")
def _never_ended(load: LoadRecord) -> Iterator[str]:
    """An answer that our time limit cut has another fate: a page may go on loading for ever after its load event."""
    each = load.answers.each if load.answers else ()
    if count := sum(answer.error == UNFINISHED and answer.is_one_of(frozenset((Fate.FAILED,))) for answer in each):
        yield f"requests that never ended: {count}"


@rule(CONTENT, ReasonKind.NO_DOCUMENT, "the document got no answer",
      unless=(ReasonKind.BROWSER, ReasonKind.NO_LOAD_EVENT))
def _no_document(load: LoadRecord) -> Iterator[str]:
    if load.document is None or not load.document.status:
        yield "the document never answered"


@rule(CONTENT, ReasonKind.DOCUMENT_STATUS, "the document's status is not 200", blame=Blame.PAGE)
def _document_status(load: LoadRecord) -> Iterator[str]:
    if load.document and load.document.status not in (0, *DOCUMENT_IS_GOOD):
        yield f"the document answered {load.document.status}"


@rule(CONTENT, ReasonKind.DOCUMENT_BYTES, "the document is not as large as recorded; of a page that loads itself "
      "again, as any of its recorded documents", blame=Blame.PAGE)
def _document_bytes(load: LoadRecord) -> Iterator[str]:
    shown = load.document
    if shown and shown.status in DOCUMENT_IS_GOOD and shown.bytes not in shown.recorded_bytes:
        sizes = " or ".join(map(str, shown.recorded_bytes)) or "none"
        yield f"the document had {shown.bytes} bytes, the recorded one has {sizes}"


@rule(CONTENT, ReasonKind.UNKNOWN_ANSWERS, "its HAR cannot be read")
def _unknown_answers(load: LoadRecord) -> Iterator[str]:
    if load.plt_ms is not None and load.answers is None:
        yield "what it got is not known: its HAR cannot be read"


@rule(CONTENT, ReasonKind.FAILED_REQUESTS, "requests failed, or the recording lacks their answers (an accident where "
      "servers refused or broke off)", blame=Blame.PAGE,
      threshold=f"over {FAILED_RATIO:.0%} of those before the load event",
      source="docs/data/sources-tried.tsv: what lacks more of its page today is another page")
def _failed_requests(load: LoadRecord) -> Iterator[Found]:
    if load.plt_ms is None or load.answers is None:     # it has a reason of its own, and may have been cut short
        return
    asked = [answer for answer in load.answers.each if answer.is_one_of(ASKED)]
    failed = [answer for answer in asked if answer.kind not in GOT]
    total = len(asked) + len(load.answers.from_cache)
    if len(failed) > FAILED_RATIO * total:
        of_page = all(answer.kind == "missing" or answer.error.endswith(NO_SUCH_HOST) for answer in failed)
        yield (f"{len(failed)} of {total} requests failed: {first_few([*dict.fromkeys(map(_why, failed))])}",
               Blame.PAGE if of_page else Blame.ACCIDENT)


def _why(failed: ReceivedAnswer) -> str:
    """Return the host that did not answer, and why."""
    why = "not recorded" if failed.kind == "missing" else failed.error.removeprefix("net::")
    return f"{urlsplit(failed.url).hostname or failed.url} ({why})"
