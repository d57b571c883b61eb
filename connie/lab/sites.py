#!/usr/bin/env python3
"""The star's web servers, all in one process: a listening socket belongs to the network namespace it was made in.

Argument: a JSON file of a list of {"pid", "address", "late_s"}: a process in the namespace, the address to listen on,
and how many seconds late requests to it are answered. Prints `ready` when all listen. Connections are accepted at once.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
from harness.bootstrap import use_project_python

use_project_python()

import asyncio
import json
import resource
import socket
from contextlib import suppress

from connie.bench.own_server import ANSWER
from connie.lab.scenarios import PORT
from harness.errors import run_main
from harness.system.netns import inside
from harness.system.processes import die_with_parent
from harness.system.tcp import listen

PATIENCE_S = 10.0
"""How long a client may take to send its request."""


async def serve(listeners: list[tuple[socket.socket, float]]) -> None:
    """Answer on all listeners, until told to stop."""
    servers = [await asyncio.start_server(Late(late_s).answer, sock=listener, backlog=1024)
               for listener, late_s in listeners]
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


class Late:
    """Answers any request, so many seconds late."""

    def __init__(self, late_s: float) -> None:
        self._late_s = late_s

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection. A client that closes without a request is no error."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
            await asyncio.sleep(self._late_s)
            writer.write(ANSWER)
            await writer.drain()
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()


def main() -> int:
    """Listen everywhere, then serve."""
    die_with_parent()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listeners = []
    for site in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        with inside(site["pid"]):
            listeners.append((listen(site["address"], PORT), float(site["late_s"])))
    asyncio.run(serve(listeners))
    return 0


if __name__ == "__main__":
    run_main(main)
