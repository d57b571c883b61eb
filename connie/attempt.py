"""One socket that is connecting: everything about a handshake but waiting for it."""

import errno
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from connie.addresses import Address, SourceAddress

MSG_FASTOPEN: int | None = getattr(socket, "MSG_FASTOPEN", None)
"""The flag of sendto() that puts data into the SYN (tcp(7)); Linux has it."""

SocketOption = tuple[Any, ...]

_WOULD_BLOCK = {errno.EINPROGRESS, errno.EWOULDBLOCK}
_NO_FAST_OPEN = {errno.EOPNOTSUPP, errno.EINVAL, errno.EPROTONOSUPPORT, errno.ENOPROTOOPT}


@dataclass(frozen=True)
class Setup:
    """What every socket of a race has in common.

    source_addr: what to bind to. When it names a port, the sockets have to share it.
    data: what to send first, in the SYN where the kernel can.
    socket_options: arguments of setsockopt.
    """

    source_addr: SourceAddress | None = None
    data: bytes = b""
    socket_options: tuple[SocketOption, ...] = ()

    @property
    def fixed_port(self) -> bool:
        """Whether every socket is to have the same local port."""
        return self.source_addr is not None and len(self.source_addr) > 1 and self.source_addr[1] != 0


@dataclass(frozen=True)
class Attempt:
    """A non-blocking socket whose handshake is under way, and how many bytes of the data its SYN took."""

    address: Address
    sock: socket.socket
    sent: int

    def outcome(self) -> int:
        """Return, once the socket is writable, 0 for a completed handshake and else its errno (connect(2))."""
        return self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def begin(address: Address, setup: Setup) -> Attempt:
    """Send the SYN. Raises OSError when that fails; what else bind() raises is the caller's.

    After an error no socket is left.
    """
    sock = socket.socket(address.family, address.kind, address.proto)
    try:
        sock.setblocking(False)
        for option in setup.socket_options:
            sock.setsockopt(*option)
        if setup.source_addr:
            if setup.fixed_port:       # Linux lets connecting sockets share a port when all ask for it
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(setup.source_addr)
        return Attempt(address, sock, _send_syn(sock, address, setup.data))
    except BaseException:
        sock.close()
        raise


def _send_syn(sock: socket.socket, address: Address, data: bytes) -> int:
    """Begin the handshake; return how many bytes of the data the SYN took."""
    sent = _send_fast_open(sock, address.sockaddr, data)
    if sent is None:
        code = sock.connect_ex(address.sockaddr)
        if code and code not in _WOULD_BLOCK:
            raise OSError(code, os.strerror(code))
    return sent or 0


def _send_fast_open(sock: socket.socket, sockaddr: tuple[Any, ...], data: bytes) -> int | None:
    """Begin the handshake with data in the SYN, and return how many bytes it took; None: begin it by connect().

    0 when the kernel has no cookie of this server yet: the SYN asks for one, and is empty. None when there is no data,
    or TFO is switched off (net.ipv4.tcp_fastopen) or not in this kernel.

    MSG_FASTOPEN and not TCP_FASTOPEN_CONNECT: with the latter connect() returns at once and sends nothing, so that
    there would be no handshake to race.
    """
    if not data or MSG_FASTOPEN is None:
        return None
    try:
        return sock.sendto(data, MSG_FASTOPEN, sockaddr)
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno in _NO_FAST_OPEN:
            return None
        raise


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Close sockets; a handshake under way ends without a packet, a completed one with a FIN."""
    for sock in sockets:
        with suppress(OSError):                     # close() may tell what went wrong before
            sock.close()
