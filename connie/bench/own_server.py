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
TRIES = 20


def only_loopback(hosts: Sequence[str], port: int) -> bool:
    """Tell whether all names in `hosts` lead to this machine's loopback addresses and nowhere else."""
    for host in hosts:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return False
        if not all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in found):
            return False
    return True


def anybody_listens(hosts: Sequence[str], port: int) -> bool:
    """Tell whether something answers on `port` of one of `hosts`."""
    for host in hosts:
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            return True
    return False


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


class _Server6(_Server):
    address_family = socket.AF_INET6


@contextmanager
def running_server() -> Iterator[int]:
    """Serve a small page on 127.0.0.1 and, where there is IPv6, ::1, in threads of this process; give the port.

    Raises OSError when there is no port that is free on both.
    """
    with ExitStack() as stack:
        servers = _listen_on_both()
        for server in servers:
            stack.callback(server.server_close)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="own-server")
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield int(servers[0].server_address[1])


def _listen_on_both() -> list[_Server]:
    for _ in range(TRIES):
        first = _Server(("127.0.0.1", 0), _OneAnswer)
        try:
            return [first, _Server6(("::1", int(first.server_address[1])), _OneAnswer)]
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return [first]                      # no IPv6 on this machine
            first.server_close()
    raise OSError("no port is free on both 127.0.0.1 and ::1")
