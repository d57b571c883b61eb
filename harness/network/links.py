"""Delay on the links, and proof of it: netem where the kernel has it, the delay line where it has not.

What tc or the delay line refuses ends the experiment (Mininet prints tc's error and carries on), and each RTT is
measured before anything is loaded.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.bootstrap import ROOT
from harness.network.needs import check_kernel, kernel_has_netem
from harness.network.star import Host, LinkSpeeds, Star, netem_limit
from harness.system.commands import run
from harness.system.companions import Companion, running
from harness.system.lateness import LatenessCounts
from harness.system.netns import inside
from harness.system.shared_counts import counting

DELAY_LINE = ROOT / "tfo-test" / "delay_line.py"


def delays_by_netem(longest_rtt_ms: float = math.inf) -> bool:
    """Say whether netem delays packets on this machine: else the delay line does.

    Raises InputError when no star can be built here, or neither of them can delay packets and one has to.
    """
    netem = kernel_has_netem()
    check_kernel(delay_line=not netem and longest_rtt_ms > 0)
    return netem


@dataclass(frozen=True)
class Delay:
    """What delays the packets of a star: the delay line and its counts; neither where the links do it, or nothing.

    `held_ms`: for how long the delay line holds a packet that has reached `user` already (harness.network.arrivals), by
    the address of the server that sent it: for the whole round trip, as tfo-test/delay_line.py explains.
    """

    line: Companion | None = None
    counts: LatenessCounts | None = None
    held_ms: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ExperimentError with the delay line's last words if it has ended."""
        if self.line is not None:
            self.line.check()

    def mark(self) -> list[int]:
        """Return where the counts stand, for harness.system.lateness.latest_ms at the end of an interval."""
        return self.counts.read() if self.counts is not None else []


@contextmanager
def delayed_links(star: Star, speeds: LinkSpeeds, netem: bool) -> Iterator[Delay]:
    """Make the RTT between user and each server what `speeds` say for as long as this lasts.

    With netem the links do so, half of it each way: the delay of each server's link is changed in place, so that a star
    can have one RTT after another.
    """
    if netem:
        _change_delays(star, speeds)
    if netem or speeds.longest_rtt_ms == 0:
        yield Delay(held_ms=dict.fromkeys((server.address for server in star.servers.values()), 0.0))
        return
    held_ms = {star.servers[name].address: rtt_ms for name, rtt_ms in speeds.rtts_ms(star.servers).items()}
    with counting(LatenessCounts) as (descriptor, counts):
        command = [sys.executable, str(DELAY_LINE), "--interface", star.user.interface,
                   "--delay-ms", f"{speeds.rtt_ms:g}", "--lateness-fd", str(descriptor)]
        if speeds.own_delays_ms:
            command += ["--delays", ",".join(f"{address}={delay_ms:g}" for address, delay_ms in held_ms.items())]
        with running(command, "ready", "the delay line", star.user.pid, [descriptor]) as line:
            yield Delay(line, counts, held_ms)


def _change_delays(star: Star, speeds: LinkSpeeds) -> None:
    """Give both ends of each server's link its delay. Raises ExperimentError with what tc said.

    netem hangs below HTB's class 5:1 there, where Mininet puts it (mininet.link.TCIntf.delayCmds).
    """
    def command(interface: str, name: str) -> str:
        delay_ms = speeds.delay_of(name)
        return f"qdisc replace dev {interface} parent 5:1 handle 10: netem delay {delay_ms:g}ms " \
               f"limit {netem_limit(speeds.bw_net_mbit, delay_ms)}"

    ports = [command(server.port, name) for name, server in star.servers.items() if server.port]
    for pid, commands in [(star.switch_pid, ports),
                          *((server.pid, [command(server.interface, name)]) for name, server in star.servers.items())]:
        with inside(pid):
            run(["tc", "-batch", "-"], "changing the links' delay", given="\n".join(commands) + "\n")


def home_drops(star: Star) -> dict[str, int]:
    """Return how many packets the queues before user's link have lost so far, up and down. Raises ExperimentError."""
    return {"up": _drops(star.user.pid, star.user.interface), "down": _drops(star.switch_pid, star.user.port)}


def _drops(pid: int, interface: str) -> int:
    with inside(pid):
        qdiscs = json.loads(run(["tc", "-s", "-j", "qdisc", "show", "dev", interface], "counting lost packets"))
    return sum(int(qdisc.get("drops", 0)) for qdisc in qdiscs if qdisc["kind"] == "htb")


def delay_line_drops(user: Host) -> int:
    """Return how many packets the delay line's queue has dropped so far: 0 without one.

    Source: /proc/net/netfilter/nfnetlink_queue, columns queue_dropped and user_dropped.
    """
    with inside(user.pid):
        try:
            lines = Path("/proc/thread-self/net/netfilter/nfnetlink_queue").read_text().splitlines()
        except FileNotFoundError:
            return 0
    return sum(int(fields[5]) + int(fields[6]) for fields in map(str.split, lines))
