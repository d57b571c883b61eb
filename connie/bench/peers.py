"""Other people's ways to connect, as their users get them; those that are installed."""

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from connie.bench.strategies import Measure, Sample, exchanged

DELAY_S = 0.25
"""RFC 8305's Connection Attempt Delay: asyncio's documentation recommends it; the default of anyio and trio."""

CURL_FIELDS = "%{time_connect} %{time_starttransfer} %{remote_ip}"
"""curl(1): seconds from the start until the connection stood, and until the first byte came; the peer's address."""

DIALER = Path(__file__).with_name("dial.go")
Open = Callable[[str, int], AbstractAsyncContextManager[Any]]
Run = Callable[[Callable[[], Awaitable[Sample]], float], Sample]


@asynccontextmanager
async def _asyncio(host: str, port: int) -> AsyncIterator[Any]:
    _, writer = await asyncio.open_connection(host, port, happy_eyeballs_delay=DELAY_S)
    try:
        yield writer.get_extra_info("socket")
    finally:
        writer.close()


@asynccontextmanager
async def _anyio(host: str, port: int) -> AsyncIterator[Any]:
    import anyio.abc

    async with await anyio.connect_tcp(host, port) as stream:
        yield stream.extra(anyio.abc.SocketAttribute.raw_socket)


@asynccontextmanager
async def _trio(host: str, port: int) -> AsyncIterator[Any]:
    import trio

    async with await trio.open_tcp_stream(host, port) as stream:
        yield stream.socket


def _run_asyncio(measure: Callable[[], Awaitable[Sample]], timeout_s: float) -> Sample:
    try:
        return asyncio.run(asyncio.wait_for(measure(), timeout_s))
    except asyncio.TimeoutError:                    # not TimeoutError before Python 3.11
        raise TimeoutError("timed out") from None


def _run_trio(measure: Callable[[], Awaitable[Sample]], timeout_s: float) -> Sample:
    import trio

    async def limited() -> Sample:
        with trio.fail_after(timeout_s):
            return await measure()

    try:
        return trio.run(limited)
    except trio.TooSlowError:
        raise TimeoutError("timed out") from None
    except BaseException as error:                  # Ctrl-C comes in an exception group
        if isinstance(getattr(error, "exceptions", [None])[0], KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


IN_LOOPS: dict[str, tuple[Open, Run]] = {"asyncio": (_asyncio, _run_asyncio),
                                         "anyio": (_anyio, _run_asyncio), "trio": (_trio, _run_trio)}
"""By the name of their module: what opens a connection and gives its socket, and what runs that."""


def in_loop(opened: Open, run: Run) -> Measure:
    """Return what measures a coroutine; starting and ending the event loop is no part of a time."""
    def measure(host: str, port: int, timeout_s: float, request: bytes = b"") -> Sample:
        async def connect() -> Sample:
            began = perf_counter()
            async with opened(host, port) as raw:
                connect_s = perf_counter() - began
                # The request goes by the same calls for all peers: it is connecting that they differ in.
                with socket.socket(fileno=os.dup(raw.fileno())) as sock:
                    sock.settimeout(timeout_s)
                    return exchanged(sock, connect_s, request)
        return run(connect, timeout_s)
    return measure


def program(name: str, command: Callable[[str, int, float], Sequence[str]]) -> Measure:
    """Return what measures a program, one process a connection, timed by the program: its start does not count.

    It prints CURL_FIELDS. It sends a GET in any case; without `request` what becomes of that is no matter: a server of
    TLS, say, has no answer to it.
    """
    def measure(host: str, port: int, timeout_s: float, request: bytes = b"") -> Sample:
        done = subprocess.run(command(host, port, timeout_s), capture_output=True, text=True, check=False)
        connect_s, first_byte_s, address = (*done.stdout.split(), "0", "0", "")[:3]
        if float(connect_s) <= 0 or (request and done.returncode != 0):
            raise OSError(f"{name}: {done.stderr.strip()}")
        return Sample(float(connect_s), float(first_byte_s) if request else None, address)
    return measure


def curl_command(host: str, port: int, timeout_s: float) -> list[str]:
    """Return the command of one connect by curl."""
    at = f"[{host}]" if ":" in host else host
    return ["curl", "--disable", "--silent", "--show-error", "--noproxy", "*", "--max-time", f"{timeout_s:g}",
            "--output", os.devnull, "--write-out", CURL_FIELDS, f"http://{at}:{port}/"]


def _build_go_dialer(folder: str) -> dict[str, Measure]:
    """Build Go's dialer in `folder`; return nothing when that fails: then the compiler has said why.

    That takes 20 s, unless the environment names a GOCACHE that has been used before. Under sudo that one is left
    alone: it is that of who called.
    """
    built = f"{folder}/dial"
    told = {"GOPATH": f"{folder}/path", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    if "GOCACHE" not in os.environ or "SUDO_UID" in os.environ:
        told["GOCACHE"] = f"{folder}/cache"
    done = subprocess.run(["go", "build", "-p", "1", "-o", built, str(DIALER)], env=os.environ | told, check=False)
    dial = program("go", lambda host, port, timeout_s: [built, host, str(port), f"{timeout_s:g}"])
    return {} if done.returncode else {"go": dial}


@contextmanager
def open_peers(only: Sequence[str] = ()) -> Iterator[dict[str, Measure]]:
    """Give other people's ways to connect, those of them that are installed and in `only` (nothing: all)."""
    with ExitStack() as stack:
        found = {name: in_loop(*how) for name, how in IN_LOOPS.items() if importlib.util.find_spec(name)}
        if shutil.which("curl"):
            found["curl"] = program("curl", curl_command)
        if shutil.which("go") and (not only or "go" in only):
            found |= _build_go_dialer(stack.enter_context(tempfile.TemporaryDirectory(prefix="connie-dial-")))
        yield {name: measure for name, measure in found.items() if not only or name in only}
