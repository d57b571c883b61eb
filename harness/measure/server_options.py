"""The options of tfo.py that say how the replay servers answer; tfo-test/http_tfo.py has the same."""

import argparse

from harness.system.options import PORT as PORTS
from harness.system.options import USER_PORT, Whole

HTTP_CHOICES = ("1.0", "1.1", "h2", "recorded")
SERVER_CHOICES = ("threaded", "2013")
PORT = 8000
Problems = tuple[tuple[object, str], ...]
"""What can be wrong with options: whether it is (any true value), and what to say about it then."""


def add_server_options(parser: argparse.ArgumentParser, ports: Whole = USER_PORT) -> None:
    """Add --port, --tls-port, --http and --server to `parser`; `ports` are those that may be listened on."""
    parser.add_argument("--port", type=ports, default=PORT, help="port of every server (%(default)s)")
    parser.add_argument("--tls-port", type=ports, help="port of every server for https (--port + 1)")
    parser.add_argument("--http", choices=HTTP_CHOICES, default="1.0",
                        help="1.0: http opens a connection for every request, https is as recorded (HTTP/2 where that "
                        "was spoken, else 1.1); 1.1: both keep connections alive, no HTTP/2; h2: https offers HTTP/2 "
                        "everywhere; recorded: http keeps connections alive, https is as recorded (%(default)s). Where "
                        "HTTP/1.1 is spoken, what the site closed after its answers is closed")
    parser.add_argument("--server", choices=SERVER_CHOICES, default="threaded",
                        help="2013: the old single-threaded server, to see what it did to the results (%(default)s)")


def tls_port_beside(port: int, tls_port: int | None = None) -> int:
    """Return the port for https: `tls_port`, or the one after `port` when none was given."""
    return port + 1 if tls_port is None else tls_port


def server_problems(arguments: argparse.Namespace) -> Problems:
    """Return all that can be wrong with these options: whether it is, and what to say about it then."""
    return (
        (arguments.tls_port > PORTS.high, f"--tls-port: there is no port after {PORTS.high}; choose another --port"),
        (arguments.tls_port == arguments.port, "--tls-port: one port cannot speak both; choose another than --port"),
        (arguments.server == "2013" and arguments.http != "1.0",
         f"--server 2013: speaks HTTP/1.0 only; leave out --http {arguments.http}"),
    )
