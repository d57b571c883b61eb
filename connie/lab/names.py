#!/usr/bin/env python3
"""The star's name server: the addresses of a name in an order drawn anew for each answer, as round-robin DNS does.

Arguments: a JSON file of {"seed", "address", "names": {name: {"now": [...], "later": [...]}}}, and a path: as long as
nothing lies there a name has its addresses of now, afterwards those of later where it has any. Prints `ready`.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
from harness.bootstrap import use_project_python

use_project_python()

import json
import random
import threading

from dnslib import AAAA, QTYPE, RCODE, RR, A, DNSRecord
from dnslib.server import BaseResolver, DNSHandler, DNSServer

from harness.errors import run_main
from harness.system.processes import die_with_parent

Names = dict[str, dict[str, list[str]]]
DNS_PORT = 53


class RoundRobin(BaseResolver):
    """Answers A and AAAA questions from a list of names, and "no such name" for all others."""

    def __init__(self, names: Names, changed: Path, seed: int) -> None:
        self._names = names
        self._changed = changed
        self._draw = random.Random(seed)

    def resolve(self, request: DNSRecord, handler: DNSHandler) -> DNSRecord:  # noqa: ARG002 - dnslib's signature
        """Return the reply to one question. A time to live of 0: nobody between here and getaddrinfo keeps it."""
        reply = request.reply()
        name = str(request.q.qname).rstrip(".").lower()
        if name not in self._names:
            reply.header.rcode = RCODE.NXDOMAIN
            return reply
        known = self._names[name]
        addresses = list(known["later"] if known["later"] and self._changed.exists() else known["now"])
        self._draw.shuffle(addresses)
        for address in addresses:
            kind, data = ("AAAA", AAAA) if ":" in address else ("A", A)
            if QTYPE[request.q.qtype] == kind:
                reply.add_answer(RR(request.q.qname, request.q.qtype, rdata=data(address), ttl=0))
        return reply


def main() -> int:
    """Answer until told to stop."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    die_with_parent()
    resolver = RoundRobin(settings["names"], Path(sys.argv[2]), settings["seed"])
    server = DNSServer(resolver, address=settings["address"], port=DNS_PORT, logger=Silent())
    server.start_thread()
    print("ready", flush=True)
    threading.Event().wait()
    return 0


class Silent:
    """A logger for dnslib that says nothing: standard output is for `ready`."""

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


if __name__ == "__main__":
    run_main(main)
