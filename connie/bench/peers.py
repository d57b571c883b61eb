"""Other people's ways to connect, as their users get them."""

import asyncio
import importlib.util
import shutil
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter

from connie.bench.sample import Sample, Strategy

DELAY_S = 0.25
"""RFC 8305's Connection Attempt Delay, which asyncio's documentation recommends and aiohttp uses by default."""

MAX_CURL_S = 3600.0

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Open = Callable[[str, int], Awaitable[Opened]]

CURL_FIELDS = "%{time_connect} %{time_starttransfer} %{remote_ip}"
"""curl(1): seconds from the start until the connection stood, and until the first byte came; the peer's address."""


@dataclass(frozen=True)
class Asynchronous:
    """A coroutine that opens a pair of asyncio streams. Its event loop is made once: that is no part of a connect."""

    name: str
    open: Open
    loop: asyncio.AbstractEventLoop

    def measure(self, host: str, port: int, timeout_s: float | None, request: bytes = b"") -> Sample:
        """See Strategy."""
        try:
            return self.loop.run_until_complete(asyncio.wait_for(self._measure(host, port, request), timeout_s))
        except asyncio.TimeoutError:                # not TimeoutError before Python 3.11
            raise TimeoutError("timed out") from None

    async def _measure(self, host: str, port: int, request: bytes) -> Sample:
        """Measure a connect, and the first byte of an answer if there is a request."""
        began = perf_counter()
        reader, writer = await self.open(host, port)
        connect_s, first_byte_s = perf_counter() - began, None
        try:
            address = writer.get_extra_info("peername")[0]
            if request:
                writer.write(request)
                if not await reader.read(1):
                    raise ConnectionError("the server closed the connection without an answer")
                first_byte_s = perf_counter() - began
        finally:
            writer.close()
        return Sample(connect_s, first_byte_s, address)


@contextmanager
def open_asyncio() -> Iterator[Asynchronous]:
    """Give asyncio's own Happy Eyeballs (loop.create_connection, happy_eyeballs_delay=0.25)."""
    with _loop() as loop:
        yield Asynchronous("asyncio", _open_asyncio, loop)


async def _open_asyncio(host: str, port: int) -> Opened:
    return await asyncio.open_connection(host, port, happy_eyeballs_delay=DELAY_S)


def has_aiohappyeyeballs() -> bool:
    """Tell whether it is installed."""
    return importlib.util.find_spec("aiohappyeyeballs") is not None


@contextmanager
def open_aiohappyeyeballs() -> Iterator[Asynchronous]:
    """Give aiohappyeyeballs as aiohttp calls it: a delay of 0.25 s, families in turn (its own default is no delay)."""
    with _loop() as loop:
        yield Asynchronous("aiohappyeyeballs", _open_aiohappyeyeballs, loop)


async def _open_aiohappyeyeballs(host: str, port: int) -> Opened:
    import aiohappyeyeballs

    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    sock = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=DELAY_S, interleave=1)
    return await asyncio.open_connection(sock=sock)


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        # Ctrl-C leaves tasks behind; of those in a closed loop Python's end complains with a traceback.
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@dataclass(frozen=True)
class Curl:
    """The curl program at `path`, one process a connection, timed by curl itself: its start does not count."""

    path: str
    name: str = "curl"

    def measure(self, host: str, port: int, timeout_s: float | None, request: bytes = b"") -> Sample:
        """See Strategy. curl sends a GET in any case; without `request` only its connect time is told.

        Then what becomes of the GET is no matter: a server of TLS, say, has no answer to it.
        """
        limit_s = MAX_CURL_S if timeout_s is None else timeout_s
        at = f"[{host}]" if ":" in host else host
        done = subprocess.run([self.path, "--disable", "--silent", "--show-error", "--noproxy", "*", "--max-time",
                               f"{limit_s:g}", "--output", "/dev/null", "--write-out", CURL_FIELDS,
                               f"http://{at}:{port}/"], capture_output=True, text=True, check=False)
        told = done.stdout.split(" ")
        connect_s, first_byte_s, address = told if len(told) == len(CURL_FIELDS.split(" ")) else ("0", "0", "")
        has_connected = bool(address) and float(connect_s) > 0
        if done.returncode != 0 and (request or not has_connected):
            raise OSError(f"curl: {done.stderr.strip()}")
        return Sample(float(connect_s), float(first_byte_s) if request else None, address)


@contextmanager
def open_peers() -> Iterator[Sequence[Strategy]]:
    """Give other people's ways to connect, those of them that are installed."""
    with ExitStack() as stack:
        found: list[Strategy] = [stack.enter_context(open_asyncio())]
        if has_aiohappyeyeballs():
            found.append(stack.enter_context(open_aiohappyeyeballs()))
        if curl := shutil.which("curl"):
            found.append(Curl(curl))
        yield found
