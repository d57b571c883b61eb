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
LOCALHOST = ("127.0.0.1", "::1")


def loopback_addresses(hosts: Sequence[str], port: int) -> list[str]:
    """Return the loopback addresses of this machine that `hosts` lead to; [] if one of these leads anywhere else.

    They need not be 127.0.0.1: Debian gives the machine's own name 127.0.1.1 (hosts(5) there).
    """
    addresses: dict[str, None] = {}
    for host in hosts:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        addresses |= dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return list(addresses) if all(ipaddress.ip_address(address).is_loopback for address in addresses) else []


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
def running_server(addresses: Sequence[str] = LOCALHOST) -> Iterator[int]:
    """Serve a small page on `addresses`, of IPv6 where there is IPv6, in threads of this process; give the port.

    Raises OSError when there is no port that is free on all, or none of them exists on this machine.
    """
    with ExitStack() as stack:
        servers = _listen_on_all(addresses)
        for server in servers:
            stack.callback(server.server_close)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="own-server")
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield int(servers[0].server_address[1])


def _listen_on_all(addresses: Sequence[str]) -> list[_Server]:
    for _ in range(TRIES):
        servers: list[_Server] = []
        try:
            for address in addresses:
                port = int(servers[0].server_address[1]) if servers else 0
                with _no_ipv6_here(address):
                    servers.append((_Server6 if ":" in address else _Server)((address, port), _OneAnswer))
        except OSError as error:
            for server in servers:
                server.server_close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            if not servers:
                raise OSError(errno.EADDRNOTAVAIL, f"no server of our own: this machine has no {', '.join(addresses)}")
            return servers
    raise OSError(f"no port is free on all of {', '.join(addresses)}")


@contextmanager
def _no_ipv6_here(address: str) -> Iterator[None]:
    """Do without an IPv6 address on a machine that has none."""
    try:
        yield
    except OSError as error:
        if ":" not in address or error.errno == errno.EADDRINUSE:
            raise
