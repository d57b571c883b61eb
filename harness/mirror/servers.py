"""How far away each recorded server was, its round-trip time (RTT) as TCP sees it, a handshake; and which hosts share a
server (tfo.py --layout, harness.files.hosts).

    recorded_rtts(files, recording).rtts_ms      # {"www.a.test": 12.0, "cdn.test": 180.0}

It is the shortest connect time to that server in the recording's HARs: other delays (a busy machine, a lost SYN) can
only make a connect time longer. What a file ``NAME.rtts`` says counts more than the HARs: it has a line ``host rtt_ms``
for each server; empty lines and lines that begin with # are ignored. Logs of 2013 have no connect times.

If neither says it (all requests went over connections that were open already, say), the server gets the median of the
other servers' RTTs.
"""

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from harness.errors import InputError, printable
from harness.files.hosts import DOMAIN, ONE, RECORDED, Layout, joined, site_of
from harness.files.pages import PageFiles
from harness.mirror.answers import is_answered
from harness.mirror.recording import Recording
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

LARGEST_LIST = 2**20
"""Bytes of a .rtts file: ten thousand servers."""
LINE = re.compile(r"(\S+)\s+([0-9]+(?:\.[0-9]+)?)")
LONGEST_MS = 120_000.0
"""Twice the longest delay one way (harness.system.options.DELAY_MS)."""
SHORTEST_MS = 1.0
"""Less than this is taken as 0: the net-log counts whole milliseconds, and the star alone has a tenth of one."""


@dataclass(frozen=True)
class RecordedRtts:
    """The RTT to every server of a recording, in ms. `assumed` are the servers whose RTT is not known."""

    rtts_ms: Mapping[str, float]
    assumed: tuple[str, ...]

    @property
    def median_ms(self) -> float:
        """The median over all servers."""
        return float(statistics.median(self.rtts_ms.values()))


def recorded_rtts(files: PageFiles, recording: Recording, option: str = "--rtt recorded") -> RecordedRtts:
    """Return the RTT to every host of `recording`, which is in `files`; `option` is what error messages name.

    Raises InputError when no RTT is known.
    """
    written = read_rtts(files.rtts) if files.rtts.exists() or files.rtts.is_symlink() else {}
    hosts = recording.hosts()
    for host, (line, _) in written.items():
        if host not in hosts:
            raise InputError(f"{files.rtts}:{line}: {host} is no server of this recording; take this line out")
    known = _handshakes_ms(recording) | {host: rtt_ms for host, (_, rtt_ms) in written.items()}
    known = {host: known[host] for host in hosts if host in known}
    if not known:
        raise InputError(f"{files.rtts}:1: {option}: this recording does not tell how far away its servers were; "
                         "write a line 'host rtt_ms' for each of them into this file (logs of 2013: "
                         f"./scripts/make_rtts.py --name {files.name}), or leave the option out")
    median_ms = statistics.median(known.values())
    return RecordedRtts({host: known.get(host, median_ms) for host in hosts},
                        tuple(host for host in hosts if host not in known))


def _handshakes_ms(recording: Recording) -> dict[str, float]:
    """Return the shortest TCP handshake with each host that a HAR tells of, in ms; hosts without one are not in it."""
    found: dict[str, float] = {}
    for item in recording.items:
        known_ms, host = item.exchange.handshake_ms, item.place.host
        if known_ms is not None and is_answered(item.exchange):
            found[host] = min(known_ms, found.get(host, known_ms))
    return found


def read_rtts(path: Path) -> dict[str, tuple[int, float]]:
    """Return what a .rtts file says: the line and the RTT in ms of each host. Raises InputError."""
    try:
        lines = read_untrusted_lines(path, limit=LARGEST_LIST)
    except UnreadableFileError as error:
        raise InputError(f"{error}; write lines: host rtt_ms") from None
    found: dict[str, tuple[int, float]] = {}
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        told = LINE.fullmatch(line)
        if told is None or float(told[2]) > LONGEST_MS:
            raise InputError(f"{path}:{number}: not an RTT: {line[:120]!r}; write: host rtt_ms, such as "
                             f"www.example.org 35, up to {LONGEST_MS:g} ms")
        if told[1] in found:
            raise InputError(f"{path}:{number}: {told[1]} stands in line {found[told[1]][0]} already; "
                             "take one of them out")
        found[told[1]] = number, float(told[2])
    return found


def write_rtts(path: Path, rtts_ms: Mapping[str, float], source: str) -> bool:
    """Write a .rtts file that says where it comes from, unless there is one already; return whether it was written."""
    rtts_ms = {host: rtt_ms for host, rtt_ms in rtts_ms.items() if rtt_ms <= LONGEST_MS}
    if not rtts_ms or path.exists() or path.is_symlink():
        return False
    lines = [f"# From {printable(source)}: host, RTT in ms (the shortest TCP handshake to it).\n",
             *(f"{host} {rtt_ms:.1f}\n" for host, rtt_ms in sorted(rtts_ms.items()))]
    write_atomically(path, "".join(lines))
    return True


def scaled(rtts_ms: Mapping[str, float], factor: float) -> dict[str, float]:
    """Return the RTTs times `factor`, to a tenth of a millisecond; what is below SHORTEST_MS is 0."""
    times = {host: round(rtt_ms * factor, 1) for host, rtt_ms in rtts_ms.items()}
    return {host: rtt_ms if rtt_ms >= SHORTEST_MS else 0.0 for host, rtt_ms in times.items()}


def make_layout(choice: str, recording: Recording) -> Layout:
    """Return the layout of a recording's hosts that `choice` asks for, one of harness.files.hosts.CHOICES.

    "recorded": hosts share a server that had an address in common when they were recorded. A host without an address
    (nobody answered, or all came from the browser's cache) has a server of its own. Raises InputError when no host has
    an address.
    """
    hosts = recording.hosts()
    if choice == DOMAIN:
        return Layout(choice, {host: site_of(host) for host in hosts})
    if choice == ONE:
        return Layout(choice, dict.fromkeys(hosts, ONE))
    if choice != RECORDED:
        return Layout()
    names: dict[str, set[str]] = defaultdict(set)
    for item in recording.items:
        with suppress(ValueError):
            names[str(ip_address(item.exchange.address.strip("[]")))].add(item.place.host)
    groups = [sorted(group & {*hosts}) for group in names.values() if group & {*hosts}]
    if not groups:
        raise InputError("this recording does not say its servers' addresses (no serverIPAddress in a HAR, as in those "
                         f"of 2013); give another --layout than {RECORDED}")
    return Layout(choice, joined(groups))
