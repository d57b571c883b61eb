"""The host-remap file (``hack_dns``): which address and port stand for which web site; ``hostname ip port`` a line."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError

HTTP_PORT = 80


@dataclass(frozen=True)
class Remap:
    """`host` on port 80 is really `address`:`port`."""

    host: str
    address: str
    port: int


def write_hack_dns(path: Path, remaps: Iterable[Remap]) -> None:
    """Write the file, one line per host."""
    path.write_text("".join(f"{remap.host} {remap.address} {remap.port}\n" for remap in remaps), encoding="utf-8")


def read_hack_dns(path: Path) -> list[Remap]:
    """Read the file; blank lines are ignored. Raises InputError (``file:line: problem``)."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: cannot be read ({error}); run tfo.py to make it") from None
    return [_parse(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _parse(line: str, where: str) -> Remap:
    try:
        host, address, port_text = line.split()
        port = int(port_text)
        ipaddress.ip_address(address)
        if not 0 < port < 65536:
            raise ValueError
    except ValueError:
        raise InputError(f"{where}: not a remap: {line!r}; write: hostname ip port") from None
    return Remap(host, address, port)


def resolver_rules(remaps: Iterable[Remap]) -> str:
    """Return Chrome's --host-resolver-rules for the remaps; every other name fails at once instead of leaving."""
    rules = [f"MAP {remap.host}:{HTTP_PORT} {remap.address}:{remap.port}" for remap in remaps]
    return ",".join([*rules, "MAP * ~NOTFOUND"])
