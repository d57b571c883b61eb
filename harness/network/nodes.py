"""The star is made: Mininet makes the namespaces of its hosts and switch, and all else in them is made at once.

Left to itself, Mininet sets every interface up by some ten programs, typed one after the other into the node's
interactive shell, and goes on when one of them fails. That takes long, and among the thousand interfaces of a large
switch it takes longer for each. So of Mininet only the nodes are used, shells that each hold a namespace. One
`ip -batch` makes all links, and each namespace is set up by one short script, whose first error ends the experiment.
"""

import ctypes
import fcntl
import logging
import os
import resource
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

from mininet.log import setLogLevel
from mininet.node import Node

from harness.errors import ExperimentError
from harness.network.star import Host, LinkEnd, LinkSpeeds, Star, check_host_count
from harness.system.namespaces import inside, run_batch
from harness.system.privileges import as_root
from harness.system.processes import stop

logging.setLoggerClass(logging.Logger)
"""Mininet's own, which writes to standard error by itself, and without line ends, is for Mininet: importing it makes it
everybody's."""

FILES_PER_NODE, SPARE_FILES = 2, 128
"""Mininet keeps both ends of a terminal open for each node; more than it needs beside them."""

IDLE_LIMIT = "TMOUT"
"""Environment variable: bash ends an interactive shell that is idle for so many seconds, and each host is one. On many
machines root's login exports it."""

NETWORK, PREFIX_BITS = IPv4Address("10.0.0.0"), 8

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


@contextmanager
def running_star(host_names: Sequence[str], speeds: LinkSpeeds, netem: bool) -> Iterator[Star]:
    """Build the star, one server per name in `host_names`, and take it down at the end whatever happened.

    `netem` tells whether the kernel delays packets itself (harness.network.links). Raises InputError when there are
    more hosts than ports on a bridge, ExperimentError when it cannot be built.
    """
    check_host_count(host_names)
    setLogLevel("critical")
    os.environ.pop(IDLE_LIMIT, None)
    names = ["s0", "user", *(f"server{number}" for number in range(len(host_names)))]
    nodes: list[Node] = []
    try:
        try:
            with as_root(), _file_limit(FILES_PER_NODE * len(names)):
                for name in names:
                    nodes.append(Node(name))  # noqa: PERF401 (those that are there when one fails are ended, too)
        except (Exception, SystemExit) as error:  # Mininet raises bare Exceptions and calls exit()
            raise ExperimentError(f"Mininet could not make the hosts: {error}") from error
        user, *servers = [
            Host(node.name, str(NETWORK + number), number.to_bytes(6, "big").hex(":"), f"{node.name}-eth0", node.pid,
                 f"s0-eth{number}")
            for number, node in enumerate(nodes[1:], start=1)]
        star = Star(user, nodes[0].pid, dict(zip(host_names, servers, strict=True)))
        _set_up(star, speeds, netem)
        yield star
    finally:
        for node in nodes:      # namespaces, interfaces and bridge go with their shells
            stop(node.shell, patience_s=0)
            node.cleanup()


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


def _set_up(star: Star, speeds: LinkSpeeds, netem: bool) -> None:
    """Make links and bridge, and leave no address to be asked for: user and servers know each other's MAC addresses.

    Raises ExperimentError with what the first failing command said.
    """
    servers = {server: speeds.server_end(name) for name, server in star.servers.items()}
    at_user, at_switch = speeds.home_ends
    ends = {star.user: at_user, **servers}
    for pid in [star.switch_pid, *star.pids]:
        _write_sysctls(pid)
    links = [f"link add {host.port} type veth peer name {host.interface} address {host.mac} netns {host.pid}"
             for host in ends]
    for first in range(0, len(links), LINKS_AT_ONCE):
        run_batch(star.switch_pid, "ip", links[first:first + LINKS_AT_ONCE], "making links")
    for host, end in ends.items():
        what = f"setting up {host.name}"
        _shape(host.pid, {host.interface: end}, netem, what)
        run_batch(host.pid, "ip", [
            "link set lo up",
            f"address add {host.address}/{PREFIX_BITS} dev {host.interface}",
            f"link set {host.interface} up gso_max_segs {MOST_AT_ONCE}",
            *(f"neighbour replace {other.address} lladdr {other.mac} dev {host.interface} nud permanent"
              for other in (servers if host is star.user else [star.user]))], what)
    what = "setting up the switch"
    _shape(star.switch_pid, {host.port: end for host, end in (ends | {star.user: at_switch}).items()}, netem, what)
    # Without snooping: a bridge that snoops joins a group (RFC 4286), and user gets its report during a load.
    run_batch(star.switch_pid, "ip", ["link add s0 type bridge mcast_snooping 0",
                                      *(f"link set {host.port} master s0 up" for host in ends)], what)
    _await_running(star.switch_pid, [host.port for host in ends])
    for host in ends:
        _await_running(host.pid, [host.interface])
    # Last: before, the kernel's notice of a link that came up, up to a second late, would open its port on the bridge.
    run_batch(star.switch_pid, "ip", ["link set s0 up"], what)


def _write_sysctls(pid: int) -> None:
    """Set SYSCTLS in the namespace of `pid`; those that this kernel does not have (IPv6 off) are left out."""
    with inside(pid):
        for path, value in ((Path("/proc/sys/net", name), value) for name, value in SYSCTLS.items()):
            if path.exists():
                path.write_text(value, encoding="ascii")


def _shape(pid: int, ends: Mapping[str, LinkEnd], netem: bool, what: str) -> None:
    """Give interfaces in the namespace of `pid` their rates and delays, and take their offloads."""
    run_batch(pid, "tc", [command for name, end in ends.items() for command in end.tc_commands(name, netem=netem)],
              what)
    with inside(pid):
        _offloads_off(ends)


def _await_running(pid: int, interfaces: Sequence[str]) -> None:
    """Wait until links are in operation, which the kernel notices a little after both ends are up.

    Raises ExperimentError when they are not after 10 s.
    """
    deadline = time.monotonic() + RUNNING_WITHIN_S
    with inside(pid), socket.socket() as control:
        for interface in interfaces:
            while not _flags(control, interface) & IFF_RUNNING:
                if time.monotonic() > deadline:
                    raise ExperimentError(f"{interface}: this link is still down after {RUNNING_WITHIN_S:g} s")
                time.sleep(0.001)


def _flags(control: socket.socket, interface: str) -> int:
    answer = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16s24x", interface.encode()))
    return int(struct.unpack_from("16xH", answer)[0])


def _offloads_off(names: Iterable[str]) -> None:
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
