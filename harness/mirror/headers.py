"""Which of a recorded response's headers are sent again, and how.

All are, as scripts may read them (X-Total-Count) or act on them (htmx's HX-Trigger), and as each has its bytes: an
answer that is a little longer than TCP's first flight takes a round trip more. Left out are headers that

- belong to one connection (RFC 9110, section 7.6.1) or to the framing, which the server does anew;
- lead away from the replay: Strict-Transport-Security (Chrome would leave http), Alt-Svc (it would try QUIC), NEL,
  Report-To and the like (Chrome would send reports, which no recording answers), what makes Chrome ask for things by
  itself (Speculation-Rules, sessions that are bound to a device), dictionaries for compression.

Dates are those of another day. What follows from them is sent instead, so that Chrome keeps what it kept:

- Expires becomes Cache-Control's max-age, a cookie's Expires its Max-Age;
- where nothing says how long an answer lasts, Chrome takes a tenth of its age by Last-Modified (RFC 9111, section
  4.2.2): that becomes a max-age, too, or what had just been made would last for days;
- Date is kept, for the server to send that of the moment (harness.replay.reply), since Last-Modified is a strong
  validator only where Date is a minute later (RFC 9110, section 8.8.2.2): without one Chrome asks for films otherwise.
  Where it was not a minute later, Date is left out.

Content-Security-Policy is sent unchanged: it does not hold for scripts that Chrome injects for its driver.

Where no headers were recorded, a body's Content-Type is the one that its log has, else that of the file's extension,
else none: Chrome looks into it then (WHATWG MIME Sniffing standard, section 7).
"""

import mimetypes
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from posixpath import splitext
from urllib.parse import quote

from harness.files.har import STRIPPED
from harness.files.headers import Headers

OF_ONE_CONNECTION = frozenset((
    "connection", "content-length", "content-range", "http2-settings", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"))
LEADING_AWAY = frozenset((
    "alt-svc", "alternate-protocol", "expect-ct", "nel", "public-key-pins", "public-key-pins-report-only", "report-to",
    "reporting-endpoints", "speculation-rules", "strict-transport-security", "use-as-dictionary"))
NOT_REPLAYED = OF_ONE_CONNECTION | LEADING_AWAY | {"expires"}
NOT_REPLAYED_PREFIXES = ("attribution-reporting-", "sec-")
OF_NO_RECORDING: Headers = (("access-control-allow-origin", "*"),)
"""Of answers whose headers nobody recorded: every origin may read everything."""
OF_THE_BODY = frozenset(("content-type", "content-encoding", "content-language"))
"""Sent only together with a body."""
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
COOKIE_EXPIRES = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
WITH_HEURISTIC_LIFE = (200, 203, 206)
"""Statuses of which Chrome guesses how long an answer lasts (Chromium's net/http/http_response_headers.cc)."""
STRONG_AFTER_S = 60
URL_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))
MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
CHARSET = re.compile(r"[\w.:+-]+", re.ASCII)
_extensions = mimetypes.MimeTypes(filenames=())    # the same on every machine: /etc/mime.types is not read


def replayed(headers: Iterable[tuple[str, str]], recorded: datetime | None = None, *, body: bool = True,
             status: int = 200) -> Headers:
    """Return those of the recorded headers that are to be sent, in their order, names in lower case.

    `recorded` is when the response came, for a response without a Date; `body` says whether the answer has a body.
    Values are text whose characters are the bytes on the wire (latin-1), without anything that could end a header. The
    value of Date is the recorded one.
    """
    pairs = [(name.strip().lower(), line) for name, value in headers for line in value.split("\n")]
    said = dict(pairs)
    when = next((date for name, value in pairs if name == "date" and (date := _date(value))), recorded)
    modified = _date(said.get("last-modified", ""))
    left_out = NOT_REPLAYED | {word.strip().lower() for word in said.get("connection", "").split(",")}
    if not body:
        left_out |= OF_THE_BODY
    if modified and when and _seconds(modified, when) < STRONG_AFTER_S:
        left_out |= {"date"}
    kept = [pair for name, value in pairs if name not in left_out and not name.startswith(NOT_REPLAYED_PREFIXES)
            for pair in _kept(name, _wire(value), when)]
    return (*kept, *_lasting(said, when, modified if status in WITH_HEURISTIC_LIFE else None))


def location(url: str) -> str:
    """Return a redirect's target as a header can carry it."""
    return quote(url, safe=URL_CHARACTERS)


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


def _lasting(said: dict[str, str], when: datetime | None, modified: datetime | None) -> Headers:
    """Return a Cache-Control that says what Expires says, unless the recorded Cache-Control counts more (RFC 9111).

    Without either it says what Chrome made of the time since the answer was `modified`.
    """
    control = said.get("cache-control", "").lower()
    if when is None or re.search(r"max-age|no-cache|no-store", control):
        return ()
    if "expires" in said:
        date = _date(said["expires"])    # "0" and other nonsense: expired (RFC 9111, section 5.3)
        return (("cache-control", f"max-age={max(0, _seconds(when, date)) if date else 0}"),)
    if modified is None or "must-revalidate" in control or "no-cache" in said.get("pragma", "").lower():
        return ()
    return (("cache-control", f"max-age={max(0, _seconds(modified, when) // 10)}"),)


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


def content_type(told: str, name: str) -> str:
    """Return the Content-Type value of a body that stands in the file `name`, "" where nobody knows it.

    `told` is the recorded type, and a charset behind it: either may be missing, or nonsense.
    """
    mime, _, charset = map(str.strip, told.partition("; charset="))
    if not MIME_TYPE.fullmatch(mime):
        mime = _by_extension(name) or ""
    if mime and CHARSET.fullmatch(charset) and charset not in ("nil", "none", "None"):
        return f"{mime}; charset={charset}"
    return mime


def _by_extension(name: str) -> str | None:
    path = name.partition("?")[0].partition("#")[0]
    return _extensions.types_map[True].get(splitext(path)[1].lower())
