"""One address that answers for several hosts: told apart by Host, by SNI, and by :authority on one connection."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, StreamEnded

from harness.files.server_log import ServerRequest, read_server_logs
from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import Running, free_port, running
from tests.support.secure_replay import TEXT
from tests.support.waiting import wait_until

H2_HOSTS = ("a.test", "b.test", "under_score.test")
OLD = "old.test"


@dataclass
class Shared:
    """The one server of all hosts."""

    server: Running
    tls_port: int
    directory: Path

    def log(self) -> list[ServerRequest]:
        return [request for tfo in (0, 1) for request in read_server_logs(self.server.logdir / f"10-tfo-{tfo}")]

    def connect(self, name: str) -> ssl.SSLSocket:
        """Connect as a browser that asks for the host `name`."""
        context = ssl.create_default_context(cafile=str(self.directory / "authority" / "ca.pem"))
        context.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection(("127.0.0.1", self.tls_port))
        return context.wrap_socket(plain, server_hostname=name)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    directory = tmp_path_factory.mktemp("shared")
    recorded = HttpsRecording(directory)
    for host in (*H2_HOSTS, OLD):
        recorded.add(f"http://{host}/", f"plain {host}".encode(), TEXT, version="http/1.1")
        recorded.add(f"https://{host}/s", host.encode(), TEXT, version="http/1.1" if host == OLD else "h2")
    recorded.finish("http://a.test/")
    tls_port = free_port()
    hosts = directory / "hosts"
    hosts.write_text("".join(f"{host} 127.0.0.1 -\n" for host in (*H2_HOSTS, OLD)))
    with running(directory, "--hosts", hosts, "--authority", directory / "authority", "--tls-port",
                 str(tls_port)) as server:
        assert len(server.children()) == 1, "one process for one address"
        yield Shared(server, tls_port, directory)


@pytest.mark.parametrize(("said", "host"), [
    ("a.test", "a.test"), ("B.test:80", "b.test"), (OLD, OLD), ("elsewhere.test", "a.test"), ("", "a.test")])
def test_over_http_the_host_header_decides(shared: Shared, said: str, host: str) -> None:
    """What names none of them is answered by the first, as by a web server's first virtual host."""
    before = sum(request.host == host for request in shared.log())
    connection = http.client.HTTPConnection("127.0.0.1", shared.server.port)
    connection.request("GET", "/", headers={"Host": said})
    assert connection.getresponse().read() == f"plain {host}".encode()
    connection.close()
    wait_until(lambda: sum(request.host == host for request in shared.log()) == before + 1)


def test_one_certificate_with_all_names_and_each_host_its_own_protocols(shared: Shared) -> None:
    for name, protocol in (("a.test", "h2"), ("b.test", "h2"), (OLD, "http/1.1")):
        with shared.connect(name) as connection:
            assert connection.selected_alpn_protocol() == protocol
            names: Any = (connection.getpeercert() or {})["subjectAltName"]
            named = {value for _, value in names}
            assert named == {"a.test", "b.test", OLD, "*.test"}, "no certificate can hold an underscore"


def test_one_connection_asks_two_hosts_over_http2(shared: Shared) -> None:
    """As browsers do it (HTTP/2 coalescing): the second host's requests go over the first one's connection."""
    asked = ("b.test", "a.test", OLD)
    with shared.connect("b.test") as connection:
        client = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        client.initiate_connection()
        streams = {}
        for host in asked:
            stream = client.get_next_available_stream_id()
            client.send_headers(stream, [(":method", "GET"), (":scheme", "https"), (":authority", host),
                                         (":path", "/s")], end_stream=True)
            streams[stream] = host
        bodies, ended = dict.fromkeys(streams, b""), 0
        while ended < len(asked):
            connection.sendall(client.data_to_send())
            for event in client.receive_data(connection.recv(65536)):
                if isinstance(event, DataReceived):
                    bodies[event.stream_id] += event.data
                ended += isinstance(event, StreamEnded)
    assert {streams[stream]: body for stream, body in bodies.items()} == {host: host.encode() for host in asked}
    wait_until(lambda: sum(request.path == "/s" for request in shared.log()) == len(asked))
    lines = [request for request in shared.log() if request.path == "/s"]
    assert {(line.host, line.protocol) for line in lines} == {(host, "h2") for host in asked}
    assert len({line.connection for line in lines}) == 1
    assert sorted(line.request for line in lines) == [1, 2, 3], "one of them is the first of its connection"
