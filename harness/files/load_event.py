"""When a page's load event was, and which requests it did not wait for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LoadEvent:
    """From when to when the handlers of a load event ran (Navigation Timing: loadEventStart, loadEventEnd); in ms."""

    start_ms: float
    end_ms: float

    def is_late(self, start_ms: float, end_ms: float | None) -> bool:
        """Tell whether the event did not wait for a request from `start_ms` to `end_ms` (None: it never ended).

        What a handler of the event asks for does not hold it up, unless the handler waits for it (a synchronous
        XMLHttpRequest): then it ends before the event does.
        """
        in_handler = self.start_ms <= start_ms <= self.end_ms
        return start_ms > self.end_ms or (in_handler and (end_ms is None or end_ms > self.end_ms))


def load_event_of(timing: Mapping[str, Any], *, began_ms: float = 0.0) -> LoadEvent | None:
    """Return the load event that a page's navigation `timing` tells of, None without one; `began_ms` is added."""
    end_ms = timing.get("loadEventEnd")
    if not end_ms:
        return None
    return LoadEvent(began_ms + float(timing.get("loadEventStart") or end_ms), began_ms + float(end_ms))
