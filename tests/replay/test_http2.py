"""http_tfo.py over HTTP/2, asked by h2's own client: recorded answers, many streams, flow control, priorities."""

import os
import signal
from pathlib import Path

from hyperframe.frame import GoAwayFrame

from harness.system.processes import stat_of
from tests.support.recording import HOST
from tests.support.replay_process import Running
from tests.support.secure_replay import BIG, LONG, Client
from tests.support.waiting import wait_until


def test_the_first_of_many_answers_does_not_wait_for_the_last(client: Client) -> None:
    """Their requests lie in one packet; what OpenSSL reads at a time is one record of TLS, which was sent in one go."""
    client.get("/none")
    for _ in range(90):
        client.ask("/none")
    while len(client.open) == 90:
        client.turn()
    assert len(client.open) > 45
    client.finish()


def test_what_is_asked_for_together_is_answered_in_one_record(client: Client, secure: Running) -> None:
    """Browsers write each request into a record of its own; each answer was a packet of its own."""
    client.get("/none")
    [server] = secure.children()
    os.kill(server, signal.SIGSTOP)
    threads = Path(f"/proc/{server}/task")      # one that gets no processor stops later than the others
    wait_until(lambda: all(stat_of(each.name, threads)[:1] in ([b"T"], []) for each in threads.iterdir()))
    for _ in range(12):
        client.ask("/none")
        client.socket.sendall(client.h2.data_to_send())
    os.kill(server, signal.SIGCONT)
    client.turn()       # which reads one record of TLS
    assert not client.open


def test_a_client_that_takes_nothing_keeps_no_other_stream_waiting(client: Client) -> None:
    stuck = client.ask("/big")
    client.h2.acknowledge_received_data = lambda *_: None  # type: ignore[method-assign]  # never gives more room
    for _ in range(200):
        client.turn()
        if len(client.answers[stuck].body) >= 65535:
            break
    assert len(client.answers[stuck].body) == 65535
    client.h2.increment_flow_control_window(100_000)    # the connection's, not the stream's
    small = client.ask("/gone")
    while small in client.open:
        client.turn()
    assert bytes(client.answers[small].body) == b"sorry"


def test_what_is_urgent_comes_first(client: Client) -> None:
    """Asked for last, but more urgent: it ends long before the large one, and so do all that take turns with it."""
    client.socket.sendall(client.h2.data_to_send())
    large = client.ask("/big", "GET", ("priority", "u=5"))
    small = [client.ask(f"/many/{number}", "GET", ("priority", "u=1, i")) for number in range(5)]
    client.finish()
    assert sorted(client.answers[stream].ended for stream in small) == [0, 1, 2, 3, 4]
    assert client.answers[large].ended == 5
    assert bytes(client.answers[large].body) == BIG


def test_an_upload_waits_for_the_server_once(client: Client) -> None:
    """As at nginx: a round trip for each 64 kB would hold up what the page sends."""
    upload = client.ask("/gone", "POST", ("content-length", "300000"))
    assert client.h2.local_flow_control_window(upload) > 2**30      # the least of the stream's and the connection's
    client.finish()
    assert bytes(client.answers[upload].body) == b"sorry"


def test_requests_that_are_taken_back_at_once_disturb_no_other(client: Client, secure: Running) -> None:
    """All but the first came with their resets, and one of them with a part of its body: all in one record of TLS."""
    begun = client.ask("/middle")
    while not client.answers[begun].body:
        client.turn()
    big = client.ask("/big")
    for taken_back in (begun, *(client.ask(f"/many/{number}") for number in range(50))):
        client.h2.reset_stream(taken_back)
        client.open.discard(taken_back)
    upload = client.h2.get_next_available_stream_id()
    client.h2.send_headers(upload, [(":method", "POST"), (":scheme", "https"), (":authority", HOST), (":path", "/api")])
    client.h2.send_data(upload, bytes(1000), pad_length=7)
    client.h2.reset_stream(upload)
    assert client.get("/gone").body == b"sorry"
    assert bytes(client.answers[big].body) == BIG
    sent = {line.path: line.bytes for line in secure.log()[-54:]}
    assert 0 < sent["/middle"] < 100_000
    assert sent["/big"] == len(BIG)


def test_a_head_is_whole_that_takes_several_frames(client: Client) -> None:
    assert (b"x-long", LONG.encode()) in client.get("/long-head").headers


def test_a_client_that_says_goodbye_gets_what_it_asked_for(client: Client) -> None:
    big = client.ask("/big")
    client.socket.sendall(client.h2.data_to_send() + GoAwayFrame(0).serialize())
    client.finish()
    assert bytes(client.answers[big].body) == BIG
