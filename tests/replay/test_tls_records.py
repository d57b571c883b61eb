"""A replay cuts answers into records of TLS as nginx does: a browser sees nothing of one before it has all of it.

Sizes are those of nginx 1.22 on the test internet, over HTTP/2 and HTTP/1.1.
"""

from h2.settings import SettingCodes

from tests.support.recording import HOST
from tests.support.replay_process import Running
from tests.support.secure_replay import Client

FULL = 2**14
"""Bytes of the longest record (RFC 8446, section 5.1)."""
SMALL = 1000
"""More than the head has here, and less than a packet."""


def test_over_http_2_the_first_head_has_a_record_of_its_own(client: Client) -> None:
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**20})
    client.h2.increment_flow_control_window(2**22)
    records = []
    for _ in range(2):
        stream = client.ask("/middle")
        while not client.answers[stream].headers:
            client.turn()
        before = len(client.records) - 1
        client.finish()
        records.append(client.records[before:])
    first, second = records
    assert (first[0] < SMALL, first[1]) == (True, FULL)
    assert (second[:2], second[2] < SMALL) == ([FULL, FULL], True), "a record ends with the body's first 32 kB"


def test_over_http_1_the_body_begins_in_the_heads_record(secure: Running) -> None:
    """Two writes would cost one more RTT with keep-alive."""
    with secure.secure("http/1.1") as connection:
        connection.sendall(f"GET /big HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        assert [len(connection.recv(2 * FULL)) for _ in range(2)] == [FULL, FULL]
