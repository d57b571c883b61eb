"""Which connections TFO saves something on a first visit: those that begin when a cookie for their server is there."""

from dataclasses import replace

import pytest
from harness.analysis.cookies import without_a_cookie

from harness.analysis.timeline import make_timeline
from harness.files.load_parts import CookieMode
from tests.support.made_har import PAGE, MadeLoad


def load() -> MadeLoad:
    """A page, two images of its server at once, one of a sibling's, one of another site's, and one more of that."""
    made = MadeLoad(0.0)
    found = made.add(PAGE, 0, "document", referer="")
    first = [made.add(url, found, "image") for url in
             (f"{PAGE}1.gif", f"{PAGE}2.gif", PAGE.replace("://", "://img.") + "3.gif", "http://other.test/4.gif",
              "http://other.test/5.gif")]
    made.plt_ms = made.add("http://other.test/6.gif", max(first), "image")
    return made


@pytest.mark.parametrize(("mode", "cookieless"), [
    ("warm", set()),
    ("cold", {"", "3.gif", "4.gif", "5.gif"}),
    ("domain", {"", "4.gif", "5.gif"})])
def test_connections_without_a_cookie(mode: CookieMode, cookieless: set[str]) -> None:
    made = load()
    requests = make_timeline(made.log(), made.record(), made.plt_ms).requests
    found = without_a_cookie(requests, mode)
    assert {request.url.rpartition("/")[2] for request in requests if request.order in found} == cookieless


@pytest.mark.parametrize("mode", ["cold", "domain"])
def test_hosts_that_share_a_server_share_its_cookie(mode: CookieMode) -> None:
    """With all on one address (--layout one) only the document's connection begins before its cookie has come."""
    made = load()
    requests = [replace(request, address="10.0.0.2")
                for request in make_timeline(made.log(), made.record(), made.plt_ms).requests]
    assert without_a_cookie(requests, mode) == {requests[0].order}
