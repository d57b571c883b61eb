"""Race TCP connections to all addresses of a host, and take the first that completes its handshake.

    from connie import connie_connect
    sock = connie_connect("www.example.org", 80, timeout=5)

A name often has several addresses. `socket.create_connection` tries them one after the other, and one that is dead
costs the whole timeout; racing them costs the round trip of the fastest one alive. Needs Python 3.10 and its standard
library only. The modules:

    connie          connie_connect, cached_dns_connect, ConnectError, DnsCache, RaceOptions
    connie.aio      connect and open_connection for asyncio
    connie.http     ConnieHTTPConnection, CachedDNSHTTPConnection and their HTTPS twins
    connie.for_requests, connie.for_urllib3, connie.for_httpx      adapters; each needs the library it is named after
"""

from connie.addresses import Address
from connie.cache import CACHE, DnsCache
from connie.connect import cached_dns_connect, connie_connect
from connie.errors import ConnectError, FailedAttempt
from connie.race import RaceOptions

__all__ = ["CACHE", "Address", "ConnectError", "DnsCache", "FailedAttempt", "RaceOptions", "cached_dns_connect",
           "connie_connect"]
