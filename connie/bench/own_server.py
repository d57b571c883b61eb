"""A web server on loopback for benchmarks that were given nothing but this machine's own names."""

import errno
import ipaddress
import socket
import socketserver
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

ANSWER = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n"
PATIENCE_S = 5.0
"""How long a client may take to send its request."""


def loopback_addresses(hosts: Sequence[str]) -> list[str]:
    """Return the loopback addresses that `hosts` lead to; [] if one leads elsewhere, or to none.

    They need not be 127.0.0.1: Debian gives the machine's own name 127.0.1.1 (hosts(5) there).
    """
    with suppress(OSError, UnicodeError):           # the benchmark tells which name it is that does not resolve
        found = dict.fromkeys(str(entry[4][0]).partition("%")[0] for host in hosts
                              for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        if all(ipaddress.ip_address(address).is_loopback for address in found):
            return [*found]
    return []


class _OneAnswer(socketserver.StreamRequestHandler):
    timeout = PATIENCE_S

    def handle(self) -> None:
        """Answer any request; say nothing to a client that closes without one."""
        with suppress(OSError):
            line = self.rfile.readline()
            while line.strip():
                line = self.rfile.readline()
            if line:                                # the empty line behind a head, not the end of the stream
                self.wfile.write(ANSWER)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), _OneAnswer)


@contextmanager
def running_server(addresses: Sequence[str] = ("127.0.0.1",)) -> Iterator[int]:
    """Serve a small page on those of `addresses` that are there, in threads of this process; give their port."""
    with ExitStack() as stack:
        port = 0
        for address in addresses:
            try:
                server = stack.enter_context(_Server(address, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE or ":" not in address:
                    raise
                continue                            # no IPv6 here, where a name says ::1
            port = int(server.server_address[1])
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="own-server")
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield port
