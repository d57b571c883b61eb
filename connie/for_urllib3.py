"""urllib3's pools, racing. Needs urllib3 2.

    pools = ConniePoolManager(race=RaceOptions(stagger=0.25))
    pools.request("GET", "https://www.example.org/")

A race is run for every new connection of a pool, also for those to a proxy; everything after it, TLS and the checking
of certificates and host names included, is urllib3's own.
"""

import socket
from functools import partial
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, LocationParseError, NameResolutionError, NewConnectionError

from connie.attempt import Setup
from connie.connect import connect_as
from connie.errors import ConnectError
from connie.http import timeout_s
from connie.race import RaceOptions, Racing


class _Racing(Racing, HTTPConnection):
    """What both connections share."""

    def _new_conn(self) -> socket.socket:
        """Return a connected socket. Raises urllib3's errors, with connie's as the cause."""
        setup = Setup(self.source_address, socket_options=tuple(self.socket_options or ()))
        try:
            # _dns_host has the dot at a name's end, which `host` lacks because certificates do.
            return connect_as(self._dns_host, self.port, timeout_s(self.timeout), setup, self._race)
        except UnicodeError:                        # a name that cannot be one; the words are urllib3's
            raise LocationParseError(f"'{self.host}', label empty or too long") from None
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"no connection within {self.timeout} s: {error}") from error
        except OSError as error:
            if isinstance(error, socket.gaierror) and not isinstance(error, ConnectError):
                raise NameResolutionError(self.host, self, error) from error
            raise NewConnectionError(self, str(error)) from error


class ConnieHTTPConnection(_Racing):
    """urllib3's HTTPConnection, racing. Its arguments, and `race`."""


class ConnieHTTPSConnection(_Racing, HTTPSConnection):
    """urllib3's HTTPSConnection, racing. Its arguments, and `race`."""


class ConnieHTTPConnectionPool(urllib3.HTTPConnectionPool):
    """urllib3's pool of connections to one host, racing for each. Its arguments, and `race`."""

    ConnectionCls = ConnieHTTPConnection


class ConnieHTTPSConnectionPool(urllib3.HTTPSConnectionPool):
    """urllib3's pool of TLS connections to one host, racing for each. Its arguments, and `race`."""

    ConnectionCls = ConnieHTTPSConnection


class ConniePoolManager(Racing, urllib3.PoolManager):
    """urllib3's PoolManager with racing pools. Its arguments, and `race`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        race_in(self, self._race)


def race_in(manager: urllib3.PoolManager, race: RaceOptions | None = None) -> None:
    """Make the pools that `manager`, a PoolManager or ProxyManager, opens from now on race."""
    # Bound to `race` here, because a PoolManager refuses keywords that it does not know.
    pools: Any = {"http": partial(ConnieHTTPConnectionPool, race=race),
                  "https": partial(ConnieHTTPSConnectionPool, race=race)}
    manager.pool_classes_by_scheme = pools
