"""The addresses of a host, and the order in which they are tried."""

from collections.abc import Iterable
from typing import Any, NamedTuple

Host = str | bytes | None
Port = int | str | None
SourceAddress = tuple[Any, ...]
"""What bind() takes: (host, port), and for IPv6 also (host, port, flow, scope)."""

Preference = int | None
"""The address family to begin with; None: that of the first address."""


class Address(NamedTuple):
    """One line of getaddrinfo's answer, without the canonical name."""

    family: int
    kind: int
    proto: int
    sockaddr: tuple[Any, ...]

    def __str__(self) -> str:
        return " port ".join(map(str, self.sockaddr[:2]))


def unique_addresses(answer: Iterable[tuple[Any, ...]]) -> tuple[Address, ...]:
    """Return getaddrinfo's `answer` as addresses in its order, each once: a name twice in /etc/hosts comes twice."""
    return tuple(dict.fromkeys(
        Address(family, kind, proto, sockaddr) for family, kind, proto, _, sockaddr in answer))


def interleave(addresses: Iterable[Address], prefer: Preference = None) -> list[Address]:
    """Return `addresses` with their families taking turns (RFC 8305, section 4; First Address Family Count 1).

    The family `prefer` comes first, then that of the first address; within a family the order, which getaddrinfo
    sorted by RFC 6724, stays. One dead family thus never stands in front of every address of the other.
    """
    families: dict[int, list[Address]] = {} if prefer is None else {prefer: []}
    for address in addresses:
        families.setdefault(address.family, []).append(address)
    order: list[Address] = []
    for turn in range(max(map(len, families.values()), default=0)):
        order += [queue[turn] for queue in families.values() if turn < len(queue)]
    return order
