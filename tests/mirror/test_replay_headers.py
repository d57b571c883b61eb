"""Which recorded headers are sent again: what decides a load is, what would lead away from the replay is not."""

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime
from http.cookies import SimpleCookie

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.mirror.headers import TOKEN, location, replayed

NEVER = ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
         "transfer-encoding", "upgrade", "content-length", "content-range", "strict-transport-security", "alt-svc",
         "expires", "nel", "report-to", "reporting-endpoints", "use-as-dictionary", "speculation-rules",
         "sec-session-registration", "attribution-reporting-register-source")
DATE = ("Date", "Sat, 21 Nov 2026 09:00:00 GMT")
TEXT = st.text(st.characters(), max_size=30)
names = st.one_of(st.sampled_from(NEVER), st.sampled_from([
    "content-type", "Content-Encoding", "Cache-Control", "Location", "Vary", "Access-Control-Allow-Origin", "Link",
    "Content-Security-Policy", "Timing-Allow-Origin", "Set-Cookie", "X-Content-Type-Options", "Referrer-Policy",
    "Cross-Origin-Opener-Policy", "Date", "Expires", "Last-Modified", "Pragma", "HX-Trigger"]), st.text(max_size=8))


def http_date(seconds: int) -> str:
    """Return the time so long after DATE."""
    return format_datetime(parsedate_to_datetime(DATE[1]) + timedelta(seconds=seconds), usegmt=True)


headers = st.lists(st.tuples(names, st.one_of(TEXT, st.just(DATE[1]))), max_size=12)


@given(headers, st.booleans())
def test_no_header_breaks_a_response_or_leads_away(recorded: list[tuple[str, str]], body: bool) -> None:
    sent = replayed(recorded, body=body)
    for name, value in sent:
        assert TOKEN.fullmatch(name)
        assert name == name.lower()
        assert name not in NEVER
        value.encode("latin-1")
        assert not set(value) & set("\r\n\0")
        assert value == value.strip(" \t")
    if not body:
        assert not any(name.startswith("content-type") or name == "content-encoding" for name, _ in sent)


@given(headers)
def test_sending_what_was_sent_changes_nothing(recorded: list[tuple[str, str]]) -> None:
    """A replay that is recorded and replayed again sends the same."""
    sent = replayed(recorded)
    as_text = [(name, value.encode("latin-1").decode("utf-8", "surrogateescape")) for name, value in sent]
    assert replayed(as_text) == sent


@pytest.mark.parametrize("name", [
    "Content-Type", "content-encoding", "Cache-Control", "VARY", "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers", "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Link",
    "Timing-Allow-Origin", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy",
    "WWW-Authenticate", "Set-Cookie", "Refresh", "HX-Trigger", "X-Total-Count", "Age", "Server", "Via",
    "Clear-Site-Data", "X-DNS-Prefetch-Control", "X-WP-TotalPages", "x-inertia", "grpc-status", "Server-Timing"])
def test_what_decides_a_load_is_sent_as_it_was(name: str) -> None:
    assert replayed([(name, "  some, value=1 ")]) == ((name.lower(), "some, value=1"),)


def test_order_and_repetition_are_kept() -> None:
    recorded = [("Set-Cookie", "a=1"), ("Vary", "x"), ("Set-Cookie", "b=2"), ("Link", "</a>; rel=preload\n</b>")]
    assert replayed(recorded) == (("set-cookie", "a=1"), ("vary", "x"), ("set-cookie", "b=2"),
                                  ("link", "</a>; rel=preload"), ("link", "</b>"))


@pytest.mark.parametrize(("expires", "cache", "sent"), [
    ("Sat, 21 Nov 2026 10:00:00 GMT", None, ["max-age=3600"]), ("Fri, 20 Nov 2026 10:00:00 GMT", None, ["max-age=0"]),
    ("0", None, ["max-age=0"]), ("Sat, 21 Nov 2026 10:00:00 GMT", "public", ["public", "max-age=3600"]),
    ("Sat, 21 Nov 2026 10:00:00 GMT", "Max-Age=5", ["Max-Age=5"]), ("-1", "no-store", ["no-store"])])
