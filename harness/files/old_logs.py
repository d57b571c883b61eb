"""Which loads of the 2013 tool can be believed, judged from their text logs alone.

That tool kept no notes on its loads: a crashed browser, a page answered with 404 and a full page load all left a log,
and all of them entered its table.
"""

from operator import attrgetter
from pathlib import Path

from harness.errors import InputError
from harness.files.pages import sanitise
from harness.files.text_log import PageLog, Transaction, read_log


def judge_old_log(path: Path, page: str, problems: list[str]) -> tuple[str, float | None, tuple[str, ...]]:
    """Return the URL of the log of `page` (its sanitised name), the end of its last transaction in ms, and why it must
    be left out (empty: it counts). What could not be read in it becomes lines in `problems`.
    """
    try:
        log = read_log(path)
    except InputError as error:
        return page, None, (str(error),)
    problems += log.problems
    # The page's own request: the earliest one for its URL, else the earliest of all. Not the first in the log, which is
    # in order of completion: a style sheet may complete before its page.
    own = [transaction for transaction in log.transactions if sanitise(transaction.url) == page]
    document = min(own or log.transactions, key=attrgetter("start_ms"), default=None)
    last_ms = max((transaction.end_ms for transaction in log.transactions), default=None)
    return document.url if document else page, last_ms, tuple(_why_not(log, document))


def _why_not(log: PageLog, document: Transaction | None) -> list[str]:
    """Return why a load of 2013 does not count, in words; nothing if it does."""
    if not log.transactions_seen:
        return ["no <transactions>: the browser crashed"]
    reasons = []
    if not log.transactions_whole:
        reasons.append("truncated: <transactions> has no end")
    elif "transactions" in log.torn:
        reasons.append("torn: <transactions> lacks a row, or a part of one")
    if document is None:
        return [*reasons, "no request in it"]
    status = next((response.status for response in log.responses if response.url == document.url), None)
    if status is None and "responses" in log.torn:
        reasons.append("torn: <responses> lacks a row, which may be the page's own")
    if "not found" in (status or "").lower():
        reasons.append(f'the page itself was answered "{status}"')
    if max(transaction.end_ms for transaction in log.transactions) <= 0:
        reasons.append("its last transaction ends before the load begins: its clock was set")
    if len(log.transactions) == 1:
        reasons.append("only 1 request: nothing but the document was loaded")
    return reasons
