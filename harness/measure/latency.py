"""How far away the servers are: all at one RTT, or each as it was when it was recorded (--rtt recorded)."""

import argparse
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.errors import InputError
from harness.files.layout import EACH_ITS_OWN, Layout
from harness.measure.preflight import PageSet
from harness.mirror.rtts import recorded_rtts, scaled
from harness.network.star import SYN_AGAIN_MS, LinkSpeeds
from harness.system.options import Decimal, quoted

DELAYS_MS = (10.0, 50.0, 100.0)
"""One-way delays of the servers' links where nothing else is asked for: the RTTs of the paper's Table 1."""
RECORDED = "recorded"
FACTOR = Decimal(0.01, 100)


@dataclass(frozen=True)
class AsRecorded:
    """What --rtt recorded*K asks for: `factor` is K, None when only "recorded" was typed."""

    factor: float | None = None

    def __str__(self) -> str:
        """Return it as it is typed."""
        return RECORDED if self.factor is None else f"{RECORDED}*{self.factor:g}"


def recorded_option(text: str) -> AsRecorded:
    """Read what --rtt says: recorded, or recorded*2. Raises argparse.ArgumentTypeError."""
    match = re.fullmatch(rf"{RECORDED}(?:\*(.+))?", text, re.DOTALL)
    if match is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not recorded, or recorded*2; an RTT that all servers have "
                                         "is twice one of --delays")
    return AsRecorded(None if match[1] is None else FACTOR(match[1]))


def with_recorded_rtts(speeds: LinkSpeeds, recorded: AsRecorded, delaynet_ms: float | None,
                       page_set: PageSet, layout: Layout = EACH_ITS_OWN) -> LinkSpeeds:
    """Return `speeds` with a delay of its own for the link to each server of `page_set`.

    A server that several hosts share gets the RTT of the nearest of them. With a `delaynet_ms` the RTTs are scaled so
    that their median is twice that. `delay_net_ms` of the result is half of the median; the results' folders are named
    after it. It is the median of the hosts' RTTs, so that it is the same in each layout. Raises InputError.
    """
    found = recorded_rtts(page_set.files, page_set.recording)
    factor = 1.0 if recorded.factor is None else recorded.factor
    if delaynet_ms is not None:
        if not found.median_ms:
            raise InputError("--rtt recorded: the median of the recorded RTTs is 0 ms, which cannot be scaled; leave "
                             "out the other delays")
        factor = 2 * delaynet_ms / found.median_ms
    rtts_ms = scaled(found.rtts_ms, factor)
    nearest = {server: min(hosts, key=lambda host: rtts_ms[host]) for server, hosts in layout.servers(rtts_ms).items()}
    farthest = max(nearest.values(), key=lambda host: rtts_ms[host])
    if rtts_ms[farthest] >= SYN_AGAIN_MS:
        raise InputError(f"--rtt recorded: an RTT of {rtts_ms[farthest]:g} ms, to {farthest}, is {SYN_AGAIN_MS:g} ms "
                         "or more: every SYN would be sent again, and no load count; scale by less, or write a shorter "
                         f"one into {page_set.files.rtts}")
    if found.assumed:
        print(f"RTT as recorded: not known of {len(found.assumed)} of {len(rtts_ms)} servers, which get the median of "
              f"the others: {', '.join(found.assumed)}", flush=True)
    median_ms = round(statistics.median(rtts_ms.values()), 1) if delaynet_ms is None else 2 * delaynet_ms
    return replace(speeds, delay_net_ms=median_ms / 2,
                   own_delays_ms={server: rtts_ms[host] / 2 for server, host in nearest.items()})


def latency_settings(recorded: AsRecorded | None, speeds: LinkSpeeds, page_set: PageSet,
                     layout: Layout = EACH_ITS_OWN) -> Mapping[str, Any]:
    """Return what an experiment's file says of --rtt; None where all servers are equally far away."""
    if recorded is None:
        return {"rtt": None, "server_rtts_ms": None, "rtts_assumed": None}
    found = recorded_rtts(page_set.files, page_set.recording)
    rtts_ms = speeds.rtts_ms(speeds.own_delays_ms)
    of_hosts = {host: rtts_ms[layout.server_of(host)] for host in found.rtts_ms}
    return {"rtt": str(recorded), "server_rtts_ms": of_hosts, "rtts_assumed": [*found.assumed]}


def thinking_rtts(page_set: PageSet) -> Mapping[str, float]:
    """Return, for --think recorded, the RTT to each server when it was recorded.

    A recorded wait for an answer, less that RTT, is the time that the server itself took. Raises InputError when the
    recording has no times.
    """
    files, recording = page_set.files, page_set.recording
    rtts_ms = recorded_rtts(files, recording, "--think recorded").rtts_ms
    answers = [(host, answer) for (_, host), of_host in recording.answers.items() for sequence in of_host.values()
               for answer in sequence]
    times_ms = [max(0.0, answer.wait_ms - rtts_ms[host]) for host, answer in answers if answer.wait_ms is not None]
    if not times_ms:
        raise InputError(f"{files.fetchlog}: --think recorded: this recording does not tell how long its servers took "
                         "to answer; record its pages with fetch.py, or leave the option out")
    print(f"Thinking time as recorded: {min(times_ms):.0f} to {max(times_ms):.0f} ms, median "
          f"{statistics.median(times_ms):.0f} ms, of {len(times_ms)} of {len(answers)} recorded answers", flush=True)
    return rtts_ms
