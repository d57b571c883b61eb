"""Moments in all forms in which programs write them down."""

from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.moments import moment_of

TEN = datetime(2024, 3, 5, 10, tzinfo=timezone.utc)


@pytest.mark.parametrize(("found", "after_us"), [
    ("2024-03-05T10:00:00Z", 0), ("2024-03-05T11:00:00.5+01:00", 500_000), ("2024-03-05T10:00:00.1234567Z", 123_456),
    ("2024-03-05T10:00:00.123456789+0000", 123_456), ("2024-03-05 10:00:00", 0), ("20240305100000", 0),
    (1709632800, 0), (1709632800.25, 250_000), (1709632800123, 123_000), (1709632800123456, 123_456),
    ("1709632800", 0), ("1709632800.5", 500_000), ("1709632800123", 123_000),
    ("Tue, 05 Mar 2024 10:00:00 GMT", 0), ("Tue, 05 Mar 2024 10:00:00 -0000", 0),
    ("Tue Mar 05 2024 11:00:00 GMT+0100 (Central European Standard Time)", 0)])
def test_a_moment_in_all_its_forms(found: Any, after_us: int) -> None:
    moment = moment_of(found)
    assert moment is not None
    assert round((moment - TEN).total_seconds() * 1e6) == after_us


def test_a_day_is_its_beginning() -> None:
    assert moment_of("2024-03-05") == datetime(2024, 3, 5, tzinfo=timezone.utc)


@pytest.mark.parametrize("found", ["", "yesterday", "12:00", None, True, [], {}, float("inf"), float("nan"), 99 * "9",
                                   "2024-02-30T10:00:00Z", "0001-01-01T00:00:00Z", "2024-03-05T10:00:00+99:99"])
def test_what_is_no_moment(found: Any) -> None:
    assert moment_of(found) is None


@given(st.one_of(st.text(), st.floats(), st.integers()))
def test_all_moments_can_be_compared(found: Any) -> None:
    moment = moment_of(found)
    assert moment is None or moment.tzinfo is timezone.utc
