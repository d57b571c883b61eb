"""Makes the layout that tfo.py --layout asks for: which hosts of a recording share a server (harness.files.hosts)."""

from collections import defaultdict
from pathlib import Path

from harness.errors import InputError
from harness.files.hosts import DOMAIN, HOST, ONE, RECORDED, Layout, joined, read_layout, site_of
from harness.mirror.recording import Recording


def make_layout(choice: str, recording: Recording) -> tuple[Layout, list[str]]:
    """Return the layout of a recording's hosts that `choice` asks for, which is a word or a file; and notes for people.

    Raises InputError when the file is not a layout, or when the recording does not say its servers' addresses.
    """
    hosts = recording.hosts()
    if choice == HOST:
        return Layout(), []
    if choice == DOMAIN:
        return Layout(DOMAIN, {host: site_of(host) for host in hosts}), []
    if choice == ONE:
        return Layout(ONE, dict.fromkeys(hosts, ONE)), []
    if choice == RECORDED:
        return recorded_layout(recording), []
    return read_layout(Path(choice), hosts)


def recorded_layout(recording: Recording) -> Layout:
    """Return the layout in which hosts share a server that had an address in common when they were recorded.

    A host without an address (nobody answered, or all came from the browser's cache) has a server of its own. Raises
    InputError when no host has one.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for host, addresses in recording.addresses.items():
        for address in addresses:
            names[address].add(host)
    known = set(recording.hosts())
    groups = [sorted(group & known) for group in names.values() if group & known]
    if not groups:
        raise InputError("this recording does not say its servers' addresses (no serverIPAddress in a HAR, as in those "
                         f"of 2013); give another --layout than {RECORDED}")
    return Layout(RECORDED, joined(groups))
