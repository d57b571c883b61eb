"""The star: a client, a name server, and one host for each place where the name's addresses are.

                   s0 (Linux bridge)
      profile's rate /  |  \\  1 Gbit/s each
                  user  dns  site0 site1 ...      site i has address i of every scenario, IPv4 and IPv6

Built by harness.network.star (Mininet) and gone with it. Delays, jitter and loss are those of paths.py: each address
has its own.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from connie.lab.profiles import Profile
from connie.lab.scenarios import (
    LATE,
    LATE_S,
    LOSE_ALL,
    PASS,
    REFUSE,
    SERVER_NETWORK_4,
    SERVER_NETWORK_6,
    Endpoint,
    Scenario,
)
from harness.errors import ExperimentError
from harness.network.star import Host, LinkSpeeds, Star, running_star
from harness.system.commands import run
from harness.system.companions import running
from harness.system.fastopen import ON, set_fastopen
from harness.system.netns import inside

HERE = Path(__file__).resolve().parent
SITE_MBIT = 1000
CLIENT_6 = "2001:db8:0:1::1"
"""The client's IPv6 address. IPv6 addresses of sites differ from it in the same bit, see scenarios.SERVER_NETWORK_6."""
DNS_ADDRESS = "198.18.255.53"


@dataclass(frozen=True)
class Network:
    """A running network: its star, and the path whose existence changes what the name server answers."""

    star: Star
    changed: Path
    resolver: dict[str, Path]
    """What the client is to see instead of files of /etc that lead to the name server, by the names of those."""

    @property
    def site_pids(self) -> list[int]:
        """One process in each site's namespace."""
        return [host.pid for name, host in self.star.servers.items() if name != "dns"]


@contextmanager
def running_network(profile: Profile, scenarios: Sequence[Scenario], work_dir: Path, seed: int) -> Iterator[Network]:
    """Build it all, and take it down at the end. Files go to `work_dir`. Raises ExperimentError, InputError."""
    sites = [f"site{number}" for number in range(max(len(profile.rtts4_ms), len(profile.rtts6_ms)))]
    speeds = LinkSpeeds(bw_home_mbit=profile.bw_mbit, bw_net_mbit=SITE_MBIT, delay_net_ms=0)
    points = [point for scenario in scenarios for point in (*scenario.endpoints, *scenario.later)]
    with ExitStack() as stack:
        # No netem: paths.py delays on every kernel, and the same way on all.
        star = stack.enter_context(running_star(["dns", *sites], speeds, netem=False))
        _address_hosts(star, points)
        set_fastopen(star.pids, ON)
        changed = work_dir / "changed"
        for script, settings, arguments, pid in (
                ("paths.py", _paths(profile, points, star, seed), (), star.user.pid),
                ("sites.py", _sites(points, star), (), star.user.pid),
                ("names.py", _names(scenarios, seed), (str(changed),), star.servers["dns"].pid)):
            file = work_dir / f"{script}.json"
            file.write_text(json.dumps(settings), encoding="utf-8")
            command = [sys.executable, str(HERE / script), str(file), *arguments]
            stack.enter_context(running(command, "ready", f"connie/lab/{script}", pid))
        yield Network(star, changed, _resolver_files(work_dir))


def _paths(profile: Profile, points: Sequence[Endpoint], star: Star, seed: int) -> dict[str, object]:
    paths = {point.address: {"one_way_ms": point.rtt_ms / 2, "jitter_ms": profile.jitter_ms, "path": point.path}
             for point in points}
    paths[DNS_ADDRESS] = {"one_way_ms": profile.dns_rtt_ms / 2, "jitter_ms": 0.0, "path": PASS}
    return {"seed": seed, "interface": star.user.interface, "paths": paths}


def _sites(points: Sequence[Endpoint], star: Star) -> list[dict[str, object]]:
    return [{"pid": star.servers[f"site{point.site}"].pid, "address": point.address,
             "late_s": LATE_S if point.server == LATE else 0.0}
            for point in points if point.server != REFUSE and point.path != LOSE_ALL]


def _names(scenarios: Sequence[Scenario], seed: int) -> dict[str, object]:
    names = {scenario.name: {"now": [point.address for point in scenario.endpoints],
                             "later": [point.address for point in scenario.later]} for scenario in scenarios}
    return {"seed": seed, "address": DNS_ADDRESS, "names": names}


def _resolver_files(work_dir: Path) -> dict[str, Path]:
    contents = {"/etc/resolv.conf": f"nameserver {DNS_ADDRESS}\noptions timeout:2 attempts:2\nsearch .\n",
                "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: dns\nservices: files\nprotocols: files\n"}
    files = {}
    for name, content in contents.items():
        files[name] = work_dir / Path(name).name
        files[name].write_text(content, encoding="utf-8")
    return files


def _address_hosts(star: Star, points: Sequence[Endpoint]) -> None:
    """Give every host its addresses, and the client the way to them. No neighbour is ever asked for: all are known."""
    user = star.user
    has_ipv6 = any(point.is_ipv6 for point in points)
    addresses_of = {name: [point.address for point in points if name == f"site{point.site}"] for name in star.servers}
    addresses_of["dns"] = [DNS_ADDRESS]
    lines = [f"route add {SERVER_NETWORK_4} dev {user.interface}"]
    if has_ipv6:
        lines += [f"addr add {CLIENT_6}/64 dev {user.interface} nodad",
                  f"route add {SERVER_NETWORK_6} dev {user.interface}"]
    for name, addresses in addresses_of.items():
        server = star.servers[name]
        lines += [f"neigh replace {address} lladdr {server.mac} dev {user.interface} nud permanent"
                  for address in addresses]
        theirs = [f"addr add {address}/{'128' if ':' in address else '32'} dev {server.interface}"
                  f"{' nodad' if ':' in address else ''}" for address in addresses]
        if has_ipv6:
            theirs += [f"route add {CLIENT_6}/128 dev {server.interface}",
                       f"neigh replace {CLIENT_6} lladdr {user.mac} dev {server.interface} nud permanent"]
        _ip_batch(server, theirs, has_ipv6)
    _ip_batch(user, lines, has_ipv6)


def _ip_batch(host: Host, lines: Sequence[str], has_ipv6: bool) -> None:
    with inside(host.pid):
        switch = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
        if has_ipv6:
            if not switch.exists():
                raise ExperimentError("this kernel has no IPv6; choose a --profile without it: wifi or server100")
            switch.write_text("0\n", encoding="utf-8")
        run(["ip", "-batch", "-"], f"giving {host.name} its addresses", given="\n".join(lines) + "\n")
