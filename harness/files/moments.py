"""Moments as programs write them down in HARs, WARCs, and the headers of answers: ISO 8601, with any number of digits
(.NET writes 7, Go 9), and RFC 2822. Numbers are none: whether they count s, ms or µs nobody knows.
"""

from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from dateutil import parser  # type: ignore[import-untyped]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONGEST = 100
"""Characters of a moment."""
NO_YEAR = datetime(1, 1, 1, tzinfo=timezone.utc)
"""What stands for the parts that a text does not name."""


def moment_of(found: Any) -> datetime | None:
    """Return the moment that a text names, in UTC; None for none.

    One without a time zone, as WebPageTest's agents and the HTTP Archive write all of theirs, is taken for UTC's: what
    counts is how long after another it is.
    """
    return _of_text(found[:LONGEST]) if isinstance(found, str) and not found.isnumeric() else None


@lru_cache(maxsize=2**14)
def _of_text(text: str) -> datetime | None:
    try:
        moment: datetime = parser.parse(text, default=NO_YEAR,
                                        tzinfos=lambda _name, offset_s: offset_s)   # CEST: no one zone in the world
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc) if moment.year > NO_YEAR.year else None
    except (ValueError, OverflowError, TypeError, AttributeError):
        return None


def moment_at(unix_ms: float) -> datetime:
    """Return the moment of a Unix time in ms, to whole ones."""
    return EPOCH + timedelta(milliseconds=round(unix_ms))


def iso_of(moment: datetime | None) -> str:
    """Return a moment as HARs have it, to whole ms; the epoch for one that nobody knows."""
    return (moment or EPOCH).isoformat(timespec="milliseconds")
