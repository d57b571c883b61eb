"""The host-remap file (``hack_dns``): which address and port stand for which web site.

A line is ``hostname ip port`` for the site's port 80, ``hostname ip port https`` for its port 443.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.files.host_names import is_host_name
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

PORTS = {"http": 80, "https": 443}
"""The schemes of web sites that are replayed, and their ports in URLs that name none."""
SCHEMES = tuple(PORTS)


@dataclass(frozen=True)
class Remap:
    """`host` on the port of `scheme` ("http" or "https") is really `address`:`port`."""

    host: str
    address: str
    port: int
    scheme: str = "http"


def write_hack_dns(path: Path, remaps: Iterable[Remap]) -> None:
    """Write the file, one line per host and scheme."""
    write_atomically(path, "".join(f"{remap.host} {remap.address} {remap.port}"
                                   f"{' https' if remap.scheme == 'https' else ''}\n" for remap in remaps))


def read_hack_dns(path: Path) -> list[Remap]:
    """Read the file; blank lines are ignored. Raises InputError (``file:line: problem``)."""
    try:
        lines = read_untrusted_lines(path)
    except UnreadableFileError as error:
        raise InputError(f"{error}; run tfo.py to make it") from None
    return [_parse(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _parse(line: str, where: str) -> Remap:
    try:
        host, address, port_text, *scheme = line.split()
        port = int(port_text)
        ipaddress.ip_address(address)
        if not is_host_name(host) or not 0 < port < 65536 or scheme not in ([], ["http"], ["https"]):
            raise ValueError
    except ValueError:
        raise InputError(f"{where}: not a remap: {line[:120]!r}; write: hostname ip port [https]") from None
    return Remap(host, address, port, *scheme)


def resolver_rules(remaps: Iterable[Remap]) -> str:
    """Return Chrome's --host-resolver-rules for the remaps; every other name fails at once instead of leaving."""
    rules = [f"MAP {remap.host}:{PORTS[remap.scheme]} {_in_url(remap.address)}:{remap.port}" for remap in remaps]
    return ",".join([*rules, "MAP * ~NOTFOUND"])


def origins(remaps: Iterable[Remap], scheme: str) -> tuple[str, ...]:
    """Return the ``host:port`` that URLs of a scheme name, the default port in full."""
    return tuple(f"{remap.host}:{PORTS[scheme]}" for remap in remaps if remap.scheme == scheme)


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address
