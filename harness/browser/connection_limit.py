"""How many connections Chrome opens to one host at a time, and how an experiment has it open more or fewer.

Over HTTP/1 Chrome opens six (RFC 9112, section 9.4, leaves the number to the client), and has neither a switch nor a
policy for it. So the shim changes the number in Chrome's memory, where it is found in Chrome's file.
"""

import struct
from dataclasses import dataclass

from harness.system.options import Whole

CHROMES_OWN = 6
PER_HOST = Whole(1, 255)
"""What may be asked for: Chrome opens 256 connections at most to all hosts together."""
SOCKET_LIMITS = struct.pack("<4q", 256, 256, CHROMES_OWN, 255)
"""As they lie in the file of Chromium 156 (net/socket/client_socket_pool_manager.cc): sockets for all hosts together,
of pages and of WebSockets, then for one host, of pages and of WebSockets."""


@dataclass(frozen=True)
class ConnectionLimit:
    """So many connections `per_host`; `place` is where Chrome's own limits stand (harness.browser.binary)."""

    per_host: int
    place: int
