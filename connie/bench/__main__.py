"""Connect to hosts and close again, by racing and otherwise, and print how long that took.

    python -m connie.bench google.com apple.com
    python -m connie.bench --peers --port 443 $(cat hosts.txt)
    python -m connie.bench --https google.com

Strategies: connie_connect races all addresses; cached_dns_connect keeps names for 60 s and takes one address at random;
create_connection asks for the name each time and tries the addresses in turn. --peers adds asyncio's Happy Eyeballs,
anyio, trio, curl and Go's dialer, where installed. A time begins before the name is looked up and
ends with the connection; closing is not part of it. With --http and --https it is one GET over a new connection until
its whole answer, by connie.http's classes and http.client's own. All times are seconds. Where all names are this
machine's, and no --port is given, a small server is started for it. Needs no root.

Exit status: 0, 1 when a strategy never succeeded, 2 for bad input.
"""

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from connie.bench.own_server import loopback_addresses, running_server
from connie.bench.peers import open_peers
from connie.bench.strategies import OWN, Call, Measure, fetches, format_line, run_rounds

HTTP_PORT, HTTPS_PORT = 80, 443


def _number(read: Callable[[str], float], low: float, high: float) -> Callable[[str], float]:
    """Return a reader of numbers within these limits."""
    def bounded(text: str) -> float:
        if not low <= (value := read(text)) <= high:        # NaN is never within
            raise ValueError
        return value
    bounded.__name__ = f"number from {low:g} to {high:.10g}"        # argparse says so of what is none
    return bounded


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m connie.bench", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("hosts", nargs="+", metavar="HOST", help="names (or addresses) to connect to, taken in turns")
    parser.add_argument("--rounds", type=_number(int, 1, 1_000_000), default=300, help="calls of each strategy (300)")
    parser.add_argument("--port", type=_number(int, 1, 65535), help="TCP port (80; with --https 443)")
    parser.add_argument("--timeout", type=_number(float, 0.001, 3600), default=10.0, metavar="SECONDS",
                        help="given to each strategy; create_connection takes it for each address (10)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--peers", action="store_true", help="compare with other people's ways to connect, too")
    what.add_argument("--http", action="store_true", help="fetch / from each host")
    what.add_argument("--https", action="store_true", help="fetch / from each host over TLS")
    return parser


def checked(hosts: list[str]) -> list[str]:
    """Return the hosts typed. Raises ValueError when one is no name."""
    for host in hosts:
        # Control characters are none's: getaddrinfo stops at a NUL, http.client and curl refuse them.
        if not host.isprintable() or len(host.split()) != 1 or "/" in host:
            raise ValueError(f"not a host name: {host[:120]!r}; write some as in: google.com apple.com")
    return hosts


def _connect_s(measure: Measure, port: int, timeout_s: float, host: str) -> float:
    return measure(host, port, timeout_s).connect_s


def measure(arguments: argparse.Namespace, hosts: list[str]) -> int:
    """Measure and print a line for each strategy; return 1 when one of them never succeeded, else 0."""
    with ExitStack() as stack:
        port = arguments.port or (HTTPS_PORT if arguments.https else HTTP_PORT)
        if not (arguments.port or arguments.https) and (addresses := loopback_addresses(hosts)):
            port = stack.enter_context(running_server(addresses))
            print(f"names of this machine: measuring against a small server of our own, port {port}", file=sys.stderr)
        calls: dict[str, Call]
        if arguments.http or arguments.https:
            calls = fetches(port, arguments.timeout, arguments.https)
        else:
            strategies = OWN | (stack.enter_context(open_peers()) if arguments.peers else {})
            calls = {name: partial(_connect_s, each, port, arguments.timeout) for name, each in strategies.items()}
        found = run_rounds(calls, hosts, arguments.rounds)
    for name, series in found.items():
        print(format_line(name, series), flush=True)
    for name, series in found.items():              # each kind of failure once
        for message in sorted(set(series.errors)):
            print(f"{name}: {series.errors.count(message)} x {message}", file=sys.stderr)
    return 0 if all(series.times_s for series in found.values()) else 1


def main() -> int:
    """Read the command line, measure, print; return the exit status.

    Ctrl-C, a full disk, and a reader of standard output that has ended (`| head`) end it with 1 and one line.
    """
    parser = _parser()
    arguments = parser.parse_args()
    try:
        return measure(arguments, checked(arguments.hosts))
    except ValueError as error:
        parser.error(str(error))
    except (KeyboardInterrupt, OSError) as error:       # the OSErrors of the calls measured are counted
        print(f"stopped: {error!r}", file=sys.stderr)
        os._exit(1)                             # without printing the rest, which would fail again


if __name__ == "__main__":
    sys.exit(main())
