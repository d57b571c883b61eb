"""The simulated network: a Mininet star with Chrome's host, a switch, and one host per server of the mirrored sites.

                      s0 (Linux bridge)
     bw_home_mbit      /  |  \\      bw_net_mbit, delay_net_ms
     delay_home_ms    /   |   \\     each
                  user server0 server1 ...

Everything of it, the switch included, lives in network namespaces of its own: nothing is visible in the machine's own
namespace, its firewall (Docker's FORWARD DROP, say) does not see our packets, and all is gone with the processes.
"""

import math
import os
import resource
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo
from mininet.util import ipAdd, macColonHex

from harness.errors import ExperimentError, InputError
from harness.network import nodes
from harness.system.privileges import as_root
from harness.system.processes import is_running, stop
from harness.system.tcp import FRAME_BYTES

BRIDGE_PORTS = 1023
"""Ports of one Linux bridge (BR_MAX_PORTS 1024, port 0 unused); the user's link takes one."""
FILES_PER_NODE, SPARE_FILES = 2, 128
"""Mininet keeps both ends of a terminal open for each node; more than it needs beside them."""

IDLE_LIMIT = "TMOUT"
"""Environment variable: bash ends an interactive shell that is idle for so many seconds, and each host is one. On many
machines root's login exports it."""

QUEUE_PACKETS = 1000
LOOPBACK_NETWORK = "127.84"
"""Where the servers on loopback are, which has 2**24 addresses."""


@dataclass(frozen=True)
class LinkSpeeds:
    """What the links of the star are like. Delays are one way, so RTT = 2 * (delay_net_ms + delay_home_ms).

    `bw_home_mbit` is user's link down, and up as well unless `bw_home_up_mbit` says otherwise. `buffer_kb` is what fits
    into the queue before that link, each way, in units of 1000 bytes; None for a queue of QUEUE_PACKETS.
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
    def rtt_ms(self) -> float:
        """Round-trip time between user and any server that has none of its own."""
        return 2 * (self.delay_home_ms + self.delay_net_ms)

    @property
    def longest_rtt_ms(self) -> float:
        """The longest there is."""
        return 2 * (self.delay_home_ms + max(self.delay_net_ms, *self.own_delays_ms.values(), 0.0))

    def delay_of(self, name: str) -> float:
        """Return the one-way delay of a server's own link."""
        return self.own_delays_ms.get(name, self.delay_net_ms)

    def rtts_ms(self, names: Iterable[str]) -> dict[str, float]:
        """Return the round-trip time between user and each of these servers."""
        return {name: 2 * (self.delay_home_ms + self.delay_of(name)) for name in names}


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


class StarTopo(Topo):
    """user -- s0 -- server0..N. `netem` tells whether the kernel delays packets itself (see harness.network.links)."""

    def build(self, host_names: Sequence[str], speeds: LinkSpeeds, netem: bool) -> None:
        """Called by Topo's constructor."""
        self.addSwitch("s0", inNamespace=True)
        up, down = (tc_commands(rate_mbit, speeds.delay_home_ms, netem, speeds.buffer_kb)
                    for rate_mbit in (speeds.up_mbit, speeds.bw_home_mbit))
        servers = [tc_commands(speeds.bw_net_mbit, speeds.delay_of(name), netem) for name in host_names]
        ends = {"user": (up, down), **{f"server{index}": (each, each) for index, each in enumerate(servers)}}
        for number, (name, (at_host, at_switch)) in enumerate(ends.items(), start=1):
            self.addHost(name, ip=f"{ipAdd(number)}/8")
            self.addLink(name, "s0", addr1=macColonHex(number), params1={"commands": at_host},
                         params2={"commands": at_switch})


