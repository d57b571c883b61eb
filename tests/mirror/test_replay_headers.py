"""Which recorded headers are sent again, of any: what would lead away from the replay never. What is sent of single
ones: tests/corpus/functions.json.
"""

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from harness.mirror.headers import TOKEN, replayed

NEVER = ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
         "transfer-encoding", "upgrade", "content-length", "content-range", "strict-transport-security", "alt-svc",
         "expires", "nel", "report-to", "reporting-endpoints", "use-as-dictionary", "speculation-rules",
         "sec-session-registration", "attribution-reporting-register-source")
SENT = ("content-type", "Content-Encoding", "Cache-Control", "Location", "Vary", "Link", "Set-Cookie", "Date",
        "Last-Modified", "Pragma", "Content-Security-Policy", "HX-Trigger")
DATE = "Sat, 21 Nov 2026 09:00:00 GMT"
headers = st.lists(st.tuples(st.sampled_from(NEVER + SENT) | st.text(max_size=8),
                             st.text(st.characters(), max_size=30) | st.just(DATE)), max_size=12)


@given(headers, st.booleans())
def test_no_header_breaks_a_response_or_leads_away(recorded: list[tuple[str, str]], body: bool) -> None:
    """A replay that is recorded and replayed again sends the same."""
    sent = replayed(recorded, body=body)
    for name, value in sent:
        assert TOKEN.fullmatch(name)
        assert name == name.lower()
        assert name not in NEVER
        assert body or name not in ("content-type", "content-encoding")
        value.encode("latin-1")
        assert not set(value) & set("\r\n\0")
        assert value == value.strip(" \t")
    as_text = [(name, value.encode("latin-1").decode("utf-8", "surrogateescape")) for name, value in sent]
    assert replayed(as_text, body=body) == sent


def test_without_a_date_the_time_of_recording_counts() -> None:
    recorded = datetime(2026, 11, 21, 9, tzinfo=timezone.utc)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")], recorded) == (("cache-control", "max-age=60"),)
    assert replayed([("Expires", "Sat, 21 Nov 2026 09:01:00 GMT")]) == ()
