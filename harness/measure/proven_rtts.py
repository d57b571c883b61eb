"""The RTT to each server before anything is loaded: measured, printed, and measured again while one is off."""

import time
from collections.abc import Callable, Mapping

from harness.network.rtt import AT_ONCE, AT_ONCE_UP, Nominal, RttError, check_rtts, measure_rtts
from harness.network.star import LinkSpeeds, Star
from harness.system.busy import wait_for_quiet

RTT_PAUSE_S = 5.0
"""How long a wrong RTT waits for a quiet machine before it is measured again."""

RttsMs = dict[str, float]
"""The RTT in ms to each server, by its name."""


def proven_rtts_ms(measure: Callable[[], RttsMs], wanted_ms: Nominal, in_words: Callable[[RttsMs], str],
                   patience_s: float) -> RttsMs:
    """Return what `measure` returns; print each time what `in_words` makes of it.

    When an RTT is not the one that is wanted, `measure` is called again, until `patience_s` are over. Raises
    RttError when one is still wrong then.
    """
    deadline_s = time.monotonic() + patience_s
    while True:
        rtts_ms = measure()
        print(in_words(rtts_ms), flush=True)
        try:
            check_rtts(rtts_ms, wanted_ms)
            return rtts_ms
        except RttError:
            if time.monotonic() >= deadline_s:
                raise
        wait_for_quiet(min(RTT_PAUSE_S, deadline_s - time.monotonic()))


def measured_in_words(rtts_ms: RttsMs) -> str:
    """Return how many servers were measured, and the shortest and the longest RTT."""
    return f"{len(rtts_ms)} servers: {min(rtts_ms.values()):.1f} to {max(rtts_ms.values()):.1f} ms measured"


def proven_rtts_of_star_ms(star: Star, port: int, speeds: LinkSpeeds, *, netem: bool, patience_s: float = 0) -> RttsMs:
    """Measure the RTT to each server of the star, as `proven_rtts_ms` does: how long a TCP connect takes."""
    wanted_ms = speeds.rtts_ms(star.servers)
    at_once = AT_ONCE_UP if speeds.home_is_narrow else AT_ONCE

    def in_words(rtts_ms: RttsMs) -> str:
        return f"RTT to {measured_in_words(rtts_ms)}, {_wanted_in_words(rtts_ms, wanted_ms)} " \
               f"({'netem' if netem else 'delay line'})"

    return proven_rtts_ms(lambda: measure_rtts(star, port, at_once=at_once), wanted_ms, in_words,
                          patience_s)


def _wanted_in_words(rtts_ms: RttsMs, wanted_ms: Mapping[str, float]) -> str:
    """Return the RTT that is wanted; where it is not the same for all servers, also how far off the worst one is."""
    least, most = min(wanted_ms.values()), max(wanted_ms.values())
    if least == most:
        return f"{most:g} ms wanted"
    off_ms = max(abs(rtts_ms[name] - wanted_ms[name]) for name in rtts_ms)
    return f"{least:g} to {most:g} ms wanted, as recorded, each within {off_ms:.1f} ms of its own"
