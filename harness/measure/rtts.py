"""How far away the servers are: all at one RTT, or each as it was when it was recorded (--rtt recorded).

Before anything is loaded the RTT to each server is measured, printed, and measured again while one is off.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.errors import InputError
from harness.files.hosts import Layout
from harness.measure.preflight import PageSet, ReplayedWeb
from harness.mirror.servers import recorded_rtts, scaled
from harness.network.rtt import PACE_S, SYN_BITS, RttError, check_rtts, measure_rtts
from harness.network.star import LinkSpeeds, Star
from harness.system.environment import wait_for_quiet
from harness.system.tcp import SYN_AGAIN_MS

RTT_PAUSE_S = 5.0
"""How long a wrong RTT waits for a quiet machine before it is measured again."""

UNUSED_PORT = 1
"""Nobody listens there on a host of ours: a connection is refused after one RTT, and stands in no server's log."""

RttsMs = dict[str, float]
"""The RTT in ms to each server, by its name."""


def links(web: ReplayedWeb) -> list[LinkSpeeds]:
    """Return the star's links at each RTT of the experiment, in turn.

    They are the same to every server or, with --rtt, each with the delay that was recorded: that many times as long as
    --rtt says, or scaled so that the median RTT is twice each of --delays, after which the results' folders are named.

    Raises InputError when the recording does not say how far away the servers were.
    """
    settings, layout = web.settings, web.layout
    speeds = LinkSpeeds(bw_home_mbit=settings.bw_home_mbit, bw_home_up_mbit=settings.bw_home_up_mbit,
                        buffer_kb=settings.buffer_kb, bw_net_mbit=settings.bw_net_mbit,
                        delay_home_ms=settings.delayhome_ms)
    if settings.rtt is None:
        return [replace(speeds, delay_net_ms=delay_ms) for delay_ms in settings.delays_ms]
    found = recorded_rtts(web.page_set.files, web.page_set.recording)
    if found.assumed:
        print(f"RTT as recorded: not known of {len(found.assumed)} of {len(found.rtts_ms)} servers, which get the "
              f"median of the others: {', '.join(found.assumed)}", flush=True)
    if settings.delays_ms and not found.median_ms:
        raise InputError("--rtt recorded: the median of the recorded RTTs is 0 ms, which cannot be scaled; leave out "
                         "the other delays")
    return [replace(with_recorded_rtts(speeds, scaled(found.rtts_ms, 2 * delay_ms / found.median_ms), layout),
                    delay_net_ms=delay_ms) for delay_ms in settings.delays_ms] or \
        [with_recorded_rtts(speeds, scaled(found.rtts_ms, float(settings.rtt.partition("*")[2] or 1)), layout)]


def with_recorded_rtts(speeds: LinkSpeeds, rtts_ms: Mapping[str, float], layout: Layout) -> LinkSpeeds:
    """Return `speeds` with a delay of its own for the link to each server: half of the RTT to its host.

    A server that several hosts share gets the RTT of the nearest of them. `delay_net_ms` of the result is half of the
    median of the hosts' RTTs, and so the same in each layout. Raises InputError.
    """
    nearest = {server: min(hosts, key=lambda host: rtts_ms[host]) for server, hosts in layout.servers(rtts_ms).items()}
    farthest = max(nearest.values(), key=lambda host: rtts_ms[host])
    if rtts_ms[farthest] >= SYN_AGAIN_MS:
        raise InputError(f"--rtt recorded: an RTT of {rtts_ms[farthest]:g} ms, to {farthest}, is {SYN_AGAIN_MS:g} ms "
                         "or more: every SYN would be sent again, and no load count; scale by less, or write a shorter "
                         "one into NAME.rtts")
    return replace(speeds, delay_net_ms=round(statistics.median(rtts_ms.values()), 1) / 2,
                   own_delays_ms={server: rtts_ms[host] / 2 for server, host in nearest.items()})


def own_rtts(web: ReplayedWeb, speeds: LinkSpeeds) -> Mapping[str, Any]:
    """Return what an experiment's file says of --rtt; None where all servers are equally far away."""
    if web.settings.rtt is None:
        return {"server_rtts_ms": None, "rtts_assumed": None}
    found = recorded_rtts(web.page_set.files, web.page_set.recording)
    rtts_ms = speeds.rtts_ms(speeds.own_delays_ms)
    of_hosts = {host: rtts_ms[web.layout.server_of(host)] for host in found.rtts_ms}
    return {"server_rtts_ms": of_hosts, "rtts_assumed": [*found.assumed]}


def thinking_rtts(page_set: PageSet) -> Mapping[str, float]:
    """Return, for --think recorded, the RTT to each server when it was recorded.

    A recorded wait for an answer, less that RTT, is the time that the server itself took. Raises InputError when the
    recording has no times.
    """
    files, recording = page_set.files, page_set.recording
    rtts_ms = recorded_rtts(files, recording, "--think recorded").rtts_ms
    if all(answer.wait_ms is None for answer in recording.each if answer.page):
        raise InputError(f"{files.fetchlog}: --think recorded: this recording does not tell how long its servers took "
                         "to answer; record its pages with fetch.py, or leave the option out")
    return rtts_ms


def proven_rtts_ms(measure: Callable[[], RttsMs], wanted_ms: Mapping[str, float], by: str,
                   patience_s: float) -> RttsMs:
    """Return what `measure` returns; print each time how short and long RTTs are, and what they are made `by`.

    When an RTT is not the one that is wanted, `measure` is called again, until `patience_s` are over. Raises
    RttError when one is still wrong then.
    """
    wanted = " to ".join(f"{rtt_ms:g}" for rtt_ms in sorted({min(wanted_ms.values()), max(wanted_ms.values())}))
    deadline_s = time.monotonic() + patience_s
    while True:
        rtts_ms = measure()
        print(f"RTT to {len(rtts_ms)} servers: {min(rtts_ms.values()):.1f} to {max(rtts_ms.values()):.1f} ms measured, "
              f"{wanted} ms wanted ({by})", flush=True)
        try:
            check_rtts(rtts_ms, wanted_ms)
            return rtts_ms
        except RttError:
            if time.monotonic() >= deadline_s:
                raise
        wait_for_quiet(min(RTT_PAUSE_S, deadline_s - time.monotonic()))


def proven_rtts_of_star_ms(star: Star, speeds: LinkSpeeds, *, netem: bool, patience_s: float) -> RttsMs:
    """Measure the RTT to each server of the star, as `proven_rtts_ms` does: how long a TCP connect takes."""
    pace_s = max(PACE_S, 2 * SYN_BITS / (min(speeds.bw_home_mbit, speeds.up_mbit) * 1e6))
    return proven_rtts_ms(lambda: measure_rtts(star, UNUSED_PORT, pace_s=pace_s), speeds.rtts_ms(star.servers),
                          "netem" if netem else "delay line", patience_s)
