"""Transports for httpx, racing. Needs httpx 0.28 with httpcore 1.

    with httpx.Client(transport=ConnieTransport()) as client:
        client.get("https://www.example.org/")

    async with httpx.AsyncClient(transport=AsyncConnieTransport()) as client:       # asyncio only, not trio
        await client.get("https://www.example.org/")

httpx has no option for how connections are made. httpcore, below it, has one (`network_backend`), which these set in
the pool that httpx made. Redirects, HTTP/2, TLS and the checking of host names are httpx's own.
"""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx
from anyio.abc import SocketStream
from httpcore._backends.anyio import AnyIOStream
from httpcore._backends.sync import SyncStream

from connie import aio
from connie.attempt import Setup
from connie.connect import connect_as
from connie.race import Racing


class ConnieTransport(Racing, httpx.HTTPTransport):
    """httpx's HTTPTransport, whose connections, to servers and to proxies, are raced for. Its arguments, and `race`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._pool._network_backend = _Backend(race=self._race)


class AsyncConnieTransport(Racing, httpx.AsyncHTTPTransport):
    """The same for httpx.AsyncClient under asyncio."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._pool._network_backend = _AsyncBackend(race=self._race)


class _Backend(Racing, httpcore.SyncBackend):
    """httpcore's way of making connections, but for TCP."""

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
                    socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None) -> httpcore.NetworkStream:
        with _httpcore_errors():
            return SyncStream(connect_as(host, port, timeout, _setup(local_address, socket_options), self._race))


class _AsyncBackend(Racing, httpcore.AnyIOBackend):
    """httpcore's way of making connections in event loops, but for TCP."""

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
                          socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
                          ) -> httpcore.AsyncNetworkStream:
        with _httpcore_errors():
            sock = await aio.connect_as(host, port, timeout, _setup(local_address, socket_options), self._race)
            try:
                return AnyIOStream(await SocketStream.from_socket(sock))
            except BaseException:
                sock.close()
                raise


def _setup(local_address: str | None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None) -> Setup:
    """Return what httpcore asks of a socket; TCP_NODELAY comes first, as in httpcore, so that an option can undo it."""
    nodelay = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    source_addr = None if local_address is None else (local_address, 0)
    return Setup(source_addr, socket_options=(nodelay, *(socket_options or ())))


@contextmanager
def _httpcore_errors() -> Iterator[None]:
    """Raise httpcore's errors instead of Python's; httpx turns them into its own."""
    try:
        yield
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(str(error)) from error
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