def tc_commands(bw_mbit: float, delay_ms: float, netem: bool, buffer_kb: float | None = None) -> list[str]:
    """Return what tc is told for one end of a link of this speed, with {name} for the interface's name.

    Without a buffer the rate is what Mininet sets (mininet.link.TCIntf.bwCmds), which lets 15 kB through at once. For
    that 256 kbit/s take half a second: with a buffer one packet is let through at once, and before it there is a queue
    that holds so many units of 1000 bytes (tc-bfifo(8)), and no delay.
    """
    burst = "15k" if buffer_kb is None else "1600 cburst 1600"
    commands = ["qdisc add dev {name} root handle 5: htb default 1",
                f"class add dev {{name}} parent 5: classid 5:1 htb rate {bw_mbit:f}Mbit burst {burst}"]
    if buffer_kb is not None:
        commands.append(f"qdisc add dev {{name}} parent 5:1 handle 10: bfifo limit {round(buffer_kb * 1000)}")
    elif netem and delay_ms > 0:
        commands.append(f"qdisc add dev {{name}} {netem_qdisc(bw_mbit, delay_ms)}")
    return commands


def netem_qdisc(bw_mbit: float, delay_ms: float) -> str:
    """Return what tc is told of netem below a link's rate.

    netem counts the packets that it delays as part of its queue, of 1000 unless told otherwise: at 1000 Mbit/s that
    would be 12 ms worth. So those that can be under way are added: what can wait for the link is then what could
    without netem (1000, txqueuelen of a veth).
    """
    limit = QUEUE_PACKETS + math.ceil(bw_mbit * 1000 * delay_ms / (8 * FRAME_BYTES))
    return f"parent 5:1 handle 10: netem delay {delay_ms:g}ms limit {limit}"


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


@contextmanager
def running_star(host_names: Sequence[str], speeds: LinkSpeeds, netem: bool) -> Iterator[Star]:
    """Build the star, one server per name in `host_names`, and take it down at the end whatever happened.

    Raises InputError when there are more hosts than ports on a bridge, ExperimentError when Mininet cannot build it.
    """
    check_host_count(host_names)
    setLogLevel("critical")
    # Mininet's own init() writes a dozen sysctls of the machine and never restores them; none is needed here.
    Mininet.inited = True
    os.environ.pop(IDLE_LIMIT, None)
    net = Mininet(switch=nodes.PlannedBridge, host=nodes.PlannedHost, link=nodes.PlannedLink,
                  intf=nodes.PlannedInterface, controller=None, build=False)
    try:
        net.topo = StarTopo(host_names=host_names, speeds=speeds, netem=netem)
        try:
            with as_root(), _file_limit(FILES_PER_NODE * (len(host_names) + 2)):
                net.start()
        except (Exception, SystemExit) as error:  # Mininet raises bare Exceptions and calls exit()
            raise ExperimentError(f"Mininet could not build the star: {error}") from error
        star = _describe(net, host_names)
        _set_up(net, star)
        yield star
    finally:
        _take_down(net)


@contextmanager
def _file_limit(more: int) -> Iterator[None]:
    """Allow `more` open files than there are for as long as this lasts, and as many as root may have afterwards.

    Not more than needed: mnexec closes whatever number it might inherit, a million where that is the limit.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    now = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(now + more + SPARE_FILES, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _describe(net: Any, host_names: Sequence[str]) -> Star:
    switch = net.get("s0")
    servers = {name: _host(net.get(f"server{index}"), switch) for index, name in enumerate(host_names)}
    return Star(user=_host(net.get("user"), switch), switch_pid=switch.pid, servers=servers)


def _host(node: Node, switch: Node) -> Host:
    [(interface, port)] = node.connectionsTo(switch)
    return Host(node.name, node.IP(), node.MAC(), interface.name, node.pid, port.name)


def _set_up(net: Mininet, star: Star) -> None:
    """Make what Mininet planned, and leave no address to be asked for: user and servers know each other's."""
    switch, user = net.get("s0"), net.get("user")
    for node in [switch, *net.hosts]:
        nodes.write_sysctls(node)
    nodes.make_links(net, switch)
    nodes.set_up_host(user, {server.address: server.mac for server in star.servers.values()})
    for server in star.servers.values():
        nodes.set_up_host(net.get(server.name), {star.user.address: star.user.mac})
    nodes.set_up_switch(switch, net.hosts)


def _take_down(net: Any) -> None:
    """End the hosts' shells; their namespaces, interfaces and bridge go with them."""
    for node in [*net.hosts, *net.switches]:
        stop(node.shell, patience_s=0)
        node.cleanup()
