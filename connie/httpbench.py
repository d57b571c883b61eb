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

import argparse
import http.client
import ssl
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any

import connie.http
from connie import RaceOptions
from connie.bench.command_line import HTTP_PORT, HTTPS_PORT, Call, run_benchmark
from connie.bench.strategies import ONE_ADDRESS_CACHE, RACE_CACHE


def calls(arguments: argparse.Namespace, port: int, _stack: ExitStack) -> dict[str, Call]:
    """Return what fetches / by each class of connection, by the names of these."""
    common: dict[str, Any] = {"port": port, "timeout": arguments.timeout_s}
    ending = "HTTPSConnection" if arguments.https else "HTTPConnection"
    if arguments.https:
        # Without a context each connection reads the machine's certificate authorities anew: some 20 ms, in every time.
        common["context"] = ssl.create_default_context()
        common["context"].set_alpn_protocols(["http/1.1"])      # as http.client's own context
    kinds: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (connie.http, "Connie", {"race": RaceOptions(cache=RACE_CACHE)}),
        (connie.http, "CachedDNS", {"cache": ONE_ADDRESS_CACHE}), (http.client, "", {}))
    return {f"{beginning}{ending}": partial(fetch_s, partial(getattr(module, beginning + ending), **common, **options))
            for module, beginning, options in kinds}


def fetch_s(connection_to: "partial[http.client.HTTPConnection]", host: str) -> float:
    """Fetch / from a host over a new connection; return the seconds it took."""
    began = perf_counter()
    connection = connection_to(host)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        connection.getresponse().read()
    except http.client.HTTPException as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from None
    finally:
        connection.close()
    return perf_counter() - began


if __name__ == "__main__":
    run_benchmark(__doc__, ("--https", f"over TLS, on port {HTTPS_PORT} unless --port says else"), calls,
                  lambda arguments: HTTPS_PORT if arguments.https else HTTP_PORT)
