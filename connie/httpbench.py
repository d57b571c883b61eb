#!/usr/bin/env python3
"""Fetch / from hosts over connections made by racing and otherwise, and print how long that took.

    ./connie/httpbench.py google.com apple.com
    ./connie/httpbench.py --https --file hosts.txt

Each call is one GET over one new connection: name, connect, (with --https: TLS handshake), request, whole answer.
Redirects are not followed, and any status counts: what is measured is the connection. ConnieHTTPConnection races all
addresses; CachedDNSHTTPConnection keeps names for 60 s and takes one address at random; HTTPConnection is http.client's
own. All times are seconds. Names of this machine only, with nobody on port 80, are measured against a small server that
is started for it. Needs no root.

Exit status: 0, 1 when a strategy never succeeded, 2 for bad input.
"""

import sys
from pathlib import Path

# A script's own folder is where Python looks for modules first, and this one's http.py would hide Python's own.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(folder for folder in sys.path if folder != str(HERE))]
from connie.bench.project_python import use_project_python

use_project_python()

from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from time import perf_counter

from connie.bench.command_line import (
    HTTP_PORT,
    HTTPS_PORT,
    all_hosts,
    make_parser,
    measure_and_print,
    port_to_use,
    run_main,
)
from connie.bench.rounds import Call
from connie.http import CachedDNSHTTPConnection, CachedDNSHTTPSConnection, ConnieHTTPConnection, ConnieHTTPSConnection

CONNECTIONS: tuple[type[HTTPConnection], ...] = (ConnieHTTPConnection, CachedDNSHTTPConnection, HTTPConnection)
SECURE: tuple[type[HTTPConnection], ...] = (ConnieHTTPSConnection, CachedDNSHTTPSConnection, HTTPSConnection)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = make_parser(__doc__)
    parser.add_argument("--https", action="store_true", help=f"over TLS, on port {HTTPS_PORT} unless --port says else")
    arguments = parser.parse_args()
    hosts = all_hosts(arguments)
    classes, default = (SECURE, HTTPS_PORT) if arguments.https else (CONNECTIONS, HTTP_PORT)
    with port_to_use(arguments, hosts, default) as port:
        calls = {kind.__name__: fetch_call(kind, port, arguments.timeout_s) for kind in classes}
        return measure_and_print(calls, hosts, arguments)


def fetch_call(kind: Callable[..., HTTPConnection], port: int, timeout_s: float) -> Call:
    """Return what fetches / from a host over a new connection of class `kind`, and returns the seconds it took."""
    def fetch(host: str) -> float:
        began = perf_counter()
        connection = kind(host, port, timeout=timeout_s)
        try:
            connection.request("GET", "/", headers={"Connection": "close"})
            connection.getresponse().read()
        except HTTPException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from None
        finally:
            connection.close()
        return perf_counter() - began
    return fetch


if __name__ == "__main__":
    run_main(main)
