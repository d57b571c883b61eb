"""Servers on this machine's loopback, an address for each: a star without links, in which no packet takes any time.

The delay is the servers' own doing (harness.replay.connection), and it is measured as the star's RTT is.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import ExperimentError
from harness.network.rtt import shortest_ms
from harness.network.star import Host, Star

NETWORK = "127.84"
"""Where the hosts are: each has an address of its own, as loopback has 2**24 of them."""
INTERFACE = "lo"
TIMEOUT_S = 130.0
"""Two round trips of a minute, and some more."""
ASKED = b"HEAD /.tfo-lab-round-trip HTTP/1.0\r\n\r\n"
"""What no recording has an answer to."""


@dataclass(frozen=True)
class ServerAddress:
    """Where a host listens; `secure`: over TLS."""

    address: str
    port: int
    secure: bool = False


def loopback_addresses(host_names: Sequence[str]) -> dict[str, str]:
    """Return the address of each host, which its place in the list decides."""
    return {name: f"{NETWORK}.{number >> 8}.{number & 255}" for number, name in enumerate(host_names, start=1)}


def loopback_star(host_names: Sequence[str]) -> Star:
    """Return the hosts as those of a star: `user` and all servers are in this process's own network namespace."""
    pid = os.getpid()
    servers = {name: Host(name, address, "", INTERFACE, pid)
               for name, address in loopback_addresses(host_names).items()}
    return Star(user=Host("user", "127.0.0.1", "", INTERFACE, pid), switch_pid=pid, servers=servers)


def measure_held_rtts(servers: Mapping[str, ServerAddress]) -> dict[str, float]:
    """Return the RTT that each server simulates, in ms: half of what the first answer on a connection takes.

    Sampled as harness.network.rtt does it. Over TLS that answer is the one to the ClientHello. Raises ExperimentError
    when a server does not answer.
    """
    async def once(names: Sequence[str]) -> list[float]:
        return [time_ms / 2 for time_ms in await asyncio.gather(*(_first_answer_ms(servers[name]) for name in names))]

    return shortest_ms([*servers], lambda names: asyncio.run(once(names)))


async def _first_answer_ms(server: ServerAddress) -> float:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if server.secure else None
    if trust:
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    began_s = time.perf_counter()
    try:
        await asyncio.wait_for(_answered(server, trust), TIMEOUT_S)
    except (OSError, EOFError, asyncio.TimeoutError) as error:
        raise ExperimentError(f"{server.address}:{server.port}: its server does not answer ({error!r})") from None
    return (time.perf_counter() - began_s) * 1000


async def _answered(server: ServerAddress, trust: ssl.SSLContext | None) -> None:
    reader, writer = await asyncio.open_connection(server.address, server.port, ssl=trust)
    if not trust:
        writer.write(ASKED)
        await reader.readexactly(1)
    writer.close()
