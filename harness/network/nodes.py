"""The star's hosts, links and switch: Mininet plans them, and they are made all at once.

Left to itself, Mininet sets every interface up by some ten programs, typed one after the other into the node's
interactive shell, and goes on when one of them fails. That takes long, and among the thousand interfaces of a large
switch it takes longer for each. Here Mininet names and numbers everything; then one `ip -batch` makes all links, and
each namespace is set up by one short script, whose first error ends the experiment.
"""

import ctypes
import fcntl
import logging
import re
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Host, Node
from mininet.nodelib import LinuxBridge

from harness.errors import ExperimentError
from harness.system.namespaces import inside
from harness.system.processes import run

logging.setLoggerClass(logging.Logger)
"""Mininet's own, which writes to standard error by itself, and without line ends, is for Mininet: importing it makes it
everybody's."""

LINKS_AT_ONCE = 200
"""Links in one batch: `harness.system.processes.run` waits 20 s at most, and making a link takes about 1 ms."""

RUNNING_WITHIN_S = 10.0
"""How long a link may take to come up."""

SYSCTLS = {"ipv4/tcp_no_metrics_save": "1", "ipv4/tcp_autocorking": "0", "ipv6/conf/all/disable_ipv6": "1",
           "ipv6/conf/default/disable_ipv6": "1"}
"""Settings of every namespace, below /proc/sys/net. No ssthresh or RTT is carried from one load to the next, while TFO
cookies are still cached. No IPv6, and that before the first interface is up: else each greets all the others.

No autocorking: it holds a small packet back until the network card has sent the one before. Here a card is a queue
before a link of a few Mbit/s, and what waits there would decide how many packets are sent."""

MOST_AT_ONCE = 2
"""Packets that the kernel's TCP hands to a link at once, as it does over round trips of 10 ms and more whatever is set.
Over shorter ones it hands over up to 64 kB, also with the card's offloads off, and HTB counts that as one packet: all
is there at once, then the link is silent for up to 130 ms."""

SIOCETHTOOL, SIOCGIFFLAGS, IFF_RUNNING = 0x8946, 0x8913, 0x40
"""linux/sockios.h, linux/if.h: netdevice(7)"""
OFFLOADS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
"""linux/ethtool.h: ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO"""


class PlannedInterface(Intf):
    """An interface with the tc commands that shape it (harness.network.star.tc_commands)."""

    def config(self, commands: Sequence[str] = (), **_others: Any) -> dict[str, Any]:
        """Note them."""
        self.tc_commands = [command.format(name=self.name) for command in commands]
        return {}

    def setIP(self, ipstr: str, prefixLen: int | None = None) -> None:  # noqa: ARG002, N802, N803 (Mininet's names)
        """Note the address, such as 10.0.0.1/8."""
        self.ip, self.prefixLen = ipstr.split("/")


class PlannedLink(Link):
    """A pair of interfaces that `make_links` makes, together with all others."""

    @classmethod
    def makeIntfPair(cls, *_arguments: Any, **_options: Any) -> None:  # noqa: N802
        """Make nothing yet."""


class PlannedHost(Host):
    """A host whose address `set_up_host` sets."""

    def config(self, ip: str, **_others: Any) -> dict[str, Any]:
        """Note the address."""
        self.setIP(ip)
        return {}


class PlannedBridge(LinuxBridge):
    """A switch that `set_up_switch` makes."""

    def start(self, _controllers: Any) -> None:
        """Make nothing yet."""


def make_links(net: Mininet, switch: Node) -> None:
    """Make all links, each from the switch's namespace to its host's. Raises ExperimentError when that fails."""
    commands = [f"link add {link.intf2.name} address {link.intf2.mac} type veth "
                f"peer name {link.intf1.name} address {link.intf1.mac} netns {link.intf1.node.pid}"
                for link in net.links]
    for first in range(0, len(commands), LINKS_AT_ONCE):
        run_batch(switch, "ip", commands[first:first + LINKS_AT_ONCE])


