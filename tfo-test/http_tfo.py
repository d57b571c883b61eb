#!/usr/bin/env python3
"""TFO-enabled replay servers: every recorded host answers as it did when it was recorded, one process per host.

For an experiment, with a line ``hostname ip netns_path`` for each host (``-``: no namespace of its own):

    http_tfo.py --mirror Paper --fetchlog Paper.fetchlog --hosts FILE --logdir serverlogs --delaynet 10 --user 1000:1000

and one host by hand, to look at with curl:

    http_tfo.py --mirror Paper --fetchlog Paper.fetchlog --host www.amazon.com --address 127.0.0.1 --port 8000

A host that was recorded over https is served over TLS 1.3, on --tls-port, with a certificate of a local authority:

    curl --cacert .authority/ca.pem --connect-to www.example.org:443:127.0.0.1:8001 https://www.example.org/

Prints ``ready <n>`` when all of them listen, and serves until SIGTERM or Ctrl-C. Whether a SYN may carry data is the
kernel's setting in each server's network namespace (net.ipv4.tcp_fastopen, bit 2), read at each connection.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.authority import AUTHORITY, HTTP_1, HTTP_2, Authority, open_authority
from harness.errors import InputError, run_main
from harness.privileges import User
from harness.processes import die_with_parent
from harness.recording import Recording, read_recording
from harness.replay_family import Manner, Place, Service, run_family
from harness.replay_site import Site

PROBLEMS_SHOWN = 20
HTTP_CHOICES = ("1.0", "1.1", "h2", "recorded")
HTTP_HELP = ("1.0: http closes after each answer, https is as recorded; 1.1: both keep connections alive, no HTTP/2; "
             "h2: https offers HTTP/2 everywhere; recorded: http keeps connections alive, https is as recorded "
             "(default: %(default)s)")


def main() -> int:
    """Read the recording, then run the servers until a signal ends them."""
    options = _parser().parse_args()
    if options.server == "2013" and options.http != "1.0":
        raise InputError(f"--server 2013: speaks HTTP/1.0 only; leave out --http {options.http}")
    options.tls_port = options.tls_port or options.port + 1
    if options.tls_port == options.port:
        raise InputError("--tls-port: one port cannot speak both; choose another")
    if options.hosts:
        die_with_parent()    # an experiment's servers: they must not outlive it, even if it is killed
    recording = read_recording(options.mirror, options.fetchlog)
    for problem in recording.problems[:PROBLEMS_SHOWN]:
        print(problem, file=sys.stderr)
    if len(recording.problems) > PROBLEMS_SHOWN:    # our caller may read them only later: do not fill its pipe
        print(f"{options.fetchlog}: {len(recording.problems) - PROBLEMS_SHOWN} more problems", file=sys.stderr)
    places = _read_places(options.hosts) if options.hosts else [Place(options.host, options.address, None)]
    _check_places(places, recording, options)
    manner = Manner(options.mirror, options.server == "2013", _log_dirs(options), options.user)
    return run_family(places, _services(places, recording, options), manner)


def _services(places: list[Place], recording: Recording, options: argparse.Namespace) -> dict[str, list[Service]]:
    """Return what each host serves: the schemes it was recorded with, each on its port."""
    authority = None
    if any("https" in recording.schemes(place.host) for place in places):
        authority = open_authority(options.authority, options.user)
    services: dict[str, list[Service]] = {}
    for host in {place.host for place in places}:
        for scheme in recording.schemes(host):
            site = Site(recording, host, scheme)
            if authority is None or scheme == "http":
                services.setdefault(host, []).append(Service(site, options.port, http_protocol(options.http)))
            else:
                services.setdefault(host, []).append(_secure(authority, site, options))
    return services


def _secure(authority: Authority, site: Site, options: argparse.Namespace) -> Service:
    """Return the https service of a site."""
    if options.server == "2013":
        protocol, protocols = "HTTP/1.0", HTTP_1
    else:
        protocol, protocols = "HTTP/1.1", HTTP_2 if offers_http2(options.http, site.http2) else HTTP_1
    try:
        return Service(site, options.tls_port, protocol, authority.server_context(site.host, protocols))
    except ValueError as error:
        raise InputError(f"{options.mirror / site.host}: no certificate can be made for this name ({error}); "
                         "take its page out of the .pages file and record again") from None


def http_protocol(choice: str) -> str:
    """Return what --http `choice` means on plain http, where no browser speaks HTTP/2."""
    return "HTTP/1.0" if choice == "1.0" else "HTTP/1.1"


def offers_http2(choice: str, recorded: bool) -> bool:
    """Say whether --http `choice` offers HTTP/2 to an https host that was `recorded` with it or without."""
    return choice == "h2" or (choice != "1.1" and recorded)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Replay recorded hosts with TCP Fast Open.")
    parser.add_argument("--mirror", type=Path, required=True, metavar="DIR", help="recorded bodies: DIR/<host>/<file>")
    parser.add_argument("--fetchlog", type=Path, metavar="DIR", help="recorded types, statuses and redirects")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--hosts", type=Path, metavar="FILE", help="hosts to serve, lines of: hostname ip netns_path|-")
    which.add_argument("--host", help="the one host to serve")
    parser.add_argument("--address", default="127.0.0.1", help="address of the one host (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="port of every server (default: %(default)s)")
    parser.add_argument("--tls-port", type=_port, help="port of every https server (default: --port + 1)")
    parser.add_argument("--authority", type=Path, default=AUTHORITY, metavar="DIR",
                        help="the certificate authority of https servers, made if there is none (default: %(default)s)")
    parser.add_argument("--http", choices=HTTP_CHOICES, default="1.0", help=HTTP_HELP)
    parser.add_argument("--server", choices=("threaded", "2013"), default="threaded",
                        help="2013 serves one connection at a time, backlog 5 (default: %(default)s)")
    parser.add_argument("--logdir", type=Path, metavar="DIR", help="logs go to DIR/<delaynet>-tfo-<0|1>/<host>")
    parser.add_argument("--delaynet", type=float, default=0.0, metavar="MS", help="one-way delay, for the logs' names")
    parser.add_argument("--user", type=_user, metavar="UID:GID", help="who the servers run as, and who owns the logs")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"not a port: {text!r}; give 1 to 65535")
    return int(text)


def _user(text: str) -> User:
    uid, _, gid = text.partition(":")
    if not uid.isdecimal() or not gid.isdecimal():
        raise argparse.ArgumentTypeError(f"not UID:GID: {text!r}; give two numbers")
    return User("", int(uid), int(gid))


def _log_dirs(options: argparse.Namespace) -> tuple[Path, Path] | None:
    if options.logdir is None:
        return None
    return (options.logdir / f"{options.delaynet:g}-tfo-0", options.logdir / f"{options.delaynet:g}-tfo-1")


def _read_places(path: Path) -> list[Place]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: cannot be read ({error}); write lines: hostname ip netns_path|-") from None
    places = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != 3:
            raise InputError(f"{path}:{number}: not a host: {line!r}; write: hostname ip netns_path|-")
        host, address, namespace = words
        places.append(Place(host, address, None if namespace == "-" else Path(namespace)))
    if not places:
        raise InputError(f"{path}:1: no hosts; write lines: hostname ip netns_path|-")
    return places


def _check_places(places: list[Place], recording: Recording, options: argparse.Namespace) -> None:
    known = set(recording.hosts())
    for place in places:
        if place.host not in known:
            raise InputError(f"{options.mirror}: no host {place.host} in this mirror; it has, for example, "
                             f"{', '.join(sorted(known)[:3])}")


if __name__ == "__main__":
    run_main(main)
