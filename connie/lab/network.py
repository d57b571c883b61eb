"""The star: a client, a name server, and one host for each place where the name's addresses are.

                   s0 (Linux bridge)
      profile's rate /  |  \\  1 Gbit/s each
                  user  dns  site0 site1 ...      site i has address i of every scenario, IPv4 and IPv6

Built by harness.network.nodes (Mininet) and gone with it. Delays, jitter and loss are those of paths.py: each address
has its own.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from connie.lab.task import CLIENT_6, DNS_ADDRESS, PROFILES, SERVER_NETWORK_4, SERVER_NETWORK_6, Task
from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.network.nodes import running_star
from harness.network.star import Host, LinkSpeeds, Star
from harness.system.background import running
from harness.system.fastopen import ON, set_fastopen
from harness.system.namespaces import inside
from harness.system.processes import run

SITE_MBIT = 1000
IPV6_SWITCH = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")


def program(name: str, task: Task) -> list[str]:
    """Return the command that runs a module of this package as a program, with its task."""
    return ["env", f"--chdir={ROOT}", sys.executable, "-m", f"connie.lab.{name}", msgspec.json.encode(task).decode()]


@contextmanager
def running_network(task: Task) -> Iterator[Task]:
    """Build it all, and take it down at the end; give the task with its place. Raises ExperimentError, InputError."""
    profile, endpoints = PROFILES[task.profile], task.endpoints
    sites = [f"site{number}" for number in range(max(len(profile.rtts4_ms), len(profile.rtts6_ms)))]
    speeds = LinkSpeeds(bw_home_mbit=profile.bw_mbit, bw_net_mbit=SITE_MBIT, delay_net_ms=0)
    with ExitStack() as stack:
        # No netem: paths.py delays on every kernel, and the same way on all.
        star = stack.enter_context(running_star(["dns", *sites], speeds, netem=False))
        addresses = {site: [point.address for point in endpoints if point.site == number]
                     for number, site in enumerate(sites)}
        _address_hosts(star, {"dns": [DNS_ADDRESS], **addresses})
        set_fastopen(star.pids, ON)
        task = replace(task, client_pid=star.user.pid, interface=star.user.interface,
                       site_pids=tuple(star.servers[site].pid for site in sites))
        for name, host in (("paths", star.user), ("servers", star.servers["dns"])):
            stack.enter_context(running(program(name, task), "ready", f"connie/lab/{name}.py", host.pid))
        yield task


def _address_hosts(star: Star, addresses_of: dict[str, list[str]]) -> None:
    """Give every host its addresses, and the client the way to them. No neighbour is ever asked for: all are known."""
    user = star.user
    lines = [f"route add {SERVER_NETWORK_4} dev {user.interface}", f"addr add {CLIENT_6}/64 dev {user.interface} nodad",
             f"route add {SERVER_NETWORK_6} dev {user.interface}"]
    for name, addresses in addresses_of.items():
        server = star.servers[name]
        lines += [_neighbour(address, server, user) for address in addresses]
        theirs = [f"addr add {address} dev {server.interface}{' nodad' if ':' in address else ''}"
                  for address in addresses]
        _ip_batch(server, [*theirs, f"route add {CLIENT_6}/128 dev {server.interface}",
                           _neighbour(CLIENT_6, user, server)])
    _ip_batch(user, lines)


def _neighbour(address: str, owner: Host, asking: Host) -> str:
    return f"neigh replace {address} lladdr {owner.mac} dev {asking.interface} nud permanent"


def _ip_batch(host: Host, lines: Sequence[str]) -> None:
    with inside(host.pid):
        if not IPV6_SWITCH.exists():
            raise ExperimentError("this kernel has no IPv6, which connie's star needs")
        IPV6_SWITCH.write_text("0\n", encoding="utf-8")
        run(["ip", "-batch", "-"], f"giving {host.name} its addresses", given="\n".join(lines) + "\n")
