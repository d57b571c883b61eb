"""A web archive on the network, asked for each request as of one day, with the Wayback Machine's addresses.

    https://web.archive.org/web/20130312000000id_/http://www.example.org/

``id_`` asks for the body as it was captured. The archive redirects to the capture that is nearest in time. An answer
that is a capture says when it was made (Memento-Datetime, RFC 7089); any other is the archive's own. The Internet
Archive sends the captured headers under names that begin with X-Archive-Orig-, and headers of its own beside them. Of
these only the type and where a redirect leads are the captured answer's.
"""

import re
from collections import Counter
from datetime import date
from urllib.parse import urljoin

import requests
import urllib3
from msgspec.structs import replace
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from harness.files.encoding import LARGEST_BODY
from harness.files.exchange import UNKNOWN, Answer, Exchange, Request
from harness.files.headers import REDIRECTS, Headers, header_in, without
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask
from harness.record.sources.body import stated_bytes, with_body, with_coding

INTERNET_ARCHIVE = "https://web.archive.org/web"
CAPTURE = re.compile(r"/(\d{1,14})id_/(?P<url>https?:/.*)$")
CAPTURED = "x-archive-orig-"
AT_ONCE = 4
"""Requests to the archive that may be under way together."""
MOST_HOPS = 10
TRIES = 3
"""How often a request is made again; the archive says how long to wait (Retry-After)."""
LONGEST_WAIT_S = 60
BUSY = (429, 500, 502, 503, 504)
ANSWER_S = 60.0
TOO_LARGE = "it is too large"


class UnansweredError(OSError):
    """The archive did not say whether it has something."""


class WebArchive:
    """The pages as they were on `day`, as far as the archive at the address `archive` has them."""

    def __init__(self, day: date, archive: str = INTERNET_ARCHIVE, pause_s: float = 1.0) -> None:
        """Nothing is asked yet. `pause_s` is how long to wait after a failure; it doubles with each."""
        self.name = f"{archive.rstrip('/')} as of {day.isoformat()}"
        self._troubles: Counter[str] = Counter()
        """Requests that the archive did not answer, by what it did instead."""
        self._prefix = f"{archive.rstrip('/')}/{day:%Y%m%d}000000id_/"
        again = Retry(TRIES, redirect=0, status_forcelist=BUSY, backoff_factor=pause_s, raise_on_status=False,
                      retry_after_max=LONGEST_WAIT_S)
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=AT_ONCE, pool_block=True, max_retries=again))
        self._session.headers["Accept-Encoding"] = "gzip, br"

    def find(self, url: str) -> Exchange | None:
        """Return the capture that is nearest to the day, with an error if it cannot be used; None without one.

        Raises UnansweredError when the archive did not say: another page may need it, too.
        """
        troubles = self._troubles       # of the page at hand: a request may outlive it
        try:
            return self._ask(url)
        except (OSError, urllib3.exceptions.HTTPError) as error:       # those of requests are OSErrors
            troubles[str(error) if isinstance(error, UnansweredError) else type(error).__name__] += 1
            raise UnansweredError from None

    def complaints(self) -> list[str]:
        """Return what the archive did instead of answering since the last call: what was asked for then is unknown."""
        troubles, self._troubles = self._troubles, Counter()
        return [f"{self.name} did not answer {count} requests ({what}); try again later"
                for what, count in troubles.items()]

    def _ask(self, url: str) -> Exchange | None:
        """Return the capture, None when there is none. Raises errors of requests and urllib3."""
        address = self._prefix + url
        for _ in range(MOST_HOPS):
            with self._session.get(address, allow_redirects=False, stream=True, timeout=ANSWER_S) as answer:
                if "memento-datetime" in answer.headers:
                    return _capture(url, answer)
                if answer.status_code in BUSY:
                    raise UnansweredError(f"status {answer.status_code}")
                address = urljoin(address, answer.headers.get("location", ""))
                if not answer.is_redirect or not CAPTURE.search(address):
                    return None
        return None


def _capture(url: str, answer: requests.Response) -> Exchange:
    """Return the answer as it was captured. Raises urllib3's errors if it breaks off."""
    body: bytes = answer.raw.read(LARGEST_BODY + 1, decode_content=False)
    answer.raw.read(1)      # it says whether the body broke off
    headers = _captured_headers(answer)
    if there := header_in(headers, "location"):
        inside = CAPTURE.search(there)
        there = inside["url"] if inside else there
        headers = (*without(headers, "location"), ("Location", there))
    captured = Answer(answer.status_code, answer.reason or "", "", headers, header_in(headers, "content-type"),
                      as_browsers_ask(there, url) if there and answer.status_code in REDIRECTS else "",
                      body_bytes=len(body))
    exchange = Exchange(request=Request("GET", url), answer=captured,
                        started=moment_of(answer.headers["memento-datetime"]))
    if len(body) > LARGEST_BODY:
        return replace(exchange, error=TOO_LARGE)
    return with_body(exchange, body, captured.header("content-encoding"), stated_bytes(headers) or UNKNOWN)


def _captured_headers(answer: requests.Response) -> Headers:
    """Return the headers of the capture, with the encoding that the body has now."""
    pairs = [(str(name), str(value)) for name, value in answer.raw.headers.items()]
    captured = [(name[len(CAPTURED):], value) for name, value in pairs if name.lower().startswith(CAPTURED)]
    known = {name.lower() for name, _ in captured}
    captured += [(name, value) for name, value in pairs
                 if name.lower() in ("content-type", "location") and name.lower() not in known]
    return with_coding(without(tuple(captured), "content-encoding", "content-length"),
                       answer.headers.get("content-encoding", ""))
