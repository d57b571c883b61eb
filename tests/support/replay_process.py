"""Run tfo-test/http_tfo.py in a test, and talk to it."""

import http.client
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.server_log import ServerRequest, read_server_log
from harness.system.processes import children_by_parent
from tests.support.forked import typed
from tests.support.ran import assert_refused
from tests.support.recording import HOST, MadeRecording
from tests.support.waiting import wait_until

HTTP_TFO = ROOT / "tfo-test" / "http_tfo.py"
PORTS = iter(range(11_000 + os.getpid() % 100 * 100, 28_000))
"""Of this process: another one begins elsewhere."""
ONE_HOST = f"{HOST} 127.0.0.1 -\n"
BODIES = {"/": "<html>front", "/x.css": "p{}", "/long?" + "q" * 70: "long", "/p?a=1&r=1": "p1", "/p?a=2&r=1": "p2",
          "/big": "big" * 300_000, "/sp%20ace": "space", "/error": "so sorry"}


@dataclass
class Running:
    """A running http_tfo.py: its process, and where its first server listens for http and for https."""

    process: subprocess.Popen[str]
    directory: Path
    port: int
    tls_port: int

    def children(self) -> list[int]:
        """Return the pids of the servers."""
        return children_by_parent().get(self.process.pid, [])

    @property
    def logdir(self) -> Path:
        """Where the logs are."""
        return self.directory / f"serverlogs-{self.port}"

    def log(self, *settings: int) -> list[ServerRequest]:
        """Return what the logs of a.test have with TFO off (0) and on (1); without `settings` with either."""
        requests = [request for setting in settings or (0, 1)
                    for request in read_server_log(self.logdir / f"10-tfo-{setting}" / HOST)]
        return sorted(requests, key=lambda request: (request.time_s, request.connection, request.request))

    def connect(self, port: int | None = None) -> socket.socket:
        """Return a new connection to the first server, at its port for http unless another one is given."""
        return socket.create_connection(("127.0.0.1", port or self.port))

    def context(self, *protocols: str) -> ssl.SSLContext:
        """Return one that trusts the authority and offers these protocols (ALPN)."""
        context = ssl.create_default_context(cafile=str(self.directory / "authority" / "ca.pem"))
        context.set_alpn_protocols(list(protocols))
        return context

    def secure(self, *protocols: str, name: str = HOST) -> ssl.SSLSocket:
        """Return a new connection to the first server, for https."""
        return self.context(*protocols).wrap_socket(self.connect(self.tls_port), server_hostname=name)

    def get(self, path: str, method: str = "GET", *headers: tuple[str, str]
            ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request over a new connection; return the response and its body once the server has noted them."""
        before = len(self.log())
        with closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request(method, path, headers=dict(headers))
            response = connection.getresponse()
            answer = response.read()
            wait_until(lambda: len(self.log()) > before)
            return response, answer


def make_recording(directory: Path) -> None:
    """Write a recording of a.test and b.test in 2013's format into `directory`."""
    recorded = MadeRecording(directory, har=False)
    for path, body in BODIES.items():
        recorded.add(f"http://{HOST}{path}", body, status=404 if path == "/error" else 200)
    recorded.add(f"http://{HOST}/go", to="http://b.test/there?x=é y")
    recorded.add(f"http://{HOST}/none", status=204)
    recorded.add("http://b.test/", "b")
    recorded.finish(f"http://{HOST}/")


def free_port() -> int:
    """Return a port nobody listens on now, another one each time.

    It is below those that the kernel gives to clients (ip_local_port_range): no connection takes it meanwhile.
    """
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no port is free")


def command(directory: Path, port: int, *options: str | Path, hosts: str) -> list[str]:
    """Return the command that serves the recording in `directory`, those of the lines `hosts`."""
    file = directory / f"hosts-{port}"
    file.write_text(hosts)
    return [*map(str, (
        HTTP_TFO, "--mirror", directory / "Web", "--fetchlog", directory / "Web.fetchlog", "--hosts", file,
        "--port", port, "--authority", directory / "authority", "--logdir", directory / f"serverlogs-{port}",
        "--delaynet", "10", *options))]


def start(directory: Path, *options: str | Path, hosts: str = ONE_HOST, port: int | None = None) -> Running:
    """Start http_tfo.py on the recording in `directory`, without waiting for it."""
    port, tls_port = port or free_port(), free_port()
    words = command(directory, port, "--tls-port", str(tls_port), *options, hosts=hosts)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return Running(process, directory, port, tls_port)


@contextmanager
def running(directory: Path, *options: str | Path, hosts: str = ONE_HOST, port: int | None = None) -> Iterator[Running]:
    """Run http_tfo.py until the block ends."""
    server = start(directory, *options, hosts=hosts, port=port)
    assert server.process.stdout is not None
    try:
        line = server.process.stdout.readline()
        assert line.startswith("ready "), server.process.communicate()
        yield server
    finally:
        server.process.terminate()
        server.process.communicate()


def refusal(directory: Path, *options: str | Path, hosts: str = ONE_HOST, port: int | None = None) -> str:
    """Run http_tfo.py with input it must refuse, and return its one line."""
    done = typed(*command(directory, port or free_port(), *options, hosts=hosts))
    assert_refused(done)
    assert done.stdout == ""
    return done.stderr


def read_all(connection: socket.socket) -> bytes:
    """Read until the other side closes (or resets) the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            received += chunk
    return received
