"""One address that answers for several hosts: told apart by Host, by SNI, and by :authority on one connection."""

import http.client
from typing import Any

from harness.files.server_log import read_server_logs
from tests.support.secure_replay import Client, Secure
from tests.support.waiting import wait_until


def told(secure: Secure, scheme: str) -> list[tuple[str, int, int]]:
    """Return which hosts were asked /who: host, connection and number of the request, from the logs of all."""
    return [(line.host, line.connection, line.request) for tfo in (0, 1)
            for line in read_server_logs(secure.server.logdir / f"10-tfo-{tfo}", {})
            if (line.path, line.scheme) == ("/who", scheme)]


def test_over_http_the_host_header_decides(secure: Secure) -> None:
    """What names none of them is answered by the first, as by a web server's first virtual host."""
    wanted = {"a.test": "a.test", "B.test:80": "b.test", "old.test": "old.test", "other.test": "a.test", "": "a.test"}
    for said, host in wanted.items():
        connection = http.client.HTTPConnection("127.0.0.1", secure.server.port)
        connection.request("GET", "/who", headers={"Host": said})
        assert connection.getresponse().read() == host.encode()
        connection.close()
    wait_until(lambda: sorted(host for host, *_ in told(secure, "http")) == sorted(wanted.values()))


def test_one_connection_asks_three_hosts_over_http2(secure: Secure) -> None:
    """As browsers do it (HTTP/2 coalescing): one certificate has all names, each request says whom it is for."""
    asked = ("b.test", "a.test", "old.test")
    with secure.connect("h2", name="b.test") as connection:
        names: Any = (connection.getpeercert() or {})["subjectAltName"]
        assert {value for _, value in names} == {"a.test", "b.test", "old.test", "*.test"}, "no underscore"
        client = Client(connection)
        streams = [client.ask("/who", host=host) for host in asked]
        client.finish()
    assert [client.answers[stream].body for stream in streams] == [host.encode() for host in asked]
    wait_until(lambda: len(told(secure, "https")) == len(asked))
    lines = told(secure, "https")
    assert sorted(lines) == sorted((host, lines[0][1], number) for number, host in enumerate(asked, start=1))
