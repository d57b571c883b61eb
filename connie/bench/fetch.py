"""Fetch / from a host by each class of connection. Redirects are not followed, and any status counts."""

import http.client
import ssl
from functools import partial
from time import perf_counter
from typing import Any

import connie.http
from connie import RaceOptions
from connie.bench.rounds import Call
from connie.bench.strategies import ONE_ADDRESS_CACHE, RACE_CACHE


def fetches(port: int, timeout_s: float, secure: bool) -> dict[str, Call]:
    """Return what fetches / by each class of connection, by the names of these. secure: over TLS."""
    common: dict[str, Any] = {"port": port, "timeout": timeout_s}
    ending = "HTTPSConnection" if secure else "HTTPConnection"
    if secure:
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
