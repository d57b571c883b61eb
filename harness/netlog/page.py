"""What a net-log says of one page load: its exchanges, its log in the 2013 format, and where it led.

    netlog = read_netlog(Path("netlog.json"))
    start_tick = netlog.tick(navigation_start_unix_ms)          # the real one (harness.browser.page.TIME_ORIGIN)
    end_load(netlog, end_tick)                                  # what comes later comes from closing Chrome
    found = exchanges(netlog, start_tick)                       # in a HAR: harness.files.har.to_har
    log = page_log(netlog, start_tick)                          # the 2013 text format, see harness.files.text_log

Chrome logs no cookie values: in a HAR `cookies` are empty.
"""

from itertools import dropwhile

from harness.files.exchange import UNFINISHED, UNKNOWN, Answer, Exchange, Request, fate_of
from harness.files.headers import header_in
from harness.files.load_record import LoadEvent
from harness.files.text_log import PageLog, Resolve, Response, Transaction
from harness.files.urls import document_url
from harness.netlog.connections import Job
from harness.netlog.load import NetLog
from harness.netlog.transactions import HttpTransaction
from harness.system.tcp import without_port

PREVIOUS_DOCUMENT = "of the document that was replaced"
SLACK_MS = 5
"""By how much a transaction may seem to begin before its load does: Chrome's clocks are rounded apart."""


def exchanges(netlog: NetLog, start_tick: float, load_event: LoadEvent | None = None) -> list[Exchange]:
    """Return what was asked for in the load that began at `start_tick`, in order of start, each with its fate.

    `load_event`, in ticks, is None where there was none, or nobody knows when.
    """
    return [Exchange(
        request=Request(transaction.method, transaction.url, transaction.request_headers),
        answer=_answer(transaction), started=netlog.moment(transaction.start), phases=transaction.phases,
        connection=str(connection.id) if (connection := transaction.connection) else "",
        address=without_port(connection.address) if connection else "", error=transaction.error,
        fate=fate_of(transaction.url, transaction.error, answered=bool(transaction.status), late=load_event is not
                     None and load_event.is_late(transaction.start, transaction.end)),
        from_cache=transaction.from_cache, initiator=transaction.initiator, synchronous=transaction.synchronous)
        for transaction in of_load(netlog, start_tick)]


def _answer(transaction: HttpTransaction) -> Answer:
    headers = transaction.response_headers
    return Answer(
        status=transaction.status, reason=transaction.status_text,
        protocol=transaction.protocol, headers=headers,
        mime_type=header_in(headers, "content-type"), redirect_url=transaction.redirect_url or "",
        content_bytes=transaction.content_bytes,
        body_bytes=transaction.body_bytes if transaction.status or transaction.from_cache else UNKNOWN,
        early_hints=transaction.early_hints)


def page_log(netlog: NetLog, start_tick: float) -> PageLog:
    """Return the load that began at `start_tick` as a log in the 2013 format, times in ms from it.

    Transactions are in order of completion; those that are UNFINISHED are in `problems` instead. Every transaction with
    the head of an answer has a response. Of each name the first look-up is given.
    """
    asked = of_load(netlog, start_tick)
    over = sorted((each for each in asked if each.error != UNFINISHED), key=lambda each: each.end or 0)
    first: dict[str, Job] = {}
    for look_up in netlog.look_ups:
        first.setdefault(look_up.name, look_up)
    return PageLog(
        [Resolve(each.start - start_tick, each.end - start_tick, each.error, each.name, " ".join(each.addresses))
         for each in first.values()],
        [Transaction(each.start - start_tick, (each.end or 0) - start_tick, each.url) for each in over],
        [Response(each.status_text, each.mime_type, each.charset, each.url, each.redirect_url)
         for each in over if each.status],
        transactions_seen=bool(asked), problems=[*netlog.problems, *(
            f"{each.url}: not over when the load ended" for each in asked if each.error == UNFINISHED)])


def of_load(netlog: NetLog, start_tick: float) -> list[HttpTransaction]:
    """Return the transactions that began in the load, in order of start. SLACK_MS allows for rounding."""
    return [transaction for transaction in netlog.transactions if transaction.start >= start_tick - SLACK_MS]


def end_load(netlog: NetLog, end_tick: float) -> None:
    """Leave out what began after `end_tick`, when the load ended; what was not over by then is UNFINISHED."""
    netlog.transactions = [transaction for transaction in netlog.transactions if transaction.start <= end_tick]
    for transaction in netlog.transactions:
        if transaction.end is None or transaction.end > end_tick:
            transaction.error = UNFINISHED


def leave_out_previous_document(netlog: NetLog, start_tick: float) -> None:
    """Move to `left_out` what a document asked for that was being replaced when the load at `start_tick` began.

    A page that loads itself anew (location.reload()) lives on until the new document's head is there, and how much it
    still asks for is a race. The new document can ask for nothing before its own head, or what hints came before it.
    """
    document = next((transaction for transaction in of_load(netlog, start_tick)
                     if transaction.main_frame and not transaction.redirect_url), None)
    if document is None:
        return
    head_tick = first_word(document) - SLACK_MS
    kept = [transaction for transaction in netlog.transactions
            if transaction.main_frame or not start_tick - SLACK_MS <= transaction.start < head_tick]
    if len(kept) < len(netlog.transactions):
        netlog.left_out[PREVIOUS_DOCUMENT] += len(netlog.transactions) - len(kept)
        netlog.transactions = kept


def leave_out_before(netlog: NetLog, tick: float) -> None:
    """Leave out what began before `tick`: another visit of the page."""
    netlog.transactions = [transaction for transaction in netlog.transactions if transaction.start >= tick]
    netlog.connections = [connection for connection in netlog.connections if connection.start >= tick]
    netlog.look_ups = [look_up for look_up in netlog.look_ups if look_up.start >= tick]


def first_word(document: HttpTransaction) -> float:
    """Return when a document, or hints for it, began to arrive, in ticks: nothing asked for its parts before."""
    return document.head_tick if document.hinted is None else float(document.hinted)


def moved_on_to(netlog: NetLog, url: str, start_tick: float) -> str:
    """Return the URL of the document that Chrome shows if that of the page `url` led there, else "".

    `start_tick` is when the navigation to the document that is shown began. A page that loads itself again is still the
    same page, also by way of others, and so is a page that HTTP redirects lead to, or by. What came later than that
    document is not shown (a file to download), and what came before the page is the browser's own (its home page).
    """
    asked = document_url(url)
    of_page = [*dropwhile(lambda transaction: document_url(transaction.url) != asked,
                          (transaction for transaction in netlog.transactions if transaction.main_frame))]
    documents = [transaction for transaction in of_page if not transaction.redirect_url and transaction.status]
    before = [document for document in documents if document.start < start_tick - SLACK_MS]
    shown = [document.url for document in documents if document.start >= start_tick - SLACK_MS]
    if not before or not shown:
        return ""
    first = {document_url(transaction.url) for transaction in of_page[:of_page.index(before[0]) + 1]}
    return "" if document_url(shown[0]) in first else shown[0]


def led_on_in_words(url: str) -> str:
    """Say that a page led on to the page at `url`, and what to do."""
    return f"a script or Refresh of the page led on to another page, {url}: list that one instead"
