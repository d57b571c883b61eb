"""Whether a page led on to another page, which then is the page that is shown, and whose load is timed.

A script leads on, or a Refresh, the header of HTTP or the <meta> of HTML. The net-log does not tell them apart.
"""

from itertools import dropwhile

from harness.files.urls import document_url
from harness.netlog.load import SLACK_MS, NetLog


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


def in_words(url: str) -> str:
    """Say that a page led on to the page at `url`, and what to do."""
    return f"a script or Refresh of the page led on to another page, {url}: list that one instead"
