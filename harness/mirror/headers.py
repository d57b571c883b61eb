"""Which of a recorded response's headers are sent again, and how.

All are, since scripts read them, too (X-WP-TotalPages, HX-Trigger). Left out are headers that

- belong to one connection (RFC 9110, section 7.6.1) or to the framing, which the server does anew;
- lead away from the replay: Strict-Transport-Security (Chrome would leave http), Alt-Svc (it would try QUIC), NEL,
  Report-To and the like (Chrome would send reports, which no recording answers), what makes Chrome ask for things by
  itself (Speculation-Rules, sessions that are bound to a device);
- hold dates: Chrome's clock is shifted, so with a recorded Date every body would be old. Instead, the time for which
  something lasts is sent: Expires becomes Cache-Control's max-age, a cookie's Expires becomes its Max-Age;
- only say what the server is.

Content-Security-Policy is sent unchanged: it does not hold for scripts that Chrome injects for its driver.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import quote

from harness.files.har import STRIPPED
from harness.files.headers import Headers

OF_A_CONNECTION = ("connection", "content-length", "content-range", "http2-settings", "keep-alive",
                   "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
                   "transfer-encoding", "upgrade")
LEADING_AWAY = ("alt-svc", "alternate-protocol", "clear-site-data", "expect-ct", "nel", "public-key-pins",
                "public-key-pins-report-only", "report-to", "reporting-endpoints", "speculation-rules",
                "strict-transport-security", "use-as-dictionary")
OF_A_TIME = ("age", "date", "expires", "warning")
OF_THE_SERVER = ("server", "via", "x-powered-by", "x-tfo-lab-answer")
"""The last is of harness.record.sources.server."""
NOT_REPLAYED = frozenset((*OF_A_CONNECTION, *LEADING_AWAY, *OF_A_TIME, *OF_THE_SERVER))
NOT_REPLAYED_PREFIXES = ("attribution-reporting-", "sec-")
OF_NO_RECORDING: Headers = (("access-control-allow-origin", "*"),)
"""Of answers whose headers nobody recorded: every origin may read everything."""
OF_THE_BODY = frozenset(("content-type", "content-encoding", "content-language"))
"""Sent only together with a body."""
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
COOKIE_EXPIRES = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
URL_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))


def replayed(headers: Iterable[tuple[str, str]], recorded: datetime | None = None, *, body: bool = True) -> Headers:
    """Return those of the recorded headers that are to be sent, in their order, names in lower case.

    `recorded` is when the response came, for a response without a Date; `body` says whether the answer has a body.
    Values are text whose characters are the bytes on the wire (latin-1), without anything that could end a header.
    """
    pairs = [(name.strip().lower(), line) for name, value in headers for line in value.split("\n")]
    when = next((date for name, value in pairs if name == "date" and (date := _date(value))), recorded)
    kept = [pair for name, value in pairs for pair in _kept(name, _wire(value), when)
            if _is_replayed(name) and (body or name not in OF_THE_BODY)]
    return (*kept, *_lasting(pairs, when))


def location(url: str) -> str:
    """Return a redirect's target as a header can carry it."""
    return quote(url, safe=URL_CHARACTERS)


def _is_replayed(name: str) -> bool:
    return name not in NOT_REPLAYED and not name.startswith(NOT_REPLAYED_PREFIXES)


def _kept(name: str, value: str, when: datetime | None) -> Iterator[tuple[str, str]]:
    if not TOKEN.fullmatch(name) or STRIPPED.search(value):
        return
    if name == "set-cookie":
        yield name, _cookie(value, when)
    elif name == "location":
        yield name, location(value.encode("latin-1").decode("utf-8", "surrogateescape"))
    else:
        yield name, value


def _wire(value: str) -> str:
    text = FORBIDDEN.sub("", value).strip()
    try:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:    # half a character: JSON can hold that
        return text.encode("utf-8", "replace").decode("latin-1")


def _cookie(value: str, when: datetime | None) -> str:
    expires = COOKIE_EXPIRES.search(value)
    date = _date(expires[1]) if expires else None
    if date is None or when is None or "max-age" in value.lower():
        return value
    return f"{COOKIE_EXPIRES.sub('', value)}; Max-Age={max(0, _seconds(when, date))}"


def _lasting(pairs: list[tuple[str, str]], when: datetime | None) -> Headers:
    """Return a Cache-Control that says what Expires says, unless the recorded Cache-Control counts more (RFC 9111)."""
    said = dict(pairs)
    control = said.get("cache-control", "").lower()
    if "expires" not in said or when is None or re.search(r"max-age|no-cache|no-store", control):
        return ()
    date = _date(said["expires"])    # "0" and other nonsense: expired (RFC 9111, section 5.3)
    return (("cache-control", f"max-age={max(0, _seconds(when, date)) if date else 0}"),)


def _seconds(since: datetime, until: datetime) -> int:
    return int((until - since).total_seconds())


def _date(text: str) -> datetime | None:
    for form in (text.strip(), text.strip().replace("-", " ")):    # Netscape's dates have hyphens: 01-Jan-2027
        try:
            date = parsedate_to_datetime(form)
        except (ValueError, OverflowError):
            continue
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return None
