"""Delay on the links, and proof of it: netem where the kernel has it, the delay line where it has not.

What tc took without an error may still be another rate or delay: what was asked for is read back and measured.
"""

import json
import math
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.network.needs import check_kernel, kernel_has_netem
from harness.network.star import Host, LinkEnd, LinkSpeeds, Star
from harness.system.background import BackgroundProgram, running
from harness.system.delay_queue import SENDERS, SLOTS, latest_ms, place_of, sharing
from harness.system.namespaces import inside, run_batch
from harness.system.processes import run

DELAY_LINE = ROOT / "tfo-test" / "delay_line.py"
RATE_TOLERANCE = 0.01
"""tc rounds."""
CHANGING = "changing the links' delay"
MBIT_PER_UNIT = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3}


def delays_by_netem(longest_rtt_ms: float) -> bool:
    """Say whether netem delays packets on this machine: else the delay line does.

    Raises InputError when no star can be built here, or neither of them can delay packets and one has to.
    """
    netem = kernel_has_netem()
    check_kernel(delay_line=not netem and longest_rtt_ms > 0)
    return netem


@dataclass
class Delay:
    """What delays the packets of a `star`: its links (`netem`), the delay line `line`, or nothing.

    `shared` is what the delay line reads and notes (harness.system.delay_queue). `held_ms`: for how long it holds a
    packet that has reached `user` already (harness.network.arrivals), by the address of the server that sent it: for
    the whole round trip, as tfo-test/delay_line.py explains.
    """

    star: Star
    netem: bool = False
    line: BackgroundProgram | None = None
    shared: "memoryview[float] | None" = None
    held_ms: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.held_ms = dict.fromkeys((server.address for server in self.star.servers.values()), 0.0)

    def change(self, speeds: LinkSpeeds) -> None:
        """Make the RTT between user and each server what `speeds` say, in place: a star has one RTT after the other.

        With netem half of it lies each way. Either way the qdiscs are read back. Raises ExperimentError.
        """
        if self.netem:
            _change_links(self.star, speeds)
        check_qdiscs(self.star, speeds, self.netem)
        if self.shared is not None:
            for name, rtt_ms in speeds.rtts_ms(self.star.servers).items():
                address = self.star.servers[name].address
                self.held_ms[address], self.shared[place_of(socket.inet_aton(address))] = rtt_ms, rtt_ms / 1000

    def check(self) -> None:
        """Raise ExperimentError with the delay line's last words if it has ended."""
        if self.line is not None:
            self.line.check()

    def latest_ms(self, start_s: float, end_s: float) -> float | None:
        """Return how late the delay line let a packet go at most between two moments; None without one."""
        return None if self.shared is None else latest_ms(self.shared[SENDERS:], start_s, end_s)


@contextmanager
def delaying(star: Star, *, netem: bool, delayed: bool = True) -> Iterator[Delay]:
    """Be able to delay the packets of `star` while this lasts, for as long as `Delay.change` says.

    The delay line runs where there is no netem, unless nothing is to be `delayed` at all.
    """
    if netem or not delayed:
        yield Delay(star, netem)
        return
    with sharing(SENDERS + 2 * SLOTS) as (descriptor, shared):
        command = [sys.executable, str(DELAY_LINE), "--interface", star.user.interface, "--shared-fd", str(descriptor)]
        with running(command, "ready", "the delay line", star.user.pid, [descriptor]) as line:
            yield Delay(star, netem, line, shared)


def _change_links(star: Star, speeds: LinkSpeeds) -> None:
    """Give both ends of each server's link its delay. Raises ExperimentError with what tc said."""
    at_switch = []
    for name, server in star.servers.items():
        qdisc = speeds.server_end(name).netem_qdisc()
        run_batch(server.pid, "tc", [f"qdisc replace dev {server.interface} {qdisc}"], CHANGING)
        at_switch.append(f"qdisc replace dev {server.port} {qdisc}")
    run_batch(star.switch_pid, "tc", at_switch, CHANGING)


def check_qdiscs(star: Star, speeds: LinkSpeeds, netem: bool) -> None:
    """Raise ExperimentError unless every host's interface has the rate (and the delay) that was asked for."""
    at_user, at_switch = speeds.home_ends
    _check_interface(star.user.name, star.user.pid, star.user.interface, at_user, netem)
    if star.user.port:
        _check_interface("switch", star.switch_pid, star.user.port, at_switch, netem)
    for name, server in star.servers.items():
        _check_interface(server.name, server.pid, server.interface, speeds.server_end(name), netem)


def _check_interface(node: str, pid: int, interface: str, end: LinkEnd, netem: bool) -> None:
    """Raise ExperimentError when a link has not the rate, buffer and delay that it was given."""
    with inside(pid):
        classes = run(["tc", "class", "show", "dev", interface], "reading the rate back")
        qdiscs = json.loads(run(["tc", "-j", "qdisc", "show", "dev", interface], "reading the delay back"))
    rates_mbit = [end.rate_mbit if math.isclose(rate_mbit, end.rate_mbit, rel_tol=RATE_TOLERANCE) else rate_mbit
                  for rate_mbit in parse_rates_mbit(classes)]
    buffers = [qdisc["options"]["limit"] for qdisc in qdiscs if qdisc["kind"] == "bfifo"]
    delays_ms = [round(qdisc["options"]["delay"]["delay"] * 1000, 3) for qdisc in qdiscs
                 if qdisc["kind"] == "netem" and "delay" in qdisc["options"]]      # none is told of a delay of 0
    found = rates_mbit, buffers, delays_ms
    wanted = ([end.rate_mbit], [] if end.buffer_kb is None else [round(end.buffer_kb * 1000)],
              [round(end.delay_ms, 3)] if netem and end.delay_ms else [])
    if found != wanted:
        raise ExperimentError(f"{node}: tc gives {found} on {interface} instead of {wanted} "
                              "(Mbit/s, bytes of buffer, ms of netem's delay)")


def parse_rates_mbit(tc_class_output: str) -> list[float]:
    """Return the rates of the HTB classes in what `tc class show` printed (its -j prints no JSON for classes)."""
    found = re.findall(r"^class htb .*? rate ([\d.]+)([KMG]?)bit", tc_class_output, re.MULTILINE)
    return [float(number) * MBIT_PER_UNIT[unit] for number, unit in found]


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
