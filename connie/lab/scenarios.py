"""Faults to order: for each a name of its own, with addresses of its own, so that all can be measured side by side."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from ipaddress import ip_address
from typing import Any

from connie.lab.profiles import Profile

PASS, LOSE_ALL, LOSE_FIRST_SYN = "pass", "lose all", "lose first SYN"
"""What the path to an address does with packets for it."""

AT_ONCE, LATE, REFUSE = "at once", "late", "refuse"
"""What the server at an address does: answer requests, answer them 0.2 s late, or not listen at all."""

LATE_S = 0.2
PORT = 80
DOMAIN = "test"                             # RFC 6761: never a name of the Internet


@dataclass(frozen=True)
class Endpoint:
    """One address: which server has it, how far away it is, and what is wrong with it."""

    address: str
    site: int
    rtt_ms: float
    path: str = PASS
    server: str = AT_ONCE

    @property
    def is_ipv6(self) -> bool:
        """Whether it is an IPv6 address."""
        return ":" in self.address

    @property
    def is_alive(self) -> bool:
        """Whether a connect to it succeeds, and without a retransmission."""
        return self.path == PASS and self.server != REFUSE


@dataclass(frozen=True)
class Scenario:
    """A name and its addresses. `later` are those the name server gives once the answer has changed, () for never."""

    fault: str
    name: str
    endpoints: tuple[Endpoint, ...]
    later: tuple[Endpoint, ...] = ()

    @property
    def fastest_alive(self) -> Endpoint | None:
        """The nearest address that can be connected to at once; None when all are dead."""
        return min((point for point in self.endpoints if point.is_alive), key=rtt, default=None)


Spoil = Callable[[Sequence[Endpoint]], list[Endpoint]]


def rtt(endpoint: Endpoint) -> float:
    """Return the RTT in ms."""
    return endpoint.rtt_ms


def _one(choose: Callable[[Sequence[Endpoint]], Endpoint], **fault: str) -> Spoil:
    def spoil(points: Sequence[Endpoint]) -> list[Endpoint]:
        chosen = choose(points)
        return [replace(point, **fault) if point == chosen else point for point in points]  # type: ignore[arg-type]
    return spoil


def _all(**fault: str) -> Spoil:
    return lambda points: [replace(point, **fault) for point in points]  # type: ignore[arg-type]


def _fastest(points: Sequence[Endpoint]) -> Endpoint:
    return min(points, key=rtt)


def _slowest_preferred(points: Sequence[Endpoint]) -> Endpoint:
    """The farthest address of the family that getaddrinfo puts first (RFC 6724: IPv6)."""
    return max([point for point in points if point.is_ipv6] or points, key=rtt)


def _recovering(points: Sequence[Endpoint]) -> list[Endpoint]:
    recovers = _fastest(points)
    return [replace(point, path=LOSE_FIRST_SYN if point == recovers else LOSE_ALL) for point in points]


FAULTS: dict[str, tuple[str, Spoil]] = {
    "none": ("every address alive", list),
    "dead": ("one address swallows SYNs: the farthest of the family tried first",
             _one(_slowest_preferred, path=LOSE_ALL)),
    "dead-fastest": ("the nearest address swallows SYNs", _one(_fastest, path=LOSE_ALL)),
    "refuse": ("the nearest address refuses", _one(_fastest, server=REFUSE)),
    "slow": ("the nearest address accepts, and answers 0.2 s late", _one(_fastest, server=LATE)),
    "dead-v6": ("IPv6 is black-holed: every IPv6 address swallows SYNs",
                lambda points: [replace(point, path=LOSE_ALL) if point.is_ipv6 else point for point in points]),
    "all-dead": ("every address swallows SYNs", _all(path=LOSE_ALL)),
    "recovering": ("every address swallows SYNs, but the nearest is back for the first retransmission, 1 s later",
                   _recovering),
    "dns-change": ("the name moves, the old addresses refuse; connects after that", _all(server=REFUSE)),
    "dns-change-dead": ("the name moves, the old addresses swallow SYNs; connects after that", _all(path=LOSE_ALL)),
}
"""By their names: what is wrong, and how healthy addresses become such."""

MOVING = ("dns-change", "dns-change-dead")
SERVER_NETWORK_4, SERVER_NETWORK_6 = "198.18.0.0/16", "2001:db8:8000::/48"
"""RFC 2544's network for benchmarks and RFC 3849's for documentation. Their prefix is not that of the client's own
addresses. So getaddrinfo does not sort the addresses of one family (RFC 6724, rule 9), but leaves them as the name
server gave them."""


def make_scenario(profile: Profile, fault: str) -> Scenario:
    """Return a fault in a profile's network. Raises KeyError for a fault that does not exist."""
    number = 2 * list(FAULTS).index(fault)
    spoiled = tuple(FAULTS[fault][1](_healthy(profile, number)))
    later = tuple(_healthy(profile, number + 1)) if fault in MOVING else ()
    return Scenario(fault, f"{fault}.{DOMAIN}", spoiled, later)


def _healthy(profile: Profile, number: int) -> list[Endpoint]:
    """Return the addresses of a profile, all alive; `number` tells one set from another."""
    return [*(Endpoint(str(ip_address(f"2001:db8:8000:{number:x}::{site + 1:x}")), site, rtt_ms)
              for site, rtt_ms in enumerate(profile.rtts6_ms)),
            *(Endpoint(f"198.18.{number}.{site + 1}", site, rtt_ms) for site, rtt_ms in enumerate(profile.rtts4_ms))]


def faults_of(profile: Profile) -> list[str]:
    """Return the names of the faults that the network of this profile can have: without IPv6 it cannot be dead."""
    return [fault for fault in FAULTS if fault != "dead-v6" or profile.rtts6_ms]


def to_json(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as the programs on the simulated hosts read it."""
    return asdict(scenario)


def from_json(values: dict[str, Any]) -> Scenario:
    """Return what `to_json` was given."""
    endpoints, later = (tuple(Endpoint(**point) for point in values[key]) for key in ("endpoints", "later"))
    return Scenario(values["fault"], values["name"], endpoints, later)
