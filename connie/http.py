"""http.client's connections, with a race or cached names instead of `socket.create_connection`.

    connection = ConnieHTTPSConnection("www.example.org", timeout=5)
    connection.request("GET", "/")

Everything else is http.client's: proxies by set_tunnel (then it is the proxy that is raced to); TLS once, after the
race, with the server's certificate checked against the name asked for, whichever address won.
"""

import http.client
import socket
from collections.abc import Callable
from typing import Any

from connie.addresses import SourceAddress
from connie.attempt import Setup
from connie.cache import CACHE, DnsCache
from connie.connect import connect_as
from connie.race import RaceOptions, Racing

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that ask for no change (RFC 9110, section 9.2.1), so that several servers may get one. Not PUT and DELETE: a
server may get those twice, but servers that were never meant to act should not."""

Connect = Callable[[tuple[str, int], Any, SourceAddress | None], socket.socket]


class _Racing(Racing):
    """Replaces the function by which an http.client connection connects."""

    _early = b""
    _only_one = False

    def _open(self, address: tuple[str, int], timeout: Any, source_address: SourceAddress | None) -> socket.socket:
        return connect_as(*address, timeout_s(timeout), Setup(source_address, self._early), self._race,
                          only_one=self._only_one)

    # http.client keeps socket.create_connection in this attribute, for tests to replace. A property, because a bound
    # method in an attribute would be a cycle, and the sockets of forgotten connections would stay open for a while.
    @property
    def _create_connection(self) -> Connect:
        return self._open

    @_create_connection.setter
    def _create_connection(self, original: Any) -> None:
        pass


class _Cached(_Racing):
    """The same to one address at random, as cached_dns_connect."""

    _only_one = True

    def __init__(self, *arguments: Any, cache: DnsCache | None = CACHE, **keywords: Any) -> None:
        super().__init__(*arguments, race=RaceOptions(cache=cache), **keywords)


class ConnieHTTPConnection(_Racing, http.client.HTTPConnection):
    """An HTTPConnection that races to all addresses of its host. Arguments: HTTPConnection's, and

    race: see RaceOptions.
    tfo: send the head of the first request in the SYN (connie_connect's `tfo`), so that the answer comes one RTT
        sooner. It may then reach EVERY address of the host. So only a GET, HEAD or OPTIONS goes like that, and none
        through a tunnel; before any other request the connection is made first, and only the winner sees it.
    """

    def __init__(self, *arguments: Any, race: RaceOptions | None = None, tfo: bool = False, **keywords: Any) -> None:
        super().__init__(*arguments, race=race, **keywords)
        self._fast_open = tfo
        self._asking = ""

    def putrequest(self, method: str, url: str, skip_host: bool = False, skip_accept_encoding: bool = False) -> None:
        """Begin a request, as http.client does."""
        self._asking = method
        super().putrequest(method, url, skip_host, skip_accept_encoding)

    def send(self, data: Any) -> None:
        """Send data; when it is the head of a request that may go in the SYN, connect with it."""
        if not self._may_go_early(data):
            super().send(data)
            return
        self._early = bytes(data)
        try:
            self.connect()
        finally:
            self._early = b""

    def _may_go_early(self, data: Any) -> bool:
        return (self._fast_open and self.sock is None and bool(self.auto_open) and self._asking in SAFE_METHODS
                and not getattr(self, "_tunnel_host", None) and isinstance(data, bytes))


class ConnieHTTPSConnection(_Racing, http.client.HTTPSConnection):
    """An HTTPSConnection that races to all addresses of its host. Arguments: HTTPSConnection's, and `race`.

    Without a `context` of the caller's, certificates and their host names are checked. There is no `tfo`: Python's ssl
    begins its handshake on a socket that is connected already.
    """


class CachedDNSHTTPConnection(_Cached, http.client.HTTPConnection):
    """An HTTPConnection to one address at random of its host's cached ones. HTTPConnection's arguments, `cache`."""


class CachedDNSHTTPSConnection(_Cached, http.client.HTTPSConnection):
    """An HTTPSConnection to one address at random of its host's cached ones. HTTPSConnection's arguments, `cache`.

    Without a `context` of the caller's, certificates and their host names are checked.
    """


def timeout_s(timeout: Any) -> float | None:
    """Return a timeout as http.client and urllib3 pass it on, where an object of theirs stands for the default."""
    return timeout if timeout is None or isinstance(timeout, int | float) else socket.getdefaulttimeout()
