"""Which recorded headers are sent again: what decides a load is, what would lead away from the replay is not."""

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from harness.mirror.headers import TOKEN, replayed

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


def test_without_a_date_the_time_of_recording_counts() -> None:
    recorded = datetime(2026, 11, 21, 9, tzinfo=timezone.utc)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")], recorded) == (("cache-control", "max-age=60"),)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")]) == ()
