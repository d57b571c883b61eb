"""Redirects in a replay: by order, by cookie, through stand-ins, and where they end."""

from tests.support.written import Written


def test_a_recorded_end_is_found_however_the_redirect_was_written(written: Written) -> None:
    written.add("/go?ord=1", to="HTTPS://A.test:443/next?s=5")
    written.add("/next?s=5", to="https://a.test/end")
    written.add("/end", "end")
    recording = written.read()
    assert recording.exact_url("HTTPS://A.test:443/next?s=5#top")
    assert "https://a.test/next?s=5" not in recording.unrecorded_ends
