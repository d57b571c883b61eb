"""Makes the layout that tfo.py --layout asks for: which hosts of a recording share a server (harness.files.layout)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError
from harness.files.layout import DOMAIN, HOST, ONE, RECORDED, Layout, joined, read_layout
from harness.files.sites import site_of
from harness.system.untrusted import UnreadableFileError, read_untrusted_json


def make_layout(choice: str, hosts: Sequence[str], fetchlog_dir: Path) -> tuple[Layout, list[str]]:
    """Return the layout of `hosts` that `choice` asks for, which is a word or a file; and notes for people.

    Raises InputError when the file is not a layout, or when the recording does not say its servers' addresses.
    """
    if choice == HOST:
        return Layout(), []
    if choice == DOMAIN:
        return Layout(DOMAIN, {host: site_of(host) for host in hosts}), []
    if choice == ONE:
        return Layout(ONE, dict.fromkeys(hosts, ONE)), []
    if choice == RECORDED:
        return recorded_layout(hosts, fetchlog_dir), []
    return read_layout(Path(choice), hosts)


def recorded_layout(hosts: Sequence[str], fetchlog_dir: Path) -> Layout:
    """Return the layout in which hosts share a server that had an address in common when they were recorded.

    A host without an address (nobody answered, or all came from the browser's cache) has a server of its own. Raises
    InputError when no host has one.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for host, addresses in recorded_addresses(fetchlog_dir).items():
        for address in addresses:
            names[address].add(host)
    known = set(hosts)
    groups = [sorted(group & known) for group in names.values() if group & known]
    if not groups:
        raise InputError(f"{fetchlog_dir}: this recording does not say its servers' addresses (no serverIPAddress in a "
                         f"HAR, as in those of 2013); give another --layout than {RECORDED}")
    return Layout(RECORDED, joined(groups))


def recorded_addresses(fetchlog_dir: Path) -> dict[str, set[str]]:
    """Return the addresses that each host of a recording answered from; HARs that cannot be read are left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(fetchlog_dir.glob("*.har")):
        for host, address in _answers(path):
            found[host].add(address)
    return dict(found)


def _answers(har: Path) -> Iterator[tuple[str, str]]:
    """Yield host and address of each entry, up to the first that is no entry (harness.mirror.recording reports it)."""
    with suppress(UnreadableFileError, ValueError, TypeError, KeyError, AttributeError):
        for entry in read_untrusted_json(har)["log"]["entries"]:
            address = str(entry.get("serverIPAddress") or "").strip("[]")
            if address:
                yield urlsplit(str(entry["request"]["url"])).hostname or "", str(ip_address(address))
