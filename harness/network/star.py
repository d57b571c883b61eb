"""The simulated network: a star with Chrome's host, a switch, and one host per server of the mirrored sites.

                      s0 (Linux bridge)
     bw_home_mbit      /  |  \\      bw_net_mbit, delay_net_ms
     delay_home_ms    /   |   \\     each
                  user server0 server1 ...

Everything of it, the switch included, lives in network namespaces of its own: nothing is visible in the machine's own
namespace, its firewall (Docker's FORWARD DROP, say) does not see our packets, and all is gone with the processes.
harness.network.nodes makes it.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.errors import ExperimentError, InputError
from harness.system.processes import is_running
from harness.system.tcp import FRAME_BYTES

BRIDGE_PORTS = 1023
"""Ports of one Linux bridge (BR_MAX_PORTS 1024, port 0 unused); the user's link takes one."""
QUEUE_PACKETS = 1000
LOOPBACK_NETWORK = "127.84"
"""Where the servers on loopback are, which has 2**24 addresses."""


class LinkEnd(NamedTuple):
    """One end of a link: at which rate packets leave there, and how much later they arrive.

    `buffer_kb` is what fits into the queue before it, in units of 1000 bytes; None for a queue of QUEUE_PACKETS.
    """

    rate_mbit: float
    delay_ms: float
    buffer_kb: float | None = None

    def tc_commands(self, interface: str, *, netem: bool) -> list[str]:
        """Return what tc is told; `netem` tells whether the kernel delays packets itself (harness.network.links).

        Without a buffer the rate is what Mininet sets (mininet.link.TCIntf.bwCmds), which lets 15 kB through at once.
        For that 256 kbit/s take half a second: with a buffer one packet is let through at once, and before it there is
        a queue that holds so many units of 1000 bytes (tc-bfifo(8)), and no delay.
        """
        burst = "15k" if self.buffer_kb is None else "1600 cburst 1600"
        commands = [f"qdisc add dev {interface} root handle 5: htb default 1",
                    f"class add dev {interface} parent 5: classid 5:1 htb rate {self.rate_mbit:f}Mbit burst {burst}"]
        if self.buffer_kb is not None:
            queue = f"bfifo limit {round(self.buffer_kb * 1000)}"
            commands.append(f"qdisc add dev {interface} parent 5:1 handle 10: {queue}")
        elif netem and self.delay_ms > 0:
            commands.append(f"qdisc add dev {interface} {self.netem_qdisc()}")
        return commands

    def netem_qdisc(self) -> str:
        """Return what tc is told of netem below the rate.

        netem counts the packets that it delays as part of its queue, of 1000 unless told otherwise: at 1000 Mbit/s that
        would be 12 ms worth. So those that can be under way are added: what can wait for the link is then what could
        without netem (1000, txqueuelen of a veth).
        """
        limit = QUEUE_PACKETS + math.ceil(self.rate_mbit * 1000 * self.delay_ms / (8 * FRAME_BYTES))
        return f"parent 5:1 handle 10: netem delay {self.delay_ms:g}ms limit {limit}"


@dataclass(frozen=True)
class LinkSpeeds:
    """What the links of the star are like. Delays are one way, so RTT = 2 * (delay_net_ms + delay_home_ms).

    `bw_home_mbit` is user's link down, and up as well unless `bw_home_up_mbit` says otherwise. `buffer_kb` is the
    buffer at both ends of that link.
    `own_delays_ms` are the delays of the links of single servers, by their names; `delay_net_ms` is that of all others.
    """

    bw_home_mbit: float = 1000
    bw_net_mbit: float = 4
    delay_home_ms: float = 0
    delay_net_ms: float = 10
    bw_home_up_mbit: float | None = None
    buffer_kb: float | None = None
    own_delays_ms: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def up_mbit(self) -> float:
        """The rate of user's link up."""
        return self.bw_home_mbit if self.bw_home_up_mbit is None else self.bw_home_up_mbit

    @property
    def home_is_narrow(self) -> bool:
        """Whether user's link is what all servers' packets queue before."""
        return min(self.bw_home_mbit, self.up_mbit) < self.bw_net_mbit or self.buffer_kb is not None

    def home_fills_up(self, servers: int) -> bool:
        """Tell whether packets of so many servers, each as fast as its link is, have to queue before user's link."""
        return self.home_is_narrow or min(self.bw_home_mbit, self.up_mbit) < servers * self.bw_net_mbit

    @property
    def home_ends(self) -> tuple[LinkEnd, LinkEnd]:
        """The ends of user's link: its own, and the one at the switch."""
        return (LinkEnd(self.up_mbit, self.delay_home_ms, self.buffer_kb),
                LinkEnd(self.bw_home_mbit, self.delay_home_ms, self.buffer_kb))

    def server_end(self, name: str) -> LinkEnd:
        """Return what both ends of a server's link are like."""
        return LinkEnd(self.bw_net_mbit, self.own_delays_ms.get(name, self.delay_net_ms))

    @property
    def rtt_ms(self) -> float:
        """Round-trip time between user and any server that has none of its own."""
        return 2 * (self.delay_home_ms + self.delay_net_ms)

    @property
    def longest_rtt_ms(self) -> float:
        """The longest there is."""
        return 2 * (self.delay_home_ms + max(self.delay_net_ms, *self.own_delays_ms.values(), 0.0))

    def rtts_ms(self, names: Iterable[str]) -> dict[str, float]:
        """Return the round-trip time between user and each of these servers."""
        return {name: 2 * (self.delay_home_ms + self.server_end(name).delay_ms) for name in names}


@dataclass(frozen=True)
class Host:
    """One host of the star: `pid` is a process in its namespace, `interface` its only network interface.

    `port` is the other end of its link, at the switch; "" where there is none (on loopback).
    """

    name: str
    address: str
    mac: str
    interface: str
    pid: int
    port: str = ""


@dataclass
class Star:
    """A running star."""

    user: Host
    switch_pid: int
    servers: dict[str, Host] = field(default_factory=dict)
    """By their names, in the order given: where each mirrored host has a server of its own, the host's."""

    @property
    def pids(self) -> list[int]:
        """One process in every host's namespace."""
        return [self.user.pid, *(server.pid for server in self.servers.values())]


def loopback_star(host_names: Sequence[str]) -> Star:
    """Return servers on this machine's loopback as a star without links, in which no packet takes any time.

    `user` and all servers are in this process's own network namespace. Each has an address of its own, which its place
    in the list decides.
    """
    pid = os.getpid()
    servers = {name: Host(name, f"{LOOPBACK_NETWORK}.{number >> 8}.{number & 255}", "", "lo", pid)
               for number, name in enumerate(host_names, start=1)}
    return Star(user=Host("user", "127.0.0.1", "", "lo", pid), switch_pid=pid, servers=servers)


def check_host_count(host_names: Sequence[str]) -> None:
    """Raise InputError when there are more hosts than ports on a bridge."""
    if len(host_names) > BRIDGE_PORTS - 1:
        raise InputError(f"{len(host_names)} hosts: one bridge has room for {BRIDGE_PORTS - 1}; record fewer pages")


def check_hosts(star: Star) -> None:
    """Raise ExperimentError when the process that holds a host's network has ended: somebody killed it."""
    for host in (star.user, *star.servers.values()):
        if not is_running(host.pid):
            raise ExperimentError(f"{host.name}: the shell that holds its network was killed; nothing can be measured "
                                  "without it")