def test_what_lasts_until_a_date_lasts_as_long(expires: str, cache: str | None, sent: list[str]) -> None:
    recorded = [DATE, ("Expires", expires), *([("Cache-Control", cache)] if cache else [])]
    assert [value for name, value in replayed(recorded) if name == "cache-control"] == sent


@pytest.mark.parametrize(("seconds", "status", "more", "lasts_s"), [
    (1000, 200, {}, 100), (5, 200, {}, 0), (-5, 200, {}, 0), (1000, 206, {}, 100), (1000, 404, {}, None),
    (1000, 301, {}, None), (1000, 200, {"Cache-Control": "must-revalidate"}, None), (1000, 200, {"Expires": "0"}, 0),
    (1000, 200, {"Pragma": "no-cache"}, None), (1000, 200, {"Cache-Control": "no-cache"}, None),
    (1000, 200, {"Cache-Control": "max-age=7"}, 7)])
def test_what_says_not_how_long_it_lasts_lasts_a_tenth_of_its_age(seconds: int, status: int, more: dict[str, str],
                                                                  lasts_s: int | None) -> None:
    """Chrome's own guess; by Chrome's clock of the replay what had just been made would last for days."""
    sent = dict(replayed([DATE, ("Last-Modified", http_date(-seconds)), *more.items()], status=status))
    assert sent.get("cache-control", "").rpartition("max-age=")[2] == (
        more.get("Cache-Control", "") if lasts_s is None else str(lasts_s))


@pytest.mark.parametrize(("seconds", "is_sent"), [(60, True), (59, False), (-1, False)])
def test_a_date_is_sent_where_it_makes_last_modified_a_strong_validator(seconds: int, is_sent: bool) -> None:
    """RFC 9110, section 8.8.2.2: from a minute on."""
    sent = dict(replayed([DATE, ("Last-Modified", http_date(-seconds))]))
    assert ("date" in sent, "last-modified" in sent) == (is_sent, True)
    assert dict(replayed([DATE])) == {"date": DATE[1]}


def test_what_connection_names_belongs_to_the_connection() -> None:
    assert replayed([("Connection", "close, X-Hop"), ("X-Hop", "1"), ("X-End", "1")]) == (("x-end", "1"),)


def test_without_a_date_the_time_of_recording_counts() -> None:
    recorded = datetime(2026, 11, 21, 9, tzinfo=timezone.utc)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")], recorded) == (("cache-control", "max-age=60"),)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")]) == ()


@pytest.mark.parametrize(("cookie", "max_age"), [
    ("a=1; Path=/; Expires=Sat, 21 Nov 2026 10:00:00 GMT; Secure", "3600"),
    ("a=1; expires=Sat, 21-Nov-2026 10:00:00 GMT", "3600"), ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "0"),
    ("a=1; Max-Age=7; Expires=Sat, 21 Nov 2026 10:00:00 GMT", "7"), ("a=1; Expires=never", "")])
def test_a_cookie_lasts_as_long_as_it_did(cookie: str, max_age: str) -> None:
    (name, value) = replayed([DATE, ("Set-Cookie", cookie)])[1]
    assert name == "set-cookie"
    jar: SimpleCookie = SimpleCookie(value.replace("Expires=never", ""))
    assert (jar["a"].value, jar["a"]["max-age"]) == ("1", max_age)
    assert ("Secure" in value) == ("Secure" in cookie)


def test_what_chrome_did_not_tell_is_not_sent() -> None:
    assert replayed([("Set-Cookie", "[27 bytes were stripped]"), ("Vary", "x")]) == (("vary", "x"),)


def test_bytes_beyond_ascii_are_sent_as_utf_8() -> None:
    assert replayed([("Link", "</é>")]) == (("link", "</\xc3\xa9>"),)
    assert replayed([("Location", "/é ?q=1")]) == (("location", "/%C3%A9%20?q=1"),)
    assert location("http://a.test/é|x") == "http://a.test/%C3%A9|x"
