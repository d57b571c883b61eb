"""One address that answers for several hosts: told apart by Host, by SNI, and by :authority on one connection."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.files.server_log import ServerRequest, read_server_logs
from tests.support.secure_replay import Client, Secure, serving
from tests.support.waiting import wait_until

HOSTS = ("a.test", "b.test", "under_score.test", "old.test")


@pytest.fixture(scope="module")
def shared(tls_recording: Path) -> Iterator[Secure]:
    with serving(tls_recording, hosts=HOSTS) as secure:
        assert len(secure.server.children()) == 1, "one process for one address"
        yield secure


def log(shared: Secure) -> list[ServerRequest]:
    """Return what is in the logs of all hosts."""
    return [request for tfo in (0, 1) for request in read_server_logs(shared.server.logdir / f"10-tfo-{tfo}", {})]


@pytest.mark.parametrize(("said", "host"), [
    ("a.test", "a.test"), ("B.test:80", "b.test"), ("old.test", "old.test"), ("other.test", "a.test"), ("", "a.test")])
def test_over_http_the_host_header_decides(shared: Secure, said: str, host: str) -> None:
    """What names none of them is answered by the first, as by a web server's first virtual host."""
    before = sum(request.host == host for request in log(shared))
    connection = http.client.HTTPConnection("127.0.0.1", shared.server.port)
    connection.request("GET", "/who", headers={"Host": said})
    assert connection.getresponse().read() == host.encode()
    connection.close()
    wait_until(lambda: sum(request.host == host for request in log(shared)) == before + 1)


def test_one_connection_asks_three_hosts_over_http2(shared: Secure) -> None:
    """As browsers do it (HTTP/2 coalescing): one certificate has all names, each request says whom it is for."""
    asked = ("b.test", "a.test", "old.test")
    with shared.connect("h2", name="b.test") as connection:
        names: Any = (connection.getpeercert() or {})["subjectAltName"]
        assert {value for _, value in names} == {"a.test", "b.test", "old.test", "*.test"}, "no underscore"
        client = Client(connection)
        streams = [client.ask("/who", host=host) for host in asked]
        client.finish()
    assert [client.answers[stream].body for stream in streams] == [host.encode() for host in asked]
    wait_until(lambda: sum(request.protocol == "h2" for request in log(shared)) == len(asked))
    lines = [request for request in log(shared) if request.protocol == "h2"]
    assert sorted((line.request, line.host, line.protocol, line.connection) for line in lines) == [
        (number, host, "h2", lines[0].connection) for number, host in enumerate(asked, start=1)]
