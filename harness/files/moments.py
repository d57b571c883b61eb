"""Moments as programs write them down: in HARs, WARCs, and the headers of answers.

    2024-03-05T10:00:00.1234567Z        ISO 8601, with any number of digits (.NET writes 7, Go 9), or of the day alone
    1709632800.123, 1709632800123       s, ms or µs since the epoch, as a number or a text
    Tue, 05 Mar 2024 10:00:00 GMT       RFC 2822, and what a browser's Date prints
"""

import math
import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from dateutil import parser  # type: ignore[import-untyped]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NUMBER = re.compile(r"[0-9]{1,17}(?:\.[0-9]{0,17})?", re.ASCII)
MOST_SECONDS = 1e11
"""Numbers from here on count ms, from a thousand times as many on µs: so many seconds are over in the year 5138."""
DIGITS_OF_ARCHIVES = re.compile(r"(?:19|20)[0-9]{12}", re.ASCII)
"""YYYYMMDDhhmmss, as web archives name captures."""
OF_DATE = re.compile(r"(?:GMT|UTC)(?=[+-][0-9])|\s*\([^()]*\)$")
"""What a browser's Date prints around a time zone: GMT+0100 (Central European Standard Time). POSIX means -0100 by
that, and so does dateutil.
"""
LONGEST = 100
"""Characters of a moment."""
NO_YEAR = datetime(1, 1, 1, tzinfo=timezone.utc)
"""What stands for the parts that a text does not name."""


def moment_of(found: Any) -> datetime | None:
    """Return the moment that a number or a text names, in UTC; None for none.

    One without a time zone, as WebPageTest's agents and the HTTP Archive write all of theirs, is taken for UTC's: what
    counts is how long after another it is.
    """
    try:
        if isinstance(found, int | float) and not isinstance(found, bool):
            return _since_the_epoch(float(found))
        return _of_text(str(found).strip()[:LONGEST])
    except (ValueError, OverflowError, TypeError, AttributeError):
        return None


@lru_cache(maxsize=2**14)
def _of_text(text: str) -> datetime | None:
    """Raises as dateutil does for what names no moment."""
    if NUMBER.fullmatch(text) and not DIGITS_OF_ARCHIVES.fullmatch(text):
        return _since_the_epoch(float(text))
    moment: datetime = parser.parse(OF_DATE.sub("", text), default=NO_YEAR,
                                    tzinfos=lambda _name, offset_s: offset_s)       # CEST: no one zone in the world
    if moment.year == NO_YEAR.year:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def _since_the_epoch(number: float) -> datetime:
    """Raises OverflowError for what is no time."""
    while MOST_SECONDS <= abs(number) < math.inf:
        number /= 1000
    return EPOCH + timedelta(seconds=number)
