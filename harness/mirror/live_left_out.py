"""What a replay leaves out of a page's live connections: what they said after the recorded load event.

harness.mirror.live says why. A page that its live connections fill, such as a feed, is replayed without that part.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.files.experiment import LiveLeftOut
from harness.files.moments import moment_of
from harness.mirror.live import MESSAGES, load_event_s, until_head_ms
from harness.system.untrusted import UnreadableFileError, read_untrusted_json


def live_left_out(har: Path) -> LiveLeftOut | None:
    """Return what is left out of a recorded page whose live connections said most after its load event.

    None for any other page, and where there is no such HAR. Nonsense in it is left out.
    """
    with suppress(UnreadableFileError, ValueError, TypeError, KeyError, AttributeError):
        log = read_untrusted_json(har)["log"]
        entries, end_s = list(log["entries"]), load_event_s(log)
        came = [came for entry in entries for came in _came(entry)]
        late, total = sum(size for at_s, size in came if at_s > end_s), sum(size for _, size in came)
        asked = [entry for entry in entries if str(entry["request"]["url"]).startswith("http")]
        if 2 * late > total:
            return LiveLeftOut(late, total, sum(bool(entry.get("_afterLoad")) for entry in asked), len(asked))
    return None


def _came(entry: dict[str, Any]) -> Iterator[tuple[float, int]]:
    """Give when, in s since the epoch, a live connection brought how much: characters of messages, bytes of streams."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        for message in entry.get(MESSAGES) or ():
            if message["type"] == "receive":
                yield float(message["time"]), len(str(message["data"]))
        began, before = moment_of(entry.get("startedDateTime")), 0
        for time_ms, so_far in entry.get("_arrivals") or ():
            if began is None:
                return
            yield began.timestamp() + (until_head_ms(entry) + float(time_ms)) / 1000, int(so_far) - before
            before = int(so_far)
