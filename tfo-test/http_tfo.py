#!/usr/bin/env python3
"""TFO-enabled replay servers: every recorded host answers as it did when it was recorded, one process per address.

For an experiment, with a line ``hostname ip netns_path`` for each host (``-``: no namespace of its own; hosts
with one address and namespace share a server, which tells them apart by the names that are asked for):

    http_tfo.py --mirror Paper --fetchlog Paper.fetchlog --hosts FILE --logdir serverlogs --delaynet 10 --user 1000:1000

and by hand, to look at with curl, where FILE has the line ``www.amazon.com 127.0.0.1 -``:

    http_tfo.py --mirror Paper --fetchlog Paper.fetchlog --hosts FILE --port 8000

A host that was recorded over https is served over TLS 1.3, on --tls-port, with a certificate of a local authority:

    curl --cacert .authority/ca.pem --connect-to www.example.org:443:127.0.0.1:8001 https://www.example.org/

Prints ``ready <n>`` when all of them listen, and serves until SIGTERM or Ctrl-C. Whether a SYN may carry data is the
kernel's setting in each server's network namespace (net.ipv4.tcp_fastopen, bit 2), read at each connection.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import InputError, printable, run_main
from harness.files.hosts import SCHEMES
from harness.files.load_mark import LoadMark
from harness.measure.settings import Settings, add_options, read_settings, settings_of
from harness.mirror.recording import Recording, read_recording
from harness.mirror.servers import read_rtts
from harness.replay.authority import AUTHORITY, HTTP_1, HTTP_2, Authority, open_authority
from harness.replay.connection import Service
from harness.replay.processes import ServerHost, ServingOptions, run_servers
from harness.replay.site import Site
from harness.system.options import DELAY_MS, PORT, OptionParser, Several
from harness.system.privileges import User, act_as
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

if TYPE_CHECKING:
    from aioquic.quic.configuration import QuicConfiguration

PROBLEMS_SHOWN = 20
Places = dict[tuple[str, str], list[str]]
"""The names of the hosts that share an address in the namespace of a path, "-" for the present one."""


def main() -> int:
    """Read the recording, then run the servers until a signal ends them."""
    parser = _parser()
    options = parser.parse_args()
    settings = read_settings(options.settings) if options.settings else settings_of(parser, options)
    if options.user:
        act_as(options.user)
    recording = read_recording(options.mirror, options.fetchlog)
    for problem in recording.problems[:PROBLEMS_SHOWN]:
        print(printable(problem), file=sys.stderr)
    if len(recording.problems) > PROBLEMS_SHOWN:    # our caller may read them only later: do not fill its pipe
        print(f"{options.fetchlog}: {len(recording.problems) - PROBLEMS_SHOWN} more problems", file=sys.stderr)
    mark = options.load_mark or LoadMark()
    return run_servers(
        [*_hosts(recording, settings, options, mark)],
        ServingOptions(options.mirror, settings.server == "2013", options.logdir, options.delaynet,
                       options.user, mark, settings.balancer))


def _hosts(recording: Recording, settings: Settings, options: argparse.Namespace, mark: LoadMark
           ) -> Iterator[ServerHost]:
    """Give what each address serves: the schemes its hosts were recorded with, each on its port."""
    known, authority = sorted(recording.hosts()), cache(partial(open_authority, options.authority))
    rtts_ms = {host: rtt_ms for host, (_, rtt_ms) in read_rtts(options.think).items()} if options.think else {}
    for (address, namespace), names in _read_hosts(options.hosts).items():
        if strange := [name for name in names if name not in known]:
            raise InputError(f"{options.mirror}: no host {strange[0]} in this mirror; it has, for example, "
                             f"{', '.join(known[:3])}")
        services = []
        for scheme in SCHEMES:
            sites = [Site(recording, name, scheme, mark, rtt_ms=rtts_ms.get(name)) for name in dict.fromkeys(names)
                     if scheme in recording.schemes(name)]
            if sites:
                plain = Service(sites, settings.port, "HTTP/1.0" if settings.http == "1.0" else "HTTP/1.1",
                                held_rtt_s=options.held_rtt / 1000)
                services.append(_secure(authority(), plain, settings) if scheme == "https" else plain)
        yield ServerHost(address, None if namespace == "-" else Path(namespace), services)


def _secure(authority: Authority, service: Service, settings: Settings) -> Service:
    """Return the https service of an address."""
    old = settings.server == "2013"
    always, never = settings.http in ("h2", "h3"), old or settings.http == "1.1"
    protocols = {site.host: HTTP_2 if not never and (always or site.http2) else HTTP_1 for site in service.sites}
    try:
        context = (authority.early_context if settings.warm_pairs else authority.shared_context)(protocols)
        quic = _quic(authority.certified([*protocols])) if any(each.quic for each in settings.transports) else None
    except ValueError as error:
        raise InputError(f"{service.sites[0].host}: no certificate can be made for this name ({error}); take its page "
                         "out of the .pages file and record again") from None
    return replace(service, port=settings.https_port, tls=context, quic=quic,
                   protocol="HTTP/1.0" if old else "HTTP/1.1")


def _quic(pems: bytes) -> QuicConfiguration:
    """Return how HTTP/3 is spoken; what it needs is imported now, while everything can be read."""
    try:
        from harness.replay.http3 import configuration_of
    except ModuleNotFoundError:
        raise InputError("--http h3 needs Python 3.11 or newer (Debian 12, Ubuntu 24.04) and its packages; "
                         "run: sudo ./scripts/setup.sh") from None
    return configuration_of(pems)


def _parser() -> OptionParser:
    parser = OptionParser(description="Replay recorded hosts with TCP Fast Open.")
    parser.add_argument("--mirror", type=Path, required=True, metavar="DIR", help="recorded bodies: DIR/<host>/<file>")
    parser.add_argument("--fetchlog", type=Path, metavar="DIR", help="recorded types, statuses and redirects")
    parser.add_argument("--hosts", type=Path, required=True, metavar="FILE",
                        help="hosts to serve, lines of: hostname ip netns_path|-")
    add_options(parser, ("port", "tls_port", "http", "server", "balancer", "early"), port=PORT, tls_port=PORT)
    parser.add_argument("--settings", metavar="JSON", help="these, as tfo.py says them")
    parser.add_argument("--authority", type=Path, default=AUTHORITY, metavar="DIR",
                        help="the certificate authority of https servers, made if there is none (default: %(default)s)")
    parser.add_argument("--logdir", type=Path, metavar="DIR", help="logs go to DIR/<delaynet>-tfo-<0|1>/<host>")
    parser.add_argument("--delaynet", type=Several(DELAY_MS), default=[0.0], metavar="MS",
                        help="one-way delays, for the logs' names; the load mark tells which one it is now")
    parser.add_argument("--held-rtt", type=DELAY_MS, default=0.0, metavar="MS", help="hold the first answer on a "
                        "connection back for two round trips of so many ms, or for one if its SYN carried the request, "
                        "and later ones for one: for servers on loopback (0)")
    parser.add_argument("--load-mark", type=_load_mark, metavar="FILE",
                        help="tells which load is under way, see harness/files/load_mark.py")
    parser.add_argument("--think", type=Path, metavar="FILE", help="wait before each answer as its server did when it "
                        "was recorded; FILE has a line for each host: host rtt_ms, which is taken off")
    parser.add_argument("--user", type=_user, metavar="UID:GID", help="who the servers run as, and who owns the logs")
    return parser


def _load_mark(text: str) -> LoadMark:
    try:
        return LoadMark(Path(text))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"no mark of loads: {text} ({error}); leave it out") from None


def _user(text: str) -> User:
    uid, _, gid = text.partition(":")
    if not uid.isdecimal() or not gid.isdecimal():
        raise argparse.ArgumentTypeError(f"not UID:GID: {text!r}; give two numbers")
    return User("", int(uid), int(gid))


def _read_hosts(path: Path) -> Places:
    places: Places = defaultdict(list)
    try:
        lines = read_untrusted_lines(path)
    except UnreadableFileError as error:
        raise InputError(f"{error}; write lines: hostname ip netns_path|-") from None
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words and len(words) != 3:
            raise InputError(f"{path}:{number}: not a host: {line[:120]!r}; write: hostname ip netns_path|-")
        if words:
            places[words[1], words[2]].append(words[0])
    if not places:
        raise InputError(f"{path}:1: no hosts; write lines: hostname ip netns_path|-")
    return places


if __name__ == "__main__":
    run_main(main)
