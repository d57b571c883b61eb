"""Networks and faults to order, what the client is to measure in them, and what it says about each connect.

Each fault has a name and addresses of its own, so all are measured side by side.
"""

from dataclasses import dataclass, replace
from ipaddress import ip_address

PORT = 80
LATE_S = 0.2
CLIENT_6 = "2001:db8:0:1::1"
SERVER_NETWORK_4, SERVER_NETWORK_6 = "198.18.0.0/16", "2001:db8:8000::/48"
"""RFC 2544's network for benchmarks and RFC 3849's for documentation. Their prefix is not that of the client's own
addresses. So getaddrinfo does not sort the addresses of one family (RFC 6724, rule 9), but leaves them as the name
server gave them."""
DNS_ADDRESS = "198.18.255.53"


@dataclass(frozen=True)
class Profile:
    """A client's network, and how far away from it the addresses of one name are.

    rtts4_ms, rtts6_ms: round-trip times to the name's IPv4 and IPv6 addresses, in ms, without jitter.
    jitter_ms: mean of what queues add to an RTT, in ms (two halves, exponentially distributed, both on the way in).
    dns_rtt_ms: round-trip time to the name server. bw_mbit: rate of the client's link.
    """

    name: str
    title: str
    rtts4_ms: tuple[float, ...]
    rtts6_ms: tuple[float, ...]
    jitter_ms: float
    dns_rtt_ms: float
    bw_mbit: float


PROFILES = {profile.name: profile for profile in (
    Profile("home", "home link, native IPv4 and tunnelled IPv6", (58, 64, 76, 96), (78, 84, 96, 116),
            jitter_ms=4, dns_rtt_ms=15, bw_mbit=20),
    Profile("server1000", "server at 1 Gbit/s, native dual stack", (4, 4.1, 4.3, 5), (4, 4.1, 4.3, 5),
            jitter_ms=0.1, dns_rtt_ms=0.3, bw_mbit=1000))}
"""Two of the four networks of 2013. docs/connie.md says what is known of them and what is chosen."""


@dataclass(frozen=True)
class Endpoint:
    """One address: which server has it, how far away it is, and what is wrong with it.

    is_lost: nobody listens there, and packets from it are lost. is_closed: nobody listens there. late_s: so late
    requests are answered, in seconds.
    """

    address: str
    site: int
    rtt_ms: float
    is_lost: bool = False
    is_closed: bool = False
    late_s: float = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether a connect to it succeeds."""
        return not self.is_lost and not self.is_closed


@dataclass(frozen=True)
class Scenario:
    """A name and its addresses."""

    fault: str
    name: str
    endpoints: tuple[Endpoint, ...]

    @property
    def alive(self) -> list[Endpoint]:
        """The addresses that can be connected to, the nearest first."""
        return sorted((point for point in self.endpoints if point.is_alive), key=lambda point: point.rtt_ms)


FAULTS = {
    "none": "every address alive",
    "dead": "one address swallows SYNs: the farthest of IPv6, which is tried first",
    "refuse": "the nearest address refuses",
    "slow": f"the nearest address accepts, and answers {LATE_S:g} s late",
    "dead-v6": "IPv6 is black-holed: every IPv6 address swallows SYNs",
}


def make_scenario(profile: Profile, fault: str) -> Scenario:
    """Return a fault in a profile's network. Raises ValueError for a fault that does not exist."""
    number = [*FAULTS].index(fault)
    points6 = [Endpoint(str(ip_address(f"2001:db8:8000:{number:x}::{site + 1:x}")), site, rtt_ms)
               for site, rtt_ms in enumerate(profile.rtts6_ms)]
    points = points6 + [Endpoint(f"198.18.{number}.{site + 1}", site, rtt_ms)
                        for site, rtt_ms in enumerate(profile.rtts4_ms)]
    nearest = min(points, key=lambda point: point.rtt_ms)
    farthest6 = max(points6, key=lambda point: point.rtt_ms)
    spoiled: dict[Endpoint, Endpoint] = {
        "none": {}, "dead": {farthest6: replace(farthest6, is_lost=True)},
        "refuse": {nearest: replace(nearest, is_closed=True)}, "slow": {nearest: replace(nearest, late_s=LATE_S)},
        "dead-v6": {point: replace(point, is_lost=True) for point in points6}}[fault]
    # "test" is never a name of the Internet (RFC 6761).
    return Scenario(fault, f"{fault}.test", tuple(spoiled.get(point, point) for point in points))


REQUEST = b"GET / HTTP/1.0\r\nHost: sites.test\r\n\r\n"

FLOOR = "nearest alive, alone"
"""A plain connect to the nearest address that is alive, without any name: the RTT as this machine can measure it."""


@dataclass(frozen=True)
class Task:
    """How often and how long what is measured, and whose counters are read.

    profile, faults, strategies: their names. rounds: connects of each strategy with each fault; budget_s: but no more
    once a strategy has spent so many seconds with one; timeout_s: given to every strategy (create_connection takes it
    for each address); seed: of orders and jitter. client_pid, interface: a process in the client's namespace, and its
    interface; site_pids: in those of the sites, by their numbers.
    """

    profile: str
    faults: list[str]
    strategies: list[str]
    rounds: int
    budget_s: float
    timeout_s: float = 2.0
    seed: int = 1
    client_pid: int = 0
    interface: str = ""
    site_pids: tuple[int, ...] = ()

    @property
    def scenarios(self) -> list[Scenario]:
        """The faults in the profile's network."""
        return [make_scenario(PROFILES[self.profile], fault) for fault in self.faults]

    @property
    def endpoints(self) -> list[Endpoint]:
        """The addresses of all of them."""
        return [point for scenario in self.scenarios for point in scenario.endpoints]


@dataclass(frozen=True)
class Time:
    """One connect. Times in ms from before the name's lookup; None where it failed, and `error` says with what."""

    fault: str
    strategy: str
    connect_ms: float | None
    first_byte_ms: float | None
    address: str
    error: str


@dataclass(frozen=True)
class Cost:
    """What one connect cost, on average of a few.

    sockets: TCP connections the client began (Tcp ActiveOpens). sent_bytes: what left the client's interface, with
    Ethernet headers and questions to the name server. aborted: connections that reached a server and were dropped by
    the client before they carried a request: half open ones (TcpExt EmbryonicRsts), and accepted ones (Tcp
    PassiveOpens) beyond the one that a connect is for. fast_open: SYNs whose data a server accepted (TcpExt
    TCPFastOpenPassive). cpu_ms: processor time of the client and its processes, in ms, starting them included.
    Sources: Linux Documentation/networking/snmp_counter.rst.
    """

    fault: str
    strategy: str
    connects: int
    sockets: float
    sent_bytes: float
    aborted: float
    fast_open: float
    cpu_ms: float


@dataclass(frozen=True)
class Results:
    """All times and costs of one profile."""

    times: list[Time]
    costs: list[Cost]
