"""Which host names share a server, and files that say it: lines ``host server``, comments after ``#``.

A server is called by any name: two hosts with one name share it. A host that no line names has a server of its own,
which goes by the host's name; so ``cdn.example.org www.example.org`` puts the first onto the second's.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import InputError
from harness.files.host_names import is_host_name
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

HOST = "host"
RECORDED, DOMAIN, ONE = "recorded", "domain", "one"
CHOICES = (HOST, DOMAIN, ONE, RECORDED)
"""Each host name a server of its own; one for a registrable domain; one for all; as it was when they were recorded."""
LARGEST_FILE = 2**20
"""Bytes: twenty thousand lines."""
HOW_TO_WRITE = "write: host server"


@dataclass(frozen=True)
class Layout:
    """`choice` is one of CHOICES, or "file" and its name. `shared` is the server of each host that may share one."""

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


def read_layout(path: Path, hosts: Iterable[str]) -> tuple[Layout, list[str]]:
    """Return the layout that a file says, as far as it is about `hosts`, and a note for each line that is about none.

    Raises InputError (``file:line: problem``); also when it is about none of them.
    """
    try:
        lines = read_untrusted_lines(path, limit=LARGEST_FILE)
    except UnreadableFileError as error:
        raise InputError(f"{error}; give a file of lines: host server, or one of {', '.join(CHOICES)}") from None
    known, shared, notes, stood = set(hosts), dict[str, str](), list[str](), dict[str, int]()
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not all(map(is_host_name, words)):
            raise InputError(f"{path}:{number}: not a line of a layout: {line[:120]!r}; {HOW_TO_WRITE}")
        host, server = (word.lower() for word in words)
        if host in stood:
            raise InputError(f"{path}:{number}: {host} has a server already, in line {stood[host]}; leave one out")
        stood[host] = number
        if host in known:
            shared[host] = server
        else:
            notes.append(f"{path}:{number}: no host {host} in this recording; left out")
    if not shared:
        raise InputError(f"{path}:1: a layout of none of this recording's hosts; {HOW_TO_WRITE}")
    return Layout(f"file {path.name}", shared), notes


def format_layout(layout: Layout, hosts: Iterable[str]) -> str:
    """Return the layout of `hosts` as a file holds it."""
    return "".join(f"{host} {layout.server_of(host)}\n" for host in hosts)

