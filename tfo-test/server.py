#!/usr/bin/env python3
"""The smallest TCP Fast Open server: answers one connection after another and prints what TFO did. See client.py.

A server has to do one thing for TFO: set TCP_FASTOPEN on its listening socket. The kernel then makes the cookies,
checks them, and hands over a connection whose SYN carried a request before the handshake is finished.
"""

import argparse
import socket
import sys
import time

TCPI_OPT_SYN_DATA = 32          # include/uapi/linux/tcp.h: the SYN carried data, and we accepted it
TCPI_OPTIONS_OFFSET = 5         # struct tcp_info begins with five one-byte fields, then tcpi_options
FASTOPEN_QUEUE = 16             # how many connections may wait with their handshake unfinished; more get no TFO
TIMEOUT_S = 10                  # how long a client may keep silent
ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


def listen(address: tuple[str, int]) -> socket.socket:
    """Return a listening socket that accepts data in SYNs, if net.ipv4.tcp_fastopen has bit 2 (server)."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, FASTOPEN_QUEUE)
    listener.listen()
    return listener


def syn_data_accepted(sock: socket.socket) -> bool:
    """Ask the kernel whether this connection's SYN carried data that was accepted (TCP_INFO, tcp(7))."""
    tcp_info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return bool(tcp_info[TCPI_OPTIONS_OFFSET] & TCPI_OPT_SYN_DATA)


def answer(sock: socket.socket) -> tuple[bool, float]:
    """Answer one request; return whether it came in the SYN, and how long its first byte took after accept() in ms."""
    accepted_s = time.perf_counter()
    sock.settimeout(TIMEOUT_S)
    if not sock.recv(65536):
        raise ConnectionError("the client closed the connection without a request")
    first_byte_ms = (time.perf_counter() - accepted_s) * 1000
    sock.sendall(ANSWER)
    return syn_data_accepted(sock), first_byte_ms


def serve(listener: socket.socket, connections: int) -> None:
    """Answer so many connections; 0 means for ever."""
    number = 0
    while connections == 0 or number < connections:
        sock, (client, port) = listener.accept()
        number += 1
        with sock:
            try:
                accepted, first_byte_ms = answer(sock)
            except OSError as error:
                print(f"connection {number} from {client}:{port}: {error}", flush=True)
                continue
        print(f"connection {number} from {client}:{port}: SYN data accepted: {'yes' if accepted else 'no'}, "
              f"first byte after {first_byte_ms:.3f} ms", flush=True)


def main() -> int:
    """Listen and serve until Ctrl-C, or until all connections are served; exit status 2 when the port cannot be had."""
    parser = argparse.ArgumentParser(description="The smallest TCP Fast Open server.")
    parser.add_argument("--address", default="127.0.0.1", help="IPv4 address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="TCP port to listen on (default %(default)s)")
    parser.add_argument("--connections", type=int, default=0, metavar="N",
                        help="end after so many connections (default: never)")
    arguments = parser.parse_args()
    if arguments.connections < 0:
        parser.error("--connections is 0 or more")
    try:
        listener = listen((arguments.address, arguments.port))
    except (OSError, OverflowError) as error:               # OverflowError: no such port number
        print(f"{arguments.address}:{arguments.port}: {error}; choose another --address or --port", file=sys.stderr)
        return 2
    with listener:
        print(f"listening on {arguments.address}:{arguments.port}", flush=True)
        try:
            serve(listener, arguments.connections)
        except KeyboardInterrupt:
            print("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
