"""The star's web servers and its name server, in one process: a socket belongs to the namespace it was made in.

Argument: JSON of a Task. It is started in the name server's namespace. Prints `ready` when all listen.
"""

import asyncio
import random
import sys
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
from dnslib import AAAA, QTYPE, RCODE, RR, A, DNSRecord

from connie.bench.own_server import ANSWER
from connie.lab.task import DNS_ADDRESS, PORT, Task
from harness.errors import run_main
from harness.system.namespaces import inside
from harness.system.tcp import listen

DNS_PORT = 53
PATIENCE_S = 10.0
"""How long a client may take to send its request."""


class Names(asyncio.DatagramProtocol):
    """Answers A and AAAA questions, in an order drawn anew for each answer, as round-robin DNS does."""

    def __init__(self, names: dict[str, list[str]], seed: int) -> None:
        self._names = names
        self._draw = random.Random(seed)

    def connection_made(self, transport: Any) -> None:
        """Keep what answers are sent by."""
        self._transport = transport

    def datagram_received(self, data: bytes, client: Any) -> None:
        """Answer one question. A time to live of 0: nobody between here and getaddrinfo keeps it."""
        request = DNSRecord.parse(data)
        reply, known = request.reply(), self._names.get(str(request.q.qname).rstrip(".").lower())
        if known is None:
            reply.header.rcode = RCODE.NXDOMAIN
        for address in self._draw.sample(known or [], len(known or [])):
            kind, data_of = ("AAAA", AAAA) if ":" in address else ("A", A)
            if QTYPE[request.q.qtype] == kind:
                reply.add_answer(RR(request.q.qname, request.q.qtype, rdata=data_of(address), ttl=0))
        self._transport.sendto(reply.pack(), client)


async def answer(late_s: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection. A client that closes without a request is no error."""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, asyncio.LimitOverrunError):
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        await asyncio.sleep(late_s)
        writer.write(ANSWER)
        await writer.drain()
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def serve(task: Task) -> None:
    """Listen everywhere, then answer until told to stop."""
    for point in filter(attrgetter("is_alive"), task.endpoints):
        with inside(task.site_pids[point.site]):
            listener = listen(point.address, PORT)
        await asyncio.start_server(partial(answer, point.late_s), sock=listener, backlog=1024)
    names = {scenario.name: [point.address for point in scenario.endpoints] for scenario in task.scenarios}
    await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Names(names, task.seed), (DNS_ADDRESS, DNS_PORT))
    print("ready", flush=True)
    await asyncio.Event().wait()


def main() -> int:
    """Serve what the argument says."""
    asyncio.run(serve(msgspec.json.decode(sys.argv[1], type=Task)))
    return 0


if __name__ == "__main__":
    run_main(main)
