"""A connection to a replay server: what is spoken on it, and the notes in the server's log.

Answers held back as long as a network would keep them: where servers and browser share a machine's loopback.

There a connect takes no time, and neither does a packet. So the server makes both round trips: the handshake's, which
the client would have waited for before it could ask, and that of the request and its answer.

    client   connect, request                              answer
    server   |------ handshake, 1 RTT ------|--- 1 RTT ---|          no TFO: two round trips after the connect
             |--- 1 RTT ---|                                         the SYN carried the request: one

A request on a connection that stands is held for one. Over TLS the ClientHello is the first that is asked, and the
request that comes with the end of the handshake is held for one round trip more. A connection that was opened ahead of
need has its handshake behind it when it is used. Transfers are not held: no slow start, no bandwidth.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from socket import MSG_PEEK, socket
from typing import TYPE_CHECKING, Any

from harness.files.exchange import H2
from harness.files.server_log import Early, FoundAs, RequestLog, ServerRequest
from harness.replay.body import Bodies
from harness.replay.site import Site
from harness.system.options import TIMEOUT_S
from harness.system.tcp import carried_data_in_syn

if TYPE_CHECKING:
    from aioquic.quic.configuration import QuicConfiguration

    from harness.replay.early_data import EarlyContext

LARGEST_HEAD, LARGEST_UPLOAD = 128 * 1024, 16 * 1024 * 1024
"""Bytes of a request's head, and about so many of its body, that are kept: a recorded page may be hostile, and would
fill a server's memory. A longer head is no request, a longer body is like no recorded one."""
IDLE_LIMIT_S = TIMEOUT_S.high
"""A connection may be silent for as long as a page load may last (tfo.py --timeout): none of a valid load is cut."""


@dataclass(frozen=True, eq=False)
class Service:
    """What an address serves on one port: the `sites` behind it, and what is spoken there.

    `protocol` is "HTTP/1.0" (close after each answer) or "HTTP/1.1"; `tls` is None for plain http. Whether HTTP/2 is
    spoken instead is agreed on in the TLS handshake (ALPN). `quic`: HTTP/3 beside it, on the same port of UDP; None for
    none. Answers are held back for round trips of `held_rtt_s`.
    """

    sites: Sequence[Site]
    port: int
    protocol: str
    tls: ssl.SSLContext | EarlyContext | None = None
    quic: QuicConfiguration | None = None
    held_rtt_s: float = 0.0

    @cached_property
    def _by_name(self) -> dict[str, Site]:
        return {site.host.lower(): site for site in self.sites}

    def named(self, authority: str) -> Site:
        """Return the site that a request's Host header, or `:authority`, is for; the first if it names none of them."""
        return self._by_name.get(authority.partition(":")[0].lower(), self.sites[0])


@dataclass(frozen=True, eq=False)
class Endpoint:
    """Where a service is: a listening socket, and for QUIC a bound one."""

    service: Service
    listener: socket
    datagrams: socket | None = None


@dataclass(kw_only=True)
class Connection:
    """One connection, the `number`th of its server, and what the logs say of its requests."""

    service: Service
    bodies: Bodies
    logs: Mapping[str, RequestLog]
    """By host."""
    number: int
    accepted_s: float = field(default_factory=time.time)
    requests: int = 0
    protocol: str = "-"
    syn_data: bool = False
    resumed: bool = False
    """Whether it took up the TLS session of an earlier connection."""
    may_be_early: bool = True
    """Whether its own session, of QUIC, may be taken up with early data (0-RTT)."""

    def held_s(self, asked_s: float) -> float:      # noqa: ARG002 (QUIC's are not held back)
        """Return for how long the answer to what is asked at `asked_s` is held back, which is by time.monotonic()."""
        return 0.0

    def note(self, site: Site, **what: Any) -> None:
        """Write a request of `site` into its log: `what` are the fields of ServerRequest that the connection lacks."""
        self.logs[site.host].write(ServerRequest(
            site.host, connection=self.number, syn_data=self.syn_data, scheme=site.scheme, protocol=self.protocol,
            resumed=self.resumed, **what))

    def note_silent(self) -> None:
        """Write into the log of the server's first site that this connection brought no request, for whichever."""
        self.note(self.service.sites[0], time_s=self.accepted_s, request=0, method="-", path="-", status=0, bytes=0,
                  found=FoundAs.SILENT)


@dataclass(kw_only=True)
class Accepted(Connection):
    """One that a client opened over TCP."""

    socket: socket
    idle_limit_s: float
    begun_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.syn_data = carried_data_in_syn(self.socket)

    def held_s(self, asked_s: float) -> float:
        """Return for how long the answer to what is asked at `asked_s` is held back, which is by time.monotonic()."""
        rtt_s = self.service.held_rtt_s
        stands_s = self.begun_s + (0.0 if self.syn_data else rtt_s)
        return max(0.0, stands_s - asked_s) + rtt_s

    def agree(self) -> bool:
        """Shake hands if this service speaks TLS, and say whether the client wants to go on.

        The server's flight leaves as soon as the ClientHello is there: with TCP Fast Open in answer to the SYN.
        """
        self.protocol = self.service.protocol
        if self.service.tls is None:
            return True
        self.socket.settimeout(self.idle_limit_s)
        try:
            if self.service.held_rtt_s and self.socket.recv(1, MSG_PEEK):      # the ClientHello: hold its answer back
                time.sleep(self.held_s(time.monotonic()))
            secured: Any = self.service.tls.wrap_socket(self.socket, server_side=True)
        except OSError:    # ssl.SSLError is one: no ClientHello, or one that trusts another authority
            self.protocol = "-"
            self.note_silent()
            return False
        self.socket, self.resumed = secured, getattr(secured, "resumed", False)
        if secured.selected_alpn_protocol() == H2:
            self.protocol = H2
        return True

    @property
    def early(self) -> str:
        """How early a request is that was read now."""
        if not getattr(self.socket, "early", False):
            return Early.NO
        return Early.SYN if self.syn_data and getattr(self.socket, "in_first_packets", False) else Early.DATA

    def close(self) -> None:
        """Say goodbye as TLS wants it (RFC 8446, section 6.1), without waiting for the other side's, and close."""
        with suppress(OSError, ValueError):
            if say_goodbye := getattr(self.socket, "unwrap", None):
                say_goodbye()
        self.socket.close()
