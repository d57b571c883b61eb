"""One address that answers for several hosts: told apart by Host, by SNI, and by :authority on one connection."""

import http.client
from typing import Any

from harness.files.server_log import read_server_logs
from tests.support.replay_process import Running
from tests.support.secure_replay import speaking_h2
from tests.support.waiting import wait_until


def told(server: Running) -> list[tuple[int, int, str]]:
    """Return who was asked /who: connection and number of the request, and the host, from the logs of all."""
    return sorted((line.connection, line.request, line.host) for tfo in (0, 1)
                  for line in read_server_logs(server.logdir / f"10-tfo-{tfo}", {}) if line.path == "/who")


def test_over_http_the_host_header_decides(secure: Running) -> None:
    """What names none of them is answered by the first, as by a web server's first virtual host."""
    wanted = {"a.test": "a.test", "B.test:80": "b.test", "old.test": "old.test", "other.test": "a.test", "": "a.test"}
    for said, host in wanted.items():
        client = http.client.HTTPConnection("127.0.0.1", secure.port)
        client.request("GET", "/who", headers={"Host": said, "Connection": "close"})
        assert client.getresponse().read() == host.encode()
    wait_until(lambda: [host for *_, host in told(secure)][-5:] == [*wanted.values()])


def test_one_connection_asks_three_hosts_over_http2(secure: Running) -> None:
    """As browsers do it (HTTP/2 coalescing): one certificate has all names, each request says whom it is for."""
    asked = ("b.test", "a.test", "old.test")
    with speaking_h2(secure, name="b.test") as client:
        names: Any = (client.socket.getpeercert() or {})["subjectAltName"]
        assert {value for _, value in names} == {"a.test", "b.test", "old.test", "*.test"}, "no underscore"
        streams = [client.ask("/who", host=host) for host in asked]
        client.finish()
    assert [client.answers[stream].body for stream in streams] == [host.encode() for host in asked]
    wait_until(lambda: [(number, host) for _, number, host in told(secure)][-3:] == [*enumerate(asked, start=1)])
    assert len({connection for connection, *_ in told(secure)[-3:]}) == 1
