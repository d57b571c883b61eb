#!/usr/bin/env python3
"""The smallest TCP Fast Open client: opens connections to server.py one after another and prints what TFO did.

    first connection                        second connection
    client            server                client                   server
      | SYN, "cookie?"  |                     | SYN, cookie, request   |
      |---------------->|                     |----------------------->|
      | SYN-ACK, cookie |                     | SYN-ACK, then answer   |
      |<----------------|                     |<-----------------------|
      | ACK, request    |
      |---------------->|                   one round trip to the first byte of the answer
      | answer          |
      |<----------------|                   two round trips to the first byte of the answer

Start server.py first. Needs nothing but Python and Linux, so that it can be copied to any two machines.
"""

import argparse
import errno
import socket
import struct
import sys
import time

TCPI_OPT_SYN_DATA = 32          # include/uapi/linux/tcp.h: the SYN carried data, and the other side accepted it
TCPI_OPTIONS_OFFSET = 5         # struct tcp_info begins with five one-byte fields, then tcpi_options
TIMEOUT_S = 10                  # nothing here waits longer than this
REQUEST = b"GET / HTTP/1.0\r\n\r\n"


def open_and_send(sock: socket.socket, address: tuple[str, int]) -> None:
    """Open the connection and send REQUEST, in the SYN when the kernel has a cookie of this server."""
    try:
        # Takes the place of connect() and send(). Without a cookie it asks for one, and sends after the handshake.
        sock.sendto(REQUEST, socket.MSG_FASTOPEN, address)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        # net.ipv4.tcp_fastopen does not have bit 1 (client): the usual way, one round trip before the request.
        sock.connect(address)
        sock.sendall(REQUEST)


def syn_data_accepted(sock: socket.socket) -> bool:
    """Ask the kernel whether the data in our SYN was accepted (TCP_INFO, tcp(7))."""
    tcp_info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return bool(tcp_info[TCPI_OPTIONS_OFFSET] & TCPI_OPT_SYN_DATA)


def fetch(address: tuple[str, int]) -> tuple[bool, float]:
    """Fetch once; return whether the SYN's data was accepted, and the time to the answer's first byte in ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        # Not settimeout(): it makes the socket non-blocking, and then a sendto() without a cookie sends no data at all.
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", TIMEOUT_S, 0))
        start_s = time.perf_counter()
        open_and_send(sock, address)
        first_bytes = sock.recv(65536)
        first_byte_ms = (time.perf_counter() - start_s) * 1000
        if not first_bytes:
            raise ConnectionError("the server closed the connection without an answer")
        return syn_data_accepted(sock), first_byte_ms


def main() -> int:
    """Open the connections; exit status 1 when one of them fails."""
    parser = argparse.ArgumentParser(description="The smallest TCP Fast Open client.")
    parser.add_argument("--address", default="127.0.0.1", help="IPv4 address of the server (default %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="its TCP port (default %(default)s)")
    parser.add_argument("--connections", type=int, default=2, metavar="N",
                        help="how many to open; the first gets the cookie, the next ones use it (default %(default)s)")
    arguments = parser.parse_args()
    if not (0 < arguments.port < 65536 and arguments.connections > 0):
        parser.error("--port is from 1 to 65535, --connections 1 or more")
    for number in range(1, arguments.connections + 1):
        try:
            accepted, first_byte_ms = fetch((arguments.address, arguments.port))
        except OSError as error:    # BlockingIOError: no answer in time
            print(f"{arguments.address}:{arguments.port}: {error!r}; is server.py running there?", file=sys.stderr)
            return 1
        print(f"connection {number}: SYN data accepted: {'yes' if accepted else 'no'}, "
              f"first byte after {first_byte_ms:.3f} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
