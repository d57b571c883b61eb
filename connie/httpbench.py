#!/usr/bin/env python3
"""Fetch / from hosts over connections made by racing and otherwise, and print how long that took.

    ./connie/httpbench.py google.com apple.com
    ./connie/httpbench.py --https --file hosts.txt

Each call is one GET over one new connection: name, connect, (with --https: TLS handshake), request, whole answer.
The certificate authorities that --https trusts are read once, before the first call.
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

import ssl
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from time import perf_counter
from typing import Any

from connie import RaceOptions
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
from connie.bench.strategies import ONE_ADDRESS_CACHE, RACE_CACHE
from connie.http import CachedDNSHTTPConnection, CachedDNSHTTPSConnection, ConnieHTTPConnection, ConnieHTTPSConnection

RACING: dict[str, Any] = {"race": RaceOptions(cache=RACE_CACHE)}
CACHED: dict[str, Any] = {"cache": ONE_ADDRESS_CACHE}
CONNECTIONS: dict[type[HTTPConnection], dict[str, Any]] = {
    ConnieHTTPConnection: RACING, CachedDNSHTTPConnection: CACHED, HTTPConnection: {}}
SECURE: dict[type[HTTPConnection], dict[str, Any]] = {
    ConnieHTTPSConnection: RACING, CachedDNSHTTPSConnection: CACHED, HTTPSConnection: {}}


def main() -> int:
    """Measure and print; return the exit status."""
    parser = make_parser(__doc__)
    parser.add_argument("--https", action="store_true", help=f"over TLS, on port {HTTPS_PORT} unless --port says else")
    arguments = parser.parse_args()
    hosts = all_hosts(arguments)
    default = HTTPS_PORT if arguments.https else HTTP_PORT
    with port_to_use(arguments, hosts, default) as port:
        return measure_and_print(fetch_calls(arguments.https, port, arguments.timeout_s), hosts, arguments)


def fetch_calls(https: bool, port: int, timeout_s: float) -> dict[str, Call]:
    """Return what fetches / by each class of connection, by the names of these."""
    common: dict[str, Any] = {}
    if https:
        # Without a context each connection reads the machine's certificate authorities anew: some 20 ms, in every time.
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])    # as http.client's own context
        common["context"] = context
    return {kind.__name__: fetch_call(partial(kind, **common, **options), port, timeout_s)
            for kind, options in (SECURE if https else CONNECTIONS).items()}


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