def write_sysctls(node: Node) -> None:
    """Set SYSCTLS in a node's namespace; those that this kernel does not have (IPv6 off) are left out."""
    with inside(node.pid):
        for path, value in ((Path("/proc/sys/net", name), value) for name, value in SYSCTLS.items()):
            if path.exists():
                path.write_text(value, encoding="ascii")


def set_up_host(host: Node, neighbours: dict[str, str]) -> None:
    """Give a host its address, shape its link, and tell it the MAC addresses of its `neighbours`, by IP address.

    Raises ExperimentError with what the first failing command said.
    """
    interface = host.defaultIntf()
    run_batch(host, "tc", interface.tc_commands)
    with inside(host.pid):
        offloads_off([interface.name])
    run_batch(host, "ip", [
        "link set lo up",
        f"address add {interface.ip}/{interface.prefixLen} dev {interface.name}",
        f"link set {interface.name} up gso_max_segs {MOST_AT_ONCE}",
        *(f"neighbour replace {ip} lladdr {mac} dev {interface.name} nud permanent" for ip, mac in neighbours.items())])


def set_up_switch(switch: Node, hosts: list[Node]) -> None:
    """Make the bridge of all ports, each of them shaped, and wait until packets pass on the links to all `hosts`.

    Raises ExperimentError with what the first failure said.
    """
    ports = switch.intfList()
    run_batch(switch, "tc", [command for port in ports for command in port.tc_commands])
    with inside(switch.pid):
        offloads_off([port.name for port in ports])
    run_batch(switch, "ip", [f"link add {switch.name} type bridge",
                             *(f"link set {port.name} master {switch.name} up" for port in ports)])
    for node in [switch, *hosts]:
        _await_running(node)
    # Last: before, the kernel's notice of a link that came up, up to a second late, would open its port on the bridge.
    run_batch(switch, "ip", [f"link set {switch.name} up"])


def _await_running(node: Node) -> None:
    """Wait until all links of a node are in operation, which the kernel notices a little after both ends are up.

    Raises ExperimentError when they are not after 10 s.
    """
    deadline = time.monotonic() + RUNNING_WITHIN_S
    with inside(node.pid), socket.socket() as control:
        for interface in node.intfList():
            while not _flags(control, interface.name) & IFF_RUNNING:
                if time.monotonic() > deadline:
                    raise ExperimentError(f"{interface.name}: this link is still down after {RUNNING_WITHIN_S:g} s")
                time.sleep(0.001)


def _flags(control: socket.socket, interface: str) -> int:
    answer = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16s24x", interface.encode()))
    return int(struct.unpack_from("16xH", answer)[0])


def offloads_off(names: list[str]) -> None:
    """Turn OFFLOADS off on these interfaces of the present namespace: packets on the wire are those that TCP sends.

    As `ethtool -K` does, without a process for each. (AccECN's TSO, new in Linux 6.18, is not in the kernel's own "tso"
    and stays on; nothing here negotiates AccECN.) Raises ExperimentError.
    """
    with socket.socket() as control:
        for name in names:
            for offload, command in OFFLOADS.items():
                value = ctypes.create_string_buffer(struct.pack("II", command, 0))     # struct ethtool_value
                request = struct.pack("16sP16x", name.encode(), ctypes.addressof(value))    # struct ifreq, netdevice(7)
                try:
                    fcntl.ioctl(control, SIOCETHTOOL, request)
                except OSError as error:
                    raise ExperimentError(f"{name}: {offload} cannot be turned off: {error.strerror}") from None


def run_batch(node: Node, program: str, commands: list[str]) -> None:
    """Run commands of ip or tc in a node's namespace. Raises ExperimentError with the first that fails."""
    with inside(node.pid):
        try:
            run([program, "-batch", "-"], f"setting up {node.name}", given="\n".join(commands) + "\n")
        except ExperimentError as error:
            failed = re.search(r"Command failed -:(\d+)", str(error))
            raise ExperimentError(f"{error} ({commands[int(failed[1]) - 1]})" if failed else str(error)) from None
