"""Web sites' hosts: what can be a name, which names are one site, which share a server, which address stands for one.

A name becomes a folder, a word in the lists that servers and Chrome are told by, and a part of Chrome's rules for
names: with a line break, a comma or a slash in it, it would say more there than a name.

A site is a registrable domain, the public suffix of a name and one label more (https://publicsuffix.org, as the package
publicsuffixlist has it; nothing is asked over the network).

A layout says which host names share a server. A host that it does not name has a server of its own, which goes by the
host's name.

The host-remap file (``hack_dns``) has lines ``hostname ip port`` for the site's port 80, ``hostname ip port https`` for
its port 443.
"""

import hashlib
import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

LONGEST = 253
"""Characters of a name without the root's dot at its end (RFC 1035: 255 bytes on the wire)."""
_LABEL = r"[A-Za-z0-9_-]{1,63}"
_NAME = re.compile(rf"(?!-)(?:{_LABEL}\.)*{_LABEL}\.?", re.ASCII)
_OF_ANOTHER_SCRIPT = "xn--"


def is_host_name(text: str) -> bool:
    """Say whether `text` can be the name of a web site's host, or its IPv4 address, in ASCII.

    Other scripts have IDNA's form, ``xn--`` and Punycode (RFC 3492). Underscores are there: browsers ask for them.
    """
    return len(text.removesuffix(".")) <= LONGEST and _NAME.fullmatch(text) is not None and all(
        _is_punycode(label[len(_OF_ANOTHER_SCRIPT):]) for label in text.lower().split(".")
        if label.startswith(_OF_ANOTHER_SCRIPT))


def _is_punycode(text: str) -> bool:
    try:
        return bool(text) and not text.encode("ascii").decode("punycode").isascii()
    except (UnicodeError, OverflowError):
        return False


def registrable_domain(host: str) -> str | None:
    """Return the site that `host`, in ASCII, belongs to; None for an address, a bare name or a public suffix itself."""
    if host.replace(".", "").isdigit() or ":" in host or "." not in host:
        return None
    domain = _suffixes().privatesuffix(host.rstrip(".").lower())
    return str(domain) if domain else None


def site_of(host: str) -> str:
    """Return the registrable domain of `host`, the name itself where it has none: then it is a site of its own."""
    return registrable_domain(host) or host


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


HOST = "host"
RECORDED, DOMAIN, ONE = "recorded", "domain", "one"
CHOICES = (HOST, DOMAIN, ONE, RECORDED)
"""Each host name a server of its own; one for a registrable domain; one for all; as it was when they were recorded."""


@dataclass(frozen=True)
class Layout:
    """`choice` is one of CHOICES. `shared` is the server of each host that may share one."""

    choice: str = HOST
    shared: Mapping[str, str] = field(default_factory=dict)

    def server_of(self, host: str) -> str:
        """Return the name of the server that `host` is on."""
        return self.shared.get(host, host)

    def servers(self, hosts: Iterable[str]) -> dict[str, list[str]]:
        """Return the servers of these hosts with the names that each answers for, in the hosts' order."""
        found: dict[str, list[str]] = defaultdict(list)
        for host in hosts:
            found[self.server_of(host)].append(host)
        return dict(found)

    def in_words(self, hosts: Sequence[str]) -> str:
        """Return what an experiment's file says of it: no two layouts of these hosts have the same words."""
        if self.choice == HOST:
            return HOST
        servers = sorted(self.servers(hosts).values())
        digest = hashlib.sha256("\n".join(map(" ".join, servers)).encode()).hexdigest()[:8]
        return f"{self.choice}: {len(hosts)} host names on {len(servers)} server{'' if len(servers) == 1 else 's'} " \
               f"({digest})"


EACH_ITS_OWN = Layout()


def joined(groups: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the first name, in the alphabet's order, of those that hang together with each: names of one group do."""
    found: dict[str, set[str]] = {}
    for group in groups:
        whole = set(group).union(*(found[name] for name in group if name in found))
        found.update(dict.fromkeys(whole, whole))
    return {name: min(whole) for name, whole in found.items()}


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
