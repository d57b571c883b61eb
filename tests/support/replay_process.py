"""Run tfo-test/http_tfo.py in a test, and talk to it."""

import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.server_log import ServerRequest, read_server_log
from harness.files.text_log import Response
from harness.mirror.paths import write_file
from harness.system.processes import children_by_parent
from tests.support.forked import typed
from tests.support.ran import assert_refused
from tests.support.recording import HOST, write_text_log
from tests.support.waiting import wait_until

HTTP_TFO = ROOT / "tfo-test" / "http_tfo.py"
PORTS = iter(range(11_000 + os.getpid() % 100 * 100, 28_000))
"""Of this process: another one begins elsewhere."""
LONG = "/long?" + "q" * 70
BODIES = {
    "/": b"<html>front", "/x.css": b"p{}", "/data": b"\x89PNG\r\n\x1a\n" + b"d" * 9492, LONG: b"long",
    "/p?a=1&r=1": b"p1", "/p?a=2&r=1": b"p2", "/big": bytes(1_000_000), "/sp%20ace": b"space", "/error": b"so sorry"}
RESPONSES = [
    Response("OK", "text/html", "iso-8859-1", "http://a.test/", None),
    Response("Moved Temporarily", "text/html", "", "http://a.test/go", "http://b.test/there?x=é y"),
    Response("OK", "text/plain", "", f"http://a.test{LONG}", None),
    Response("No Content", "", "", "http://a.test/none", None),
    Response("Not Found", "text/html", "", "http://a.test/error", None)]


@dataclass
class Running:
    """A running http_tfo.py: its process and where its first server listens."""

    process: subprocess.Popen[str]
    port: int
    logdir: Path
    address: str = "127.0.0.1"

    def children(self) -> list[int]:
        """Return the pids of the servers."""
        return children_by_parent().get(self.process.pid, [])

    def log(self, *settings: int) -> list[ServerRequest]:
        """Return what the logs of these TFO settings have (default: both, as the machine may have either)."""
        requests = [request for path in self.log_files(*settings) for request in read_server_log(path)]
        return sorted(requests, key=lambda request: (request.connection, request.request))

    def log_files(self, *settings: int) -> list[Path]:
        """Return the logs of a.test with TFO off (0) and on (1); of both without `settings`."""
        return [self.logdir / f"10-tfo-{setting}" / HOST for setting in settings or (0, 1)]

    def connect(self) -> socket.socket:
        """Return a new connection to the first server."""
        return socket.create_connection((self.address, self.port))

    def get(self, path: str, method: str = "GET", body: bytes | None = None,
            headers: dict[str, str] | None = None) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request over a new connection; return the response and its body once the server has noted them."""
        size = self._log_size()
        with closing(http.client.HTTPConnection(self.address, self.port)) as connection:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            answer = response.read()
            wait_until(lambda: self._log_size() > size)
            return response, answer

    def _log_size(self) -> int:
        return sum(path.stat().st_size for path in self.log_files())


def make_recording(directory: Path) -> None:
    """Write the recording of a.test and b.test into `directory`."""
    for path, body in BODIES.items():
        write_file(directory / "Web", f"http://{HOST}{path}", body)
    write_file(directory / "Web", "http://b.test/", b"b")
    write_text_log(directory / "Web.fetchlog" / "page", RESPONSES)


def free_port() -> int:
    """Return a port nobody listens on now, another one each time.

    It is below those that the kernel gives to clients (ip_local_port_range): no connection takes it meanwhile.
    """
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no port is free")


def command(directory: Path, port: int, *options: str | Path) -> list[str]:
    """Return the command that serves the recording in `directory` on `port`; `options` say which hosts."""
    return [*map(str, (HTTP_TFO, "--mirror", directory / "Web", "--fetchlog", directory / "Web.fetchlog", "--port",
                       port, "--logdir", directory / f"serverlogs-{port}", "--delaynet", "10", *options))]


def start(directory: Path, *options: str | Path, port: int | None = None) -> Running:
    """Start http_tfo.py on the recording in `directory`, without waiting for it."""
    port = port or free_port()
    process = subprocess.Popen(command(directory, port, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    return Running(process, port, directory / f"serverlogs-{port}")


@contextmanager
def running(directory: Path, *options: str | Path, port: int | None = None) -> Iterator[Running]:
    """Run http_tfo.py until the block ends; by default it serves a.test on 127.0.0.1."""
    server = start(directory, *(options if "--hosts" in options else ("--host", HOST, *options)), port=port)
    assert server.process.stdout is not None
    try:
        line = server.process.stdout.readline()
        assert line.startswith("ready "), server.process.communicate()
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
        server.process.communicate()


def refusal(directory: Path, *options: str | Path, port: int | None = None) -> str:
    """Run http_tfo.py with input it must refuse, and return its one line."""
    done = typed(*command(directory, port or free_port(), *options))
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
