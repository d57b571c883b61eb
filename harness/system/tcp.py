"""TCP: the options of a replay server's sockets, what an accepted one tells, and how an end of one is written."""

import socket
from contextlib import suppress

QUEUE = 1024
"""Connections that may wait for accept(), and TFO connections whose handshake is not complete."""
TCPI_OPTIONS_OFFSET = 5
"""Byte of tcpi_options in struct tcp_info (linux/tcp.h)."""
TCPI_OPT_SYN_DATA = 32
"""linux/tcp.h: the SYN's data was acknowledged with the SYN-ACK."""
TCP_FASTOPEN_KEY = 33
"""linux/tcp.h; Python has no name for it."""
FRAME_BYTES = 1514
"""Of a full packet on the link."""
SYN_AGAIN_MS = 1000.0
"""A SYN that was not answered for so long is sent again (RFC 6298, section 2.1), and no load with such a SYN counts."""


def listen(address: str, port: int, queue: int = QUEUE, cookie_key: bytes | None = None) -> socket.socket:
    """Return a socket that listens with TCP Fast Open allowed (the sysctl decides) and room for `queue` connections.

    Accepted sockets inherit TCP_NODELAY, and CUBIC where the kernel has it: the host's default may be another, and the
    sysctl cannot always be set in a namespace. With a `cookie_key` of its own (16 bytes) it may share its port with
    others, and the kernel gives each connection to one of them by its addresses and ports (SO_REUSEPORT, socket(7)).
    Raises OSError.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        prefer_cubic(listener)
        if cookie_key is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_KEY, cookie_key)
        listener.bind((address, port))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, queue)
        listener.listen(queue)
    except OSError:
        listener.close()
        raise
    return listener


def listen_to_datagrams(address: str, port: int) -> socket.socket:
    """Return a socket for UDP that is bound there. Raises OSError."""
    receiver = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.bind((address, port))
        receiver.setblocking(False)
    except OSError:
        receiver.close()
        raise
    return receiver


def prefer_cubic(tcp_socket: socket.socket) -> str:
    """Have a TCP socket control congestion by CUBIC if the kernel lets it; return what it uses from now on."""
    with suppress(OSError):
        tcp_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return tcp_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def carried_data_in_syn(connection: socket.socket) -> bool:
    """Say whether the accepted `connection`'s SYN carried data that was taken: TCP Fast Open worked."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCPI_OPTIONS_OFFSET + 1)
    return bool(info[TCPI_OPTIONS_OFFSET] & TCPI_OPT_SYN_DATA)


def without_port(address: str) -> str:
    """Return the IP address of ``10.0.0.2:8000`` or ``[fc00::2]:8000``."""
    return address.rpartition(":")[0].strip("[]")
