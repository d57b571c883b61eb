"""Answers that their servers sent with pauses, and long polls: the replay takes as long, and never less."""

import http.client
import time
from collections.abc import Iterator

import pytest

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import BIG, TEXT, Client, Secure, serving

BODY = b"first" * 1000 + b"last"
PAUSE_MS = 300
SLOW_MS = 700
FETCH = [{"name": "Sec-Fetch-Dest", "value": "empty"}, {"name": "Accept", "value": "*/*"}]


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    recorded = HttpsRecording(tmp_path_factory.mktemp("pieces"))
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        for path, status in (("/", 200), ("/lost", 404)):
            recorded.add(f"{scheme}://{HOST}{path}", BODY, TEXT, version=version, status=status,
                         _arrivals=[[0, 5000], [PAUSE_MS, len(BODY)]])
        recorded.add(f"{scheme}://{HOST}/big", BIG, TEXT, version=version)
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), "--http", "recorded", tls_port=port) as server:
        yield Secure(server, port, recorded.directory)


@pytest.mark.parametrize("path", ["/", "/lost"])
def test_over_http_1_the_connection_is_kept(paused: Secure, path: str) -> None:
    client = http.client.HTTPConnection("127.0.0.1", paused.server.port)
    for method, body, least_s in (("GET", BODY, PAUSE_MS / 1000), ("HEAD", b"", 0.0)):
        began_s = time.monotonic()
        client.request(method, path, headers={"Host": HOST})
        answer = client.getresponse()
        assert (answer.read(), answer.getheader("Content-Length"), answer.will_close) == (body, str(len(BODY)), False)
        assert time.monotonic() - began_s >= least_s
    client.close()


def test_over_http_2_others_come_between_the_pieces(paused: Secure) -> None:
    with paused.connect("h2") as connection:
        client, began_s = Client(connection), time.monotonic()
        streamed, other = client.ask("/"), client.ask("/big")
        client.finish()
        assert time.monotonic() - began_s >= PAUSE_MS / 1000
        assert (bytes(client.answers[streamed].body), bytes(client.answers[other].body)) == (BODY, BIG)
