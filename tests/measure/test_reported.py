"""What Chrome's side reports of a load may be anything: the page may have taken it over."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.files.load_record import LoadRecord
from harness.measure.record import _reported

KNOWN: dict[str, Any] = {
    "url": "http://a.org", "page": "httpa.org", "delaynet_ms": 10, "rtt_ms": 20, "tfo": 1, "run": 2, "experiment": "x",
    "connections_with_request": 3, "syn_data_connections": 3, "counters": {"user": {}, "servers": {}},
    "delay_line_drops": 0, "began_s": 5.0,
    "environment": {"kernel": "6.18", "versions": {"chrome": "156"}, "argv": ["chrome"], "load_average": 0.5}}
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
                      lambda inner: st.lists(inner, max_size=2)
                      | st.dictionaries(st.text(max_size=3), inner, max_size=2))
names = st.sampled_from([*LoadRecord.__dataclass_fields__, "valid", "format"]) | st.text(max_size=4)


@given(report=st.dictionaries(names, values))
def test_any_report_gives_a_record_that_says_what_is_known_here(report: dict[str, Any]) -> None:
    record = _reported(report, KNOWN)
    for name, value in KNOWN.items():
        if name != "environment":
            assert getattr(record, name) == value
    assert (record.attempt, record.answers, record.timekeeping, record.why_not) == (1, None, None, ())
    assert LoadRecord.from_json({**record.to_json(), "valid": True}) == record


def test_what_chrome_painted_when_is_in_the_record() -> None:
    """FCP and LCP were told by Chrome, and not taken over: no record had them."""
    record = _reported({"fcp_ms": 12.5, "lcp_ms": 40.0, "plt_ms": 100.0}, KNOWN)
    assert (record.fcp_ms, record.lcp_ms) == (12.5, 40.0)


def test_a_report_that_is_none_is_an_error_of_the_load() -> None:
    record = _reported({"plt_ms": "fast", "errors": []}, KNOWN)
    assert record.errors == ("the report of load_page.py is not one: plt_ms: expected float or null, got str",)
    assert record.plt_ms is None
    assert record.environment is not None
    assert (record.environment.kernel, record.environment.argv) == ("6.18", None)
